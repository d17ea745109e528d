"""The router node: sends what comes in down one branch, by conditions or by a model's choice of label."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from runtime.errors import ToolFailure
from runtime.messages import Message, Request
from runtime.node import Branch, Config, Inputs, NodeContext, NodeResult, NodeType, Port
from runtime.shape import Wrong

BranchName = Annotated[str, Meta(pattern=r"^[^\W\d][\w-]*$", max_length=64)]


class When(Config):
    """A branch and when it is taken."""

    name: BranchName
    """The branch's output port."""
    when: Annotated[str, Meta(min_length=1)]
    """A condition such as `input.priority > 2` or `'refund' in input`."""


class Label(Config):
    """A label that a model may choose."""

    name: BranchName
    """The branch's output port."""
    description: str = ""
    """What belongs here, for the model."""


class Classify(Config):
    """Let a model choose the branch."""

    labels: Annotated[tuple[Label, ...], Meta(min_length=2)]
    """The labels to choose from."""
    model: str | None = None
    """`provider:name`. Absent: the default model."""
    instructions: str = ""
    """What matters for the choice."""


class RouterConfig(Config):
    """Which branch is taken: the first whose condition holds, or the label that a model chooses."""

    branches: tuple[When, ...] = ()
    """Conditions, tried in order."""
    default: BranchName | None = None
    """The branch that is taken when nothing else fits. Absent: that is an error."""
    classify: Classify | None = None
    """Let a model choose instead of conditions."""

    def __post_init__(self) -> None:
        if bool(self.branches) == (self.classify is not None):
            raise Wrong(
                "give either branches or classify",
                remedy="Write `branches`, each with a `name` and a `when`, or `classify` with its `labels`.",
            )
        names = self.names()
        if len(set(names)) != len(names):
            raise Wrong("each branch needs a name of its own", remedy="Give one of them another `name`.")

    @property
    def model(self) -> str | None:
        """The model that classifies."""
        return self.classify.model if self.classify is not None else None

    def names(self) -> list[str]:
        """Every branch, the default last."""
        parts = self.branches if self.classify is None else self.classify.labels
        names = [part.name for part in parts]
        return names if self.default is None or self.default in names else [*names, self.default]


async def run(config: RouterConfig, inputs: Inputs, ctx: NodeContext) -> NodeResult:
    if config.classify is None:
        taken = next((b.name for b in config.branches if ctx.test(b.when, inputs)), config.default)
        problem = "No condition holds and there is no default branch."
    else:
        said = await _choice(config.classify, inputs, ctx)
        taken = _label(said, config.classify) or config.default
        problem = f"The model's answer {said[:80]!r} is none of the labels and there is no default branch."
    if taken is None:
        raise ToolFailure(problem, code="router.no_branch", remedy="Give the router a `default`.")
    return NodeResult(inputs.value, Branch(taken))


async def _choice(classify: Classify, inputs: Inputs, ctx: NodeContext) -> str:
    labels = "\n".join(f"- {label.name}: {label.description}".rstrip(": ") for label in classify.labels)
    names = [label.name for label in classify.labels]
    system = (
        "Choose the one label that fits the user's message best. Answer with the label alone."
        f"\n\n{classify.instructions}".rstrip()
        + f"\n\nLabels:\n{labels}"
    )
    request = Request(
        model="",
        messages=(Message("system", system), Message("user", ctx.text(inputs.value))),
        schema={
            "type": "object",
            "properties": {"label": {"type": "string", "enum": names}},
            "required": ["label"],
            "additionalProperties": False,
        },
        temperature=0,
        max_output_tokens=50,
    )
    return (await ctx.complete(request)).text


def _label(said: str, classify: Classify) -> str | None:
    """The label that an answer names: in JSON, alone, or as the only one of them that it mentions."""
    plain = said.strip().strip("\"'`. ").casefold()
    names = [label.name for label in classify.labels]
    exact = [name for name in names if plain == name.casefold()]
    named = [name for name in names if f'"{name.casefold()}"' in said.casefold()]
    found = exact or named or [name for name in names if name.casefold() in plain]
    return found[0] if len(found) == 1 else None


def summary(config: RouterConfig) -> str:
    return " / ".join(config.names())


node = NodeType(
    name="router",
    config=RouterConfig,
    title="Router",
    category="Steer",
    icon="git-branch",
    help="Sends what comes in down one of its branches.",
    inputs=(Port("in", required=True), Port("budget", "budget")),
    outputs=(),
    more_outputs=lambda config: tuple(Port(name) for name in config.names()),
    run=run,
    summary=summary,
    conditions=lambda config: tuple(branch.when for branch in config.branches),
    reasons=lambda config: config.classify is not None,
    steers=True,
    keywords=("if", "branch", "condition", "classify", "switch"),
)

"""The agent node: a model that reasons in steps, with tools, memory and budgets attached."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from runtime.errors import Problem
from runtime.node import (
    Config,
    FlowView,
    Inputs,
    NodeContext,
    NodeResult,
    NodeType,
    Port,
    always,
    schema_problems,
)


class OneContext(Config):
    """What the kinds of context have in common."""

    @property
    def mode(self) -> str:
        """Which kind it is."""
        return str(self.__struct_config__.tag)


class NoContext(OneContext, tag_field="mode", tag="none"):
    """Nothing of the session's history is sent."""


class FullContext(OneContext, tag_field="mode", tag="full"):
    """The session's whole history is sent."""


class BufferContext(OneContext, tag_field="mode", tag="buffer"):
    """The last messages of the session are sent."""

    keep: Annotated[int, Meta(ge=2, le=10_000)] = 40
    """How many messages; a tool call and its result stay together."""


class SummaryContext(OneContext, tag_field="mode", tag="summary"):
    """Older messages are replaced by a summary once the history gets long."""

    threshold_chars: Annotated[int, Meta(ge=100, le=10_000_000)] = 12_000
    """From this many characters on, older messages are summed up."""
    keep_last: Annotated[int, Meta(ge=2, le=1000)] = 10
    """So many newest messages stay as they are."""
    model: str | None = None
    """`provider:name` that writes the summaries. Absent: the agent's own model."""


class RecallContext(OneContext, tag_field="mode", tag="recall"):
    """The newest messages, and of the older ones those that fit the question best."""

    keep_recent: Annotated[int, Meta(ge=0, le=1000)] = 6
    """So many newest messages are sent as they are."""
    k: Annotated[int, Meta(ge=0, le=100)] = 4
    """So many older ones are recalled."""
    embedder: Literal["lexical", "static"] = "lexical"
    """How likeness is found: by words, or by static embeddings (needs the extra `embed`)."""


Context = NoContext | FullContext | BufferContext | SummaryContext | RecallContext


class AgentConfig(Config):
    """A model that reasons in steps."""

    instructions: str = ""
    """What the agent is to do and how; sent first in every call."""
    prompt: str | None = None
    """Text with `{{ input }}` that becomes the user's message. Absent: the input as it is."""
    model: str | None = None
    """`provider:name`. Absent: the default model."""
    fallback_models: tuple[str, ...] = ()
    """Tried in order, each as `provider:name`, when the model before fails for good."""
    strategy: Literal["tools", "thinker", "json"] = "tools"
    """How a step is made: `tools` lets the model call tools natively; `thinker` makes two calls, one to
    reason and one to choose an action; `json` one call that answers with an action object, for models without
    tool calls."""
    planning: bool = False
    """Keep a plan of the task, shown to the model at each step and on the timeline."""
    max_iterations: Annotated[int, Meta(ge=1, le=1000)] = 10
    """Reasoning steps at most; reaching it is an error."""
    context: Context = BufferContext()
    """What of this session's history is sent. Facts are sent in every mode."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    """Higher is more varied. Absent: the model's own default."""
    max_output_tokens: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    """Longest answer of one call, in tokens. Absent: the model's own maximum."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the answer, which then is a value of that shape; one repair is asked for."""
    on_error: Literal["stop", "continue", "branch"] = "stop"
    """What a failure or a budget stop of this agent does: end the run, go on with null, or take the port
    `error`."""
    retry_maybe_billed: bool = False
    """Also try again after a time-out or a broken stream, which may have been charged already."""
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    """Longest wait for one call, in seconds. Absent: the provider's."""


async def run(config: AgentConfig, inputs: Inputs, ctx: NodeContext) -> NodeResult:
    return await ctx.reason(config, inputs)


def check(config: AgentConfig, view: FlowView) -> list[Problem]:
    problems = [
        msgspec.structs.replace(problem, node_id=view.node_id, path=f"config.output_schema{problem.path[1:]}")
        for problem in schema_problems(config.output_schema)
    ]
    if len(view.attached("memory")) > 1:
        problems.append(
            Problem(
                "agent.two_memories",
                f"the agent {view.node_id!r} has more than one Memory",
                "Attach one; Memories with the same namespace share their facts.",
                view.node_id,
            )
        )
    return problems


def summary(config: AgentConfig) -> str:
    return config.model or "default model"


node = NodeType(
    name="agent",
    config=AgentConfig,
    title="Agent",
    category="Reason",
    icon="sparkles",
    help="Thinks in steps with a model, calls tools, reads and writes memory, and answers.",
    inputs=(
        Port("in"),
        Port("memory", "memory", many=False),
        Port("budget", "budget"),
        Port("tool", "tool"),
    ),
    outputs=(Port("out"),),
    more_outputs=lambda config: (Port("error"),) if config.on_error == "branch" else (),
    run=run,
    summary=summary,
    check=check,
    templates=("prompt",),
    reasons=always,
    keywords=("model", "llm", "chat", "ask"),
)

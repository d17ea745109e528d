"""The agent node: a model that reasons in steps, with tools, memory and budgets attached."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

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


class NoContext(Config):
    """Nothing of the session's history is sent."""

    mode: Literal["none"]


class FullContext(Config):
    """The session's whole history is sent."""

    mode: Literal["full"]


class BufferContext(Config):
    """The last messages of the session are sent."""

    mode: Literal["buffer"] = "buffer"
    keep: int = Field(default=40, ge=2, le=10_000)
    """How many messages; a tool call and its result stay together."""


class SummaryContext(Config):
    """Older messages are replaced by a summary once the history gets long."""

    mode: Literal["summary"]
    threshold_chars: int = Field(default=12_000, ge=100, le=10_000_000)
    """From this many characters on, older messages are summed up."""
    keep_last: int = Field(default=10, ge=2, le=1000)
    """So many newest messages stay as they are."""
    model: str | None = None
    """`provider:name` that writes the summaries. Absent: the agent's own model."""


class RecallContext(Config):
    """The newest messages, and of the older ones those that fit the question best."""

    mode: Literal["recall"]
    keep_recent: int = Field(default=6, ge=0, le=1000)
    """So many newest messages are sent as they are."""
    k: int = Field(default=4, ge=0, le=100)
    """So many older ones are recalled."""
    embedder: Literal["lexical", "static"] = "lexical"
    """How likeness is found: by words, or by static embeddings (needs the extra `embed`)."""


Context = Annotated[
    NoContext | FullContext | BufferContext | SummaryContext | RecallContext, Field(discriminator="mode")
]


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
    max_iterations: int = Field(default=10, ge=1, le=1000)
    """Reasoning steps at most; reaching it is an error."""
    context: Context = BufferContext()
    """What of this session's history is sent. Facts are sent in every mode."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Higher is more varied. Absent: the model's own default."""
    max_output_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    """Longest answer of one call, in tokens. Absent: the model's own maximum."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the answer, which then is a value of that shape; one repair is asked for."""
    on_error: Literal["stop", "continue", "branch"] = "stop"
    """What a failure or a budget stop of this agent does: end the run, go on with null, or take the port
    `error`."""
    retry_maybe_billed: bool = False
    """Also try again after a time-out or a broken stream, which may have been charged already."""
    timeout_s: float | None = Field(default=None, gt=0, le=86_400)
    """Longest wait for one call, in seconds. Absent: the provider's."""


async def run(config: AgentConfig, inputs: Inputs, ctx: NodeContext) -> NodeResult:
    return await ctx.reason(config, inputs)


def check(config: AgentConfig, view: FlowView) -> list[Problem]:
    problems = [
        problem._replace(node_id=view.node_id, path=f"config.output_schema{problem.path[1:]}")
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

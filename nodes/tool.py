"""The tool node: lends the agents it is attached to something that they may do."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from runtime.errors import Problem
from runtime.node import Config, FlowView, NodeType, Port
from runtime.shape import Wrong


class HttpCall(Config, kw_only=True):
    """A request to a web address."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    """The request's method."""
    url: str
    """The address; may hold `{{ arguments }}`."""
    headers: dict[str, Any] = {}
    """Headers; a secret is written {"secret": "NAME"}."""
    body: Any = None
    """What is sent, as JSON."""


class ToolConfig(Config):
    """A function that agents may call."""

    function: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """Name of a registered function: calculator, current_time, read_file, one that a package brings, or one
    of your own from --tools FILE.py or the settings' [tools]."""
    folder: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    """The folder that read_file may read, relative to the flow's file."""
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    """Longest time of a call, in seconds. Absent: the function's own, 30 unless it says otherwise."""
    max_result_tokens: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    """Longer results are cut, with a mark that says how much is missing. Absent: the function's own, 4,000
    unless it says otherwise."""
    effect: Literal["none", "idempotent", "once"] | None = None
    """What a call changes: `none` nothing, `idempotent` the same however often it is made, `once` something
    each time. Absent: what the function says, else `once`. In rehearsals only tools of effect `none` run."""
    server: str | None = None
    """A configured MCP server."""
    tools: tuple[str, ...] = ()
    """Which of that server's tools; absent: all."""
    http: HttpCall | None = None
    """A request instead of a function."""
    approval: bool = False
    """Whether a person must agree to each call."""

    def __post_init__(self) -> None:
        given = [each for each in (self.function, self.server, self.http) if each is not None]
        if len(given) != 1:
            raise Wrong(
                "give one of function, server and http",
                remedy="Write `function` with a name that `farthing tools` lists, and leave the others out.",
            )


NOT_BUILT = {
    "server": "tools of MCP servers are",
    "tools": "tools of MCP servers are",
    "http": "tools that make web requests are",
    "approval": "asking a person before a call is",
}
"""Fields that may be written but that nothing carries out yet."""


def check(config: ToolConfig, view: FlowView) -> list[Problem]:
    asked = [name for name in NOT_BUILT if getattr(config, name)]
    return [
        Problem(
            "config.not_built",
            f"`{name}` of {view.node_id!r}: {NOT_BUILT[name]} not available in this version",
            "Leave it away." if name == "approval" else "Name a `function` instead.",
            view.node_id,
            f"config.{name}",
        )
        for name in asked
    ]


def summary(config: ToolConfig) -> str:
    return (config.function or config.server or "") + (f" in {config.folder}" if config.folder else "")


node = NodeType(
    name="tool",
    config=ToolConfig,
    title="Tool",
    category="Tools",
    icon="wrench",
    help="Lets the agents it is attached to call a function.",
    outputs=(Port("tool", "tool"),),
    summary=summary,
    check=check,
    keywords=("function", "calculator", "time", "file", "python"),
)

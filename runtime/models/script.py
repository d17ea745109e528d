"""The script of a scripted model: `NAME.script.json` beside a flow, answers to each node's calls."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from runtime.errors import BadInput
from runtime.messages import Purpose
from runtime.models.failures import REMEDIES
from runtime.shape import Misfit, Shape, Wrong, read
from runtime.shape.own import Dollars

FORMAT = "farthing.script/1"
ANY_NODE = "*"
LONGEST_LATENCY_S = 3_600.0
MAX_SCRIPT_BYTES = 16 * 1024 * 1024
"""A larger file is no script."""


class ScriptedCall(Shape):
    """A tool call to ask for."""

    name: str
    """The tool."""
    arguments: dict[str, Any] | str = {}
    """An object, or a text that is sent as it is, broken or not."""
    id: str | None = None
    """The call's id; absent: one is made up."""


class ScriptedUsage(Shape):
    """The five numbers to report. `input` includes cached and cache_write, `output` includes reasoning."""

    input: Annotated[int, Meta(ge=0)] = 0
    cached: Annotated[int, Meta(ge=0)] = 0
    cache_write: Annotated[int, Meta(ge=0)] = 0
    output: Annotated[int, Meta(ge=0)] = 0
    reasoning: Annotated[int, Meta(ge=0)] = 0


class ScriptedError(Shape):
    """A failure to play."""

    kind: str
    """Which: auth, quota, rate_limited, provider_down, timeout, stream_broken, empty, …"""
    message: str = "The script says so."
    """What the provider is to have said."""
    retry_after: Annotated[float, Meta(ge=0)] | None = None
    """Seconds that it asks to wait."""
    maybe_billed: bool | None = None
    """Whether it may have been charged; absent: as usual for the kind."""
    text: str | None = None
    """What came before it broke off."""

    def __post_init__(self) -> None:
        if self.kind not in REMEDIES:
            raise Wrong(f"unknown kind; there are {', '.join(sorted(REMEDIES))}", "kind")


OF_A_STEP = frozenset({"main", "thought", "action", "repair"})
"""The purposes that a reply which names none answers: the calls that an agent's steps are made of."""


class ScriptedReply(Shape):
    """One answer, used once in a run."""

    text: str | None = None
    """What the model says."""
    tool_calls: tuple[ScriptedCall, ...] = ()
    """The tools it asks for."""
    usage: ScriptedUsage | UnsetType | None = UNSET
    """What it reports to have used; absent: our own count; null: it reports nothing."""
    cost: Dollars | UnsetType | None = UNSET
    """Dollars that it reports; absent: by the demo price; null: it reports none."""
    latency_s: Annotated[float, Meta(ge=0, le=LONGEST_LATENCY_S)] = 0.0
    """Seconds until the whole answer has come."""
    finish: Literal["stop", "length", "tool_calls"] | None = None
    """Why it stops; absent: as it follows from text and tool calls."""
    error: ScriptedError | None = None
    """The call fails with this instead."""
    when: str | None = field(default=None, name="if")
    """A regular expression that must be found in the newest user message; absent: always fits."""
    purpose: Purpose | None = None
    """Which kind of call it answers."""

    def __post_init__(self) -> None:
        try:
            re.compile(self.when or "")
        except re.error as error:
            raise Wrong(f"not a regular expression: {error}", "if") from None

    def fits(self, purpose: str, asked: str) -> bool:
        """Whether it answers a call of this purpose after this user message."""
        wanted = purpose in OF_A_STEP if self.purpose is None else purpose == self.purpose
        return wanted and (self.when is None or re.search(self.when, asked) is not None)


class ScriptedResult(Shape):
    """What a tool is to have given in a rehearsal, used once in a run: a result, or an error."""

    result: Any = None
    """Any JSON value."""
    error: str | None = None
    """The tool fails with these words instead."""


class Script(Shape):
    """What a scripted model answers: by node id, `*` for every node."""

    format: Literal["farthing.script/1"]
    """The format's name and version."""
    replies: dict[str, tuple[ScriptedReply, ...]] = {}
    """Answers by node id, in order; a node's own go before those of `*`."""
    tool_results: dict[str, tuple[ScriptedResult, ...]] = {}
    """By tool, in order: what tools that would change something give in a rehearsal."""


def parse_script(data: object, *, name: str = "The script") -> Script:
    """A script from its JSON value. Raises BadInput with the path of the first fault."""
    try:
        return read(Script, data)
    except Misfit as misfit:
        from runtime.shape.faults import told

        first, *others = told(misfit)
        more = f" ({len(others)} more)" if others else ""
        raise BadInput(
            f"{name} cannot be used: {first}{more}.",
            code="script.invalid",
            remedy=f"Correct it; the format is {FORMAT}.",
        ) from None


def load_script(path: Path) -> Script:
    """The script in a file. Raises BadInput where there is none to read."""
    try:
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            raise BadInput(
                f"The script {path.name} is larger than {MAX_SCRIPT_BYTES // 1024**2} MiB.",
                remedy="Leave replies out, or move it away.",
            )
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadInput(
            f"The script {path} cannot be read: {error.strerror}.",
            code="script.missing",
            remedy="Make it a file that you can read, or move it away.",
        ) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"The script {path.name} is not JSON: {error}.",
            code="script.invalid",
            remedy=f"Correct it; the format is {FORMAT}.",
        ) from None
    return parse_script(data, name=f"The script {path.name}")

"""The script of a scripted model: `NAME.script.json` beside a flow, answers to each node's calls."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from runtime.errors import BadConfig, BadInput
from runtime.field_help import add_help
from runtime.messages import Purpose
from runtime.models.failures import REMEDIES
from runtime.usage import parse_money

FORMAT = "farthing.script/1"
ANY_NODE = "*"
LONGEST_LATENCY_S = 3_600.0
MAX_SCRIPT_BYTES = 16 * 1024 * 1024
"""A larger file is no script."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=add_help)


class ScriptedCall(_Strict):
    """A tool call to ask for."""

    name: str
    """The tool."""
    arguments: dict[str, Any] | str = {}
    """An object, or a text that is sent as it is, broken or not."""
    id: str | None = None
    """The call's id; absent: one is made up."""


class ScriptedUsage(_Strict):
    """The five numbers to report. `input` includes cached and cache_write, `output` includes reasoning."""

    input: int = Field(0, ge=0)
    cached: int = Field(0, ge=0)
    cache_write: int = Field(0, ge=0)
    output: int = Field(0, ge=0)
    reasoning: int = Field(0, ge=0)


class ScriptedError(_Strict):
    """A failure to play."""

    kind: str
    """Which: auth, quota, rate_limited, provider_down, timeout, stream_broken, empty, …"""
    message: str = "The script says so."
    """What the provider is to have said."""
    retry_after: float | None = Field(None, ge=0)
    """Seconds that it asks to wait."""
    maybe_billed: bool | None = None
    """Whether it may have been charged; absent: as usual for the kind."""
    text: str | None = None
    """What came before it broke off."""

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in REMEDIES:
            raise ValueError(f"unknown kind; there are {', '.join(sorted(REMEDIES))}")
        return kind


OF_A_STEP = frozenset({"main", "thought", "action", "repair"})
"""The purposes that a reply which names none answers: the calls that an agent's steps are made of."""


class ScriptedReply(_Strict):
    """One answer, used once in a run."""

    text: str | None = None
    """What the model says."""
    tool_calls: tuple[ScriptedCall, ...] = ()
    """The tools it asks for."""
    usage: ScriptedUsage | None = None
    """What it reports to have used; absent: our own count; null: it reports nothing."""
    cost: Decimal | None = None
    """Dollars that it reports; absent: by the demo price; null: it reports none."""
    latency_s: float = Field(0.0, ge=0, le=LONGEST_LATENCY_S)
    """Seconds until the whole answer has come."""
    finish: Literal["stop", "length", "tool_calls"] | None = None
    """Why it stops; absent: as it follows from text and tool calls."""
    error: ScriptedError | None = None
    """The call fails with this instead."""
    when: str | None = Field(None, alias="if")
    """A regular expression that must be found in the newest user message; absent: always fits."""
    purpose: Purpose | None = None
    """Which kind of call it answers."""

    @field_validator("cost", mode="before")
    @classmethod
    def _money(cls, value: object) -> object:
        if value is None:
            return None
        try:
            parse_money(value, field="cost")
        except BadConfig as error:
            raise ValueError(error.message) from None
        return Decimal(str(value).strip())

    @field_validator("when")
    @classmethod
    def _pattern(cls, value: str | None) -> str | None:
        try:
            re.compile(value or "")
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        return value

    def fits(self, purpose: str, asked: str) -> bool:
        """Whether it answers a call of this purpose after this user message."""
        wanted = purpose in OF_A_STEP if self.purpose is None else purpose == self.purpose
        return wanted and (self.when is None or re.search(self.when, asked) is not None)

    @property
    def says_usage(self) -> bool:
        """Usage is given, be it null."""
        return "usage" in self.model_fields_set

    @property
    def says_cost(self) -> bool:
        """A cost is given, be it null."""
        return "cost" in self.model_fields_set


class ScriptedResult(_Strict):
    """What a tool is to have given in a rehearsal, used once in a run: a result, or an error."""

    result: Any = None
    """Any JSON value."""
    error: str | None = None
    """The tool fails with these words instead."""


class Script(_Strict):
    """What a scripted model answers: by node id, `*` for every node."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=add_help, populate_by_name=True)

    format: Literal["farthing.script/1"]
    """The format's name and version."""
    replies: dict[str, tuple[ScriptedReply, ...]] = {}
    """Answers by node id, in order; a node's own go before those of `*`."""
    tool_results: dict[str, tuple[ScriptedResult, ...]] = {}
    """By tool, in order: what tools that would change something give in a rehearsal."""


def parse_script(data: object, *, name: str = "The script") -> Script:
    """A script from its JSON value. Raises BadInput with the path of the first fault."""
    try:
        return Script.model_validate(data)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        first = faults[0]
        path = "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"])
        more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
        raise BadInput(
            f"{name} cannot be used: {path}: {first['msg']}{more}.",
            code="script.invalid",
            remedy=f"Correct it; the format is {FORMAT}.",
        ) from None


def load_script(path: Path) -> Script:
    """The script in a file. Raises BadInput where there is none to read."""
    try:
        if path.stat().st_size > MAX_SCRIPT_BYTES:
            raise BadInput(f"The script {path.name} is larger than {MAX_SCRIPT_BYTES // 1024**2} MiB.")
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadInput(
            f"The script {path} cannot be read: {error.strerror}.", code="script.missing"
        ) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"The script {path.name} is not JSON: {error}.", code="script.invalid") from None
    return parse_script(data, name=f"The script {path.name}")

"""A row of a timeline: what the terminal, the studio and the exports draw."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from runtime.events import Gauge
from runtime.usage import Usage

Kind = Literal["run", "node", "call", "tool", "memory", "note", "warning", "stop", "error", "admin"]
TEXT_LIMIT = 2_000
"""Characters of a text that a row keeps; the event has all of it."""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a timeline.

    `depth` is its place in the tree run > node > call > tool; `offset_ms` counts from the run's start, `ms`
    is how long it took (null: still under way or of no length), `waited_ms` how long a call waited for a
    budget. `usage` null: nothing was used here; with usage, `cost` null is an unknown cost. `gauges` show the
    budgets after the row; `gauge` is the one that a warning or a stop is about. `calls` counts the model
    calls below a node or a run.
    """

    seq: int
    kind: Kind
    depth: int
    at: datetime
    offset_ms: int = 0
    run_id: str | None = None
    node_id: str | None = None
    step: int | None = None
    what: str = ""
    text: str = ""
    state: str = "done"
    ms: int | None = None
    waited_ms: int = 0
    purpose: str | None = None
    model: str | None = None
    attempt: int = 1
    usage: Usage | None = None
    cost: int | None = None
    unknown: int = 0
    estimated: bool = False
    gauges: tuple[Gauge, ...] = ()
    gauge: Gauge | None = None
    code: str | None = None
    remedy: str | None = None
    left_out: int = 0
    rehearsal: bool = False
    calls: int = 0

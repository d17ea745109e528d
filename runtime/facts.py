"""Facts: mutable, versioned key-value records under session or user scope, with where they came from."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

Partition = Literal["real", "rehearsal"]
Scope = Literal["session", "user"]
Kind = Literal["fact", "profile", "summary", "plan", "usage"]
Origin = Literal["user", "operator", "model", "derived", "tainted"]
FactState = Literal["current", "superseded", "forgotten", "conflict"]

MODEL_KINDS: frozenset[str] = frozenset({"fact", "profile"})
INTERNAL_PREFIX = "__"


class Shelf(NamedTuple):
    """Where facts lie: all agents on one Memory share a shelf; no two shelves see each other.

    `owner` is the session's uid in scope `session`, the user id in scope `user`, exactly as given.
    """

    partition: Partition
    namespace: str
    scope: Scope
    owner: str


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One version of a fact.

    `value` is JSON (null: present with an empty value). `confidence` is 0 to 1. `valid_to` null: still
    valid. `seen` counts writes of the same value. `source` is the run that wrote it, `step` its step.
    """

    key: str
    value: Any
    kind: Kind = "fact"
    version: int = 1
    state: FactState = "current"
    origin: Origin = "user"
    confidence: float = 1.0
    recorded_at: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    source: str | None = None
    step: int | None = None
    actor: str | None = None
    subject: str | None = None
    attribute: str | None = None
    seen: int = 1

    @property
    def internal(self) -> bool:
        """Keys that begin with `__` are Farthing's own: not injected, not writable by the model."""
        return self.key.startswith(INTERNAL_PREFIX)

    @property
    def tainted(self) -> bool:
        """Written while the output of a tool, or another tainted item, was in the step's context."""
        return self.origin == "tainted"

    def expired(self, now: datetime) -> bool:
        """Whether its validity ended at or before `now`."""
        return self.valid_to is not None and self.valid_to <= now


class FactWrite(msgspec.Struct, frozen=True, kw_only=True):
    """A wish to write one fact; the store decides the version and whether it changes anything."""

    key: str
    value: Any
    kind: Kind = "fact"
    origin: Origin = "user"
    confidence: float = 1.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    source: str | None = None
    step: int | None = None
    actor: str | None = None
    subject: str | None = None
    attribute: str | None = None
    expect_version: int | None = None


class Written(NamedTuple):
    """What a write did: `created`, `replaced`, `seen` (same value), or `conflict` (kept beside)."""

    outcome: Literal["created", "replaced", "seen", "conflict"]
    fact: Fact
    previous: Fact | None = None

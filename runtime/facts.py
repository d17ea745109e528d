"""Facts: mutable, versioned key-value records under session or user scope, with where they came from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

Partition = Literal["real", "rehearsal"]
Scope = Literal["session", "user"]
Kind = Literal["fact", "profile", "summary", "plan", "usage"]
Origin = Literal["user", "operator", "model", "derived", "tainted"]
FactState = Literal["current", "superseded", "forgotten", "conflict", "erased"]

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
    valid. `ends` is the end that a version was given and did not live to see: it was replaced or forgotten
    before. `seen` counts writes of the same value. `source` is the run that wrote it, `step` its step; one
    that begins with `version/` says which earlier version of the key a person put back or kept, one that
    begins with `promoted/` which derived version has earned to stay. The value of an `erased` version is the
    mark of its receipt.
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
    ends: datetime | None = None

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


class FactChange(msgspec.Struct, frozen=True, kw_only=True):
    """Several acts on one shelf as one: made whole, or not at all where what it rests on has moved on.

    `close`, `stand` and `gone` name keys with the version that must be their newest: current, or of `gone`
    a retired one. Those of `close` are retired, then `write` is put.
    """

    close: tuple[tuple[str, int], ...] = ()
    stand: tuple[tuple[str, int], ...] = ()
    gone: tuple[tuple[str, int], ...] = ()
    write: FactWrite | None = None


class Made(NamedTuple):
    """What came of a change; `fact` is what it wrote."""

    done: bool
    fact: Fact | None = None


class Written(msgspec.Struct, frozen=True):
    """What a write did: `created`, `replaced`, `seen` (same value), or `conflict` (kept beside)."""

    outcome: Literal["created", "replaced", "seen", "conflict"]
    fact: Fact
    previous: Fact | None = None


VERSION_SOURCE = "version/"
PROMOTED_SOURCE = "promoted/"


def restored_from(fact: Fact) -> int | None:
    """The version of its key that this one is a copy of, or None."""
    return _number(fact.source, VERSION_SOURCE)


def promoted_from(fact: Fact) -> int | None:
    """The derived version of its key that this one was promoted from, or None."""
    return _number(fact.source, PROMOTED_SOURCE)


def _number(source: str | None, prefix: str) -> int | None:
    number = (source or "").removeprefix(prefix)
    return int(number) if number != source and number.isascii() and number.isdigit() else None


def facts_at(versions: Iterable[Fact], at: datetime) -> list[Fact]:
    """The versions that were current at a time, in key order; what was erased since is not among them.

    A conflict that a person settled looks like a former version. It never stood alone, so where two
    versions of a key cover the time it is the untainted one that was current.
    """
    found: dict[str, Fact] = {}
    for fact in versions:
        was = fact.state in ("current", "superseded", "forgotten")
        if not was or fact.recorded_at > at or fact.expired(at):
            continue
        other = found.get(fact.key)
        if other is None or (not fact.tainted, fact.version) > (not other.tainted, other.version):
            found[fact.key] = fact
    return [found[key] for key in sorted(found)]


class Ageing(msgspec.Struct, frozen=True):
    """Versions by key: those of `retire` become former ones, the values of `empty` are taken away, the
    derived ones of `promote` become facts that do not fade, those of `demote` derived again."""

    retire: dict[str, int] = {}
    empty: dict[str, int] = {}
    promote: dict[str, int] = {}
    demote: dict[str, int] = {}


class Erase(msgspec.Struct, frozen=True, kw_only=True):
    """A wish to erase every value that keys ever had, wherever a user's data has it. `receipt` is an id
    that stands in its place. `preview`: only count."""

    keys: tuple[str, ...]
    receipt: str
    at: datetime
    preview: bool = False


class Erased(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure reached, without the content.

    `places` counts, by kind (facts, other facts, events, calls, inputs, outputs, turns), the documents in
    which something was replaced. `left` counts those in which a value too short to be searched for still
    stands, maybe by chance. `swept`: the file and its log were written anew where the text was still in
    freed pages. `remains`: after that the same text stands in what is not the user's.
    """

    receipt: str
    keys: tuple[str, ...]
    versions: int
    places: dict[str, int]
    left: dict[str, int] = {}
    swept: bool = True
    remains: bool = False


OUT_OF_REACH = (
    "what was sent to model providers, and their logs",
    "backups and copies of the database, exports, recorded scripts and other files",
    "words that say the same in another way, and parts of the value",
    "names of keys, sessions, users and flows, flow documents, and reasons in the ledger",
    "what a program that is running now has in memory",
)
"""What no erasure reaches; a receipt names it."""


class Shelved(msgspec.Struct, frozen=True):
    """Every version of one key, and where it lies."""

    shelf: Shelf
    versions: tuple[Fact, ...]


class Imported(NamedTuple):
    """What an import did: keys that were added, that were there just so, and that were there otherwise."""

    added: tuple[Shelved, ...]
    same: tuple[Shelved, ...]
    conflicts: tuple[Shelved, ...]

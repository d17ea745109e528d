"""The settings of injection, and what an injection came to."""

from __future__ import annotations

from typing import Literal

import msgspec

from runtime.errors import BadConfig
from runtime.memory.candidates import CandidateKind
from runtime.memory.packing import Limits, Overflow, Size, Status
from runtime.memory.ranges import check

Accounting = Literal["rendered", "items"]


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """What memory may take of a context, and how it is chosen.

    `tokens`, `lines`, `bytes`: most that blocks, facts and episodes take together; None sets no limit.
    `half_life_days`: age at which freshness halves the score; None or 0: age does not matter.
    `min_confidence`: least for what a model wrote or derived. `overflow`: what a misfit does.
    `accounting`: `rendered` counts all that is sent, `items` the items alone. `filters`: whether expired and
    doubtful items are left out. `rrf_k` and `confidence_weight` (0 off, 1 full): see `ranking`.
    `fact_limit`, `episode_limit`: most candidates of each kind; None: all that are given. `fetch_factor`:
    how many times the episode limit to fetch where a session's own are left out. `chars_per_token`: code
    points for a token where `items` cuts a text. `join`: stands between parts.
    """

    tokens: int | None = 1500
    lines: int | None = 200
    bytes: int | None = 25_000
    half_life_days: float | None = None
    min_confidence: float = 0.6
    overflow: Overflow = "skip"
    accounting: Accounting = "rendered"
    filters: bool = True
    rrf_k: int = 60
    confidence_weight: float = 0.25
    fact_limit: int | None = None
    episode_limit: int | None = None
    fetch_factor: int = 4
    chars_per_token: int = 4
    join: str = "\n\n"

    def __post_init__(self) -> None:
        check("min_confidence", self.min_confidence, 0, 1)
        check("confidence_weight", self.confidence_weight, 0, 1)
        for field in ("rrf_k", "fetch_factor", "chars_per_token"):
            check(field, getattr(self, field), 1)
        if self.half_life_days is not None and self.half_life_days != self.half_life_days:
            raise BadConfig("half_life_days is not a number.", remedy="Give it a number of days, or null.")

    @classmethod
    def by_items(cls, tokens: int | None, half_life_days: float | None = None) -> Injection:
        """Item accounting: 5 facts and 3 episodes compete for `tokens`; None: they are all shown."""
        return cls(
            tokens=tokens,
            lines=None,
            bytes=None,
            half_life_days=half_life_days,
            overflow="truncate",
            accounting="items",
            filters=False,
            confidence_weight=0,
            fact_limit=5,
            episode_limit=3,
        )

    def fetch(self, session: str | None) -> int | None:
        """How many episodes to fetch, so that enough are left without those of `session`; None: all."""
        if self.episode_limit is None or session is None:
            return self.episode_limit
        return self.episode_limit * self.fetch_factor

    def limits(self, supporting: int | None) -> Limits:
        """The limits of one injection; `supporting`: the supporting budget in tokens, None where none is."""
        tokens = self.tokens
        if supporting is not None:
            tokens = max(0, supporting if tokens is None else min(tokens, supporting))
        return Limits(tokens, self.lines, self.bytes)


class Entry(msgspec.Struct, frozen=True):
    """One line of the packing report: what became of a candidate, and why.

    `shown` is what is sent of it. `reason`, where it is not sent whole: the limit that it exceeds (`tokens`,
    `lines`, `bytes`), `stopped`, `blocks` (they left no room), `expired`, `not yet valid`, `confidence`.
    `size` is the item's own.
    """

    ref: str
    kind: CandidateKind
    rank: int
    relevance: float
    score: float
    size: Size
    status: Status
    reason: str | None
    shown: str | None


class Injected(msgspec.Struct, frozen=True):
    """What is sent, and the report. Each part is the content of a message of its own, None where empty.

    `facts` is there only where all facts fit, or for the `pinned` ones; otherwise they are among `recall`.
    `blocks_size` and `memory_size` are the sizes of the blocks and of facts and recall together; in item
    accounting the items alone count, a truncated one not. `allowance`: tokens for facts and recall, None
    without a limit.
    """

    blocks: str | None
    facts: str | None
    recall: str | None
    entries: tuple[Entry, ...]
    blocks_size: Size
    memory_size: Size
    allowance: int | None
    warnings: tuple[str, ...] = ()
    pinned: frozenset[str] = frozenset()

    @property
    def shown(self) -> tuple[Entry, ...]:
        """What is sent, in the order of the report."""
        return tuple(entry for entry in self.entries if entry.status != "dropped")

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """What is not sent."""
        return tuple(entry for entry in self.entries if entry.status == "dropped")

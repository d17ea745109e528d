"""How many items of each kind are worth fetching for a token limit, so that little is fetched in vain."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from runtime.memory.priming import Priming


class Share(msgspec.Struct, frozen=True):
    """A kind's part of the limit: `part` from 0 to 1, `item_tokens` a typical item costs, `least` items."""

    part: float
    item_tokens: int
    least: int = 1

    def items(self, token_limit: int) -> int:
        """Whole items that fit into this part of `token_limit`."""
        return max(self.least, int(token_limit * self.part) // self.item_tokens)


class Shares(msgspec.Struct, frozen=True):
    """How a token limit is divided between the kinds; the parts make 1 with prior sessions."""

    history: Share = Share(0.35, 150)
    insights: Share = Share(0.25, 80)
    summaries: Share = Share(0.20, 100)
    entities: Share = Share(0.05, 30)
    prior: Share = Share(0.15, 150, least=0)


class RetrievalLimits(NamedTuple):
    """Most items to fetch of each kind."""

    history: int
    insights: int
    summaries: int
    entities: int
    prior_turns: int
    relationships: int


def retrieval_limits(
    token_limit: int,
    history_limit: int,
    priming: Priming,
    *,
    include_prior: bool = True,
    shares: Shares | None = None,
) -> RetrievalLimits:
    """Divide `token_limit` by shares, never above what `priming` and `history_limit` (turns) allow.

    Relations between entities follow the number of entities, up to the most known facts.
    """
    shares = shares or Shares()
    entities = shares.entities.items(token_limit)
    return RetrievalLimits(
        history=min(history_limit, shares.history.items(token_limit)),
        insights=min(priming.max_insights, shares.insights.items(token_limit)),
        summaries=min(priming.max_summaries, shares.summaries.items(token_limit)),
        entities=entities,
        prior_turns=shares.prior.items(token_limit) if include_prior else 0,
        relationships=min(entities, priming.max_known_facts),
    )

"""The weights of finding, each with its meaning. Frozen; an index takes one for its whole life."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FindingConfig:
    """Weights of the score. Scores are sums of z-scores: 1.0 is one standard deviation over all current items."""

    bm25_k1: float = 1.2
    """Saturation of repeated words in BM25 (Robertson and Walker 1994; the usual range is 1.2 to 2)."""

    bm25_b: float = 0.4
    """How far BM25 normalises by the item's length; the length penalty below does the rest."""

    previous_share: float = 0.5
    """Share of the previous turn's lexical score that a turn takes on: answers follow questions."""

    next_share: float = 0.25
    """Share of the next turn's lexical score that a turn takes on."""

    session_share: float = 0.4
    """Share of the best score in its session that each turn takes on: a conversation has a topic."""

    lexical_weight: float = 1.0
    """Weight of the lexical z-score."""

    dense_weight: float = 1.0
    """Weight of the z-score of the embeddings' cosine (corpus mean subtracted)."""

    speaker_boost: float = 1.0
    """Added where the query names the item's speaker."""

    self_boost: float = 0.5
    """Added to what the user said where the query says I, me or my."""

    subject_boost: float = 0.5
    """Added where the item has a subject and the query names it."""

    standing_boost: float = 0.5
    """Added to the user's standing instructions and preferences, which hold whatever the query is about."""

    short_tokens: int = 200
    """Items up to this size pay no length penalty."""

    length_power: float = 0.6
    """Penalty for long items: the score is multiplied by min(1, short_tokens / tokens) to this power."""

    half_life_days: float = 0.0
    """Half-life of a decay by age, in days; 0 is none, the default: old facts are asked for as often as new ones."""

    date_words: bool = True
    """Index year, month, day and weekday of each item as words."""

    speaker_words: bool = True
    """Index the speaker's name as words."""

    candidates: int = 2048
    """How many of the best-scored items packing looks at."""

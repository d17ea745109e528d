"""The weights of finding, each with its meaning. Frozen; an index takes one for its whole life."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FindingConfig:
    """Weights of the score. Scores are sums of z-scores: 1.0 is one standard deviation over all current
    items.

    Defaults were chosen on conversations of two friends and of a user with an assistant, by what leaving each
    ingredient out costs; they are flat around the values given.
    """

    bm25_k1: float = 1.2
    """Saturation of repeated words in BM25 (Robertson and Zaragoza 2009; usual range 1.2 to 2)."""

    bm25_b: float = 0.4
    """How far BM25 normalises by the item's length; the length penalty below does the rest."""

    previous_share: float = 0.5
    """Share of the previous turn's lexical score that a turn takes on: answers follow questions."""

    next_share: float = 0.25
    """Share of the next turn's lexical score that a turn takes on."""

    further_share: float = 0.5
    """Share of that which each turn further away gets of it: an answer may take some turns to come."""

    reach: int = 3
    """Turns before and after that pass on a share; from a fourth nothing more is gained."""

    session_share: float = 0.4
    """Share of the best lexical score in its session that each turn takes on: a conversation has a topic."""

    dense_session_share: float = 0.3
    """Share of the best cosine in its session that each turn takes on."""

    lexical_weight: float = 1.0
    """Weight of the lexical z-score."""

    dense_weight: float = 0.7
    """Weight of the z-score of the embeddings' cosine (corpus mean subtracted). Used only with vectors."""

    speaker_boost: float = 1.5
    """Added where the query names the item's speaker."""

    self_boost: float = 1.0
    """Added to what the user said where the query says I, me or my."""

    standing_boost: float = 1.0
    """Added to the user's standing instructions and preferences, which hold whatever the query is about."""

    asked_boost: float = 1.0
    """Added to a short statement about the query's subject that is at least a third like the query; to one
    that is less like it, in proportion."""

    asked_weight: float = 0.5
    """How far two statements count as alike because both are like the query."""

    same_head: float = 0.3
    """Added to the likeness of two statements about one thing possessed or named by an article: my desk."""

    other_head: float = 0.1
    """Taken from the likeness of two that name different things so."""

    meaning_weight: float = 0.5
    """Weight of the cosine of two statements' vectors, above `meaning_floor`, in their likeness."""

    meaning_floor: float = 0.2
    """Cosine up to which two statements of one speaker count as no more alike than any."""

    like_floor: float = 0.2
    """Likeness, from 0, from which of two statements the later goes first; where it tells of a change, the
    earlier is moved back."""

    like_ratio: float = 0.5
    """A statement concerns those earlier ones that are at least this share as like it as the one that is most
    like it."""

    touched_floor: float = 0.1
    """Likeness that an earlier statement must have with the words beside a word of change (new, now)."""

    replace_floor: float = 0.35
    """Likeness from which a statement that tells of a change replaces an earlier one: that is left out."""

    outdated_weight: float = 3.0
    """Taken, for each 1 of likeness, from the score of an earlier statement that is probably outdated."""

    short_tokens: int = 100
    """Items up to this size pay no length penalty."""

    length_power: float = 0.7
    """Penalty for long items: a positive score is multiplied by min(1, short_tokens / tokens) to this
    power."""

    half_life_days: float = 0.0
    """Half-life of a decay by age, in days; 0 is none, the default: old facts are asked for as often as
    new ones."""

    date_words: bool = True
    """Index year, month, day and weekday of each item as words."""

    speaker_words: bool = True
    """Index the speaker's name as words."""

    supersede: bool = True
    """At recall, leave out short statements that a later one about the same thing replaces, and move back
    those that one probably replaces."""

    candidates: int = 1024
    """How many of the best-scored items packing looks at."""

    exact_vectors: int = 8192
    """Up to so many items the embeddings are compared whole. Of more, all by their 64 foremost numbers, then
    the candidates whole: what takes time is reading vectors from memory."""

    statements: int = 96
    """How many of the best-scored items are checked for supersession."""

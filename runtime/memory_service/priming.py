"""What comes along into a session whatever is asked: facts that stand out, summaries of earlier sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from runtime.events import ContextItem
from runtime.facts import MODEL_KINDS, Fact
from runtime.memory.candidates import unsound
from runtime.memory.estimate import Estimator
from runtime.memory.payload import Payload, Piece, Pieces
from runtime.memory.priming import Priming, primed
from runtime.memory.retrieval_limits import retrieval_limits
from runtime.memory_service.compacted import PREFIX, compacted
from runtime.memory_service.exchanges import Hidden
from runtime.memory_service.shared import BUDGET, SHARE
from runtime.memory_service.showing import candidate, fact_text


class Primed(NamedTuple):
    """`facts`: keys of facts, best first; `summaries`: texts, oldest first, and the `sessions` that they are
    of; `left`: tokens left for turns; `left_out`: summaries that the settings allow and that have no room."""

    facts: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    left: int = 0
    left_out: tuple[ContextItem, ...] = ()


class Earlier(NamedTuple):
    """The summary of an earlier session."""

    session_uid: str
    text: str
    at: datetime


def rules_of(config: Any, room: int | None = None) -> Priming:
    """The Memory's `priming` settings for the arithmetic; of each kind no more than has a chance to fit into
    `room`, the tokens that a prompt may have, None where the window is not known."""
    rules = Priming(**{name: getattr(config, name) for name in config.__struct_fields__})
    if room is None:
        return rules
    most = retrieval_limits(room, 0, rules)
    return msgspec.structs.replace(
        rules,
        top_entities=min(rules.top_entities, most.entities),
        max_insights=most.insights,
        max_summaries=most.summaries,
        previous_session_turns=min(rules.previous_session_turns, most.prior_turns),
    )


def summaries_of(facts: Sequence[Fact], node_id: str, session_uid: str, hidden: Hidden) -> list[Earlier]:
    """What compaction kept of other sessions with this agent, newest first; none that tells what was
    forgotten."""
    found = []
    for fact in facts:
        node, _, session = fact.key.removeprefix(PREFIX).rpartition("/")
        if not fact.key.startswith(PREFIX) or node != node_id or session == session_uid:
            continue
        text = " ".join(compacted(fact.value).parts)
        if text and not any(value in text.casefold() for value in hidden.texts):
            found.append(Earlier(session, text, fact.recorded_at))
    return sorted(found, key=lambda each: (each.at, each.session_uid), reverse=True)


def prime(
    facts: Sequence[Fact],
    earlier: Sequence[Earlier],
    rules: Priming,
    now: datetime,
    min_confidence: float,
    count: Estimator,
    wished: int | None = None,
) -> Primed:
    """What comes along of the facts and summaries, within the numbers and tokens of `rules`. `wished`: so
    many summaries would come along in a large window; None: as many as in this one.

    It does not depend on what is asked: surer facts come before less sure ones, newer before older; of the
    subjects those first about which most is known.
    """
    sound = [
        fact for fact in facts
        if not fact.internal and fact.kind in MODEL_KINDS
        and unsound(candidate(fact), now, min_confidence) is None
    ]  # fmt: skip
    best = sorted(sound, key=lambda fact: (-fact.confidence, -fact.recorded_at.timestamp(), fact.key))
    subjects: dict[str, list[Fact]] = {}
    for fact in best:
        if fact.subject is not None:
            subjects.setdefault(fact.subject, []).append(fact)
    named = sorted(subjects, key=lambda name: (-len(subjects[name]), name))
    alone = [fact for fact in best if fact.subject is None]
    found = Payload(
        entities=tuple(_piece(name, subjects[name], count) for name in named),
        facts=tuple(_piece(f.key, [f], count) for f in alone if f.origin != "derived"),
        insights=tuple(_piece(f.key, [f], count) for f in alone if f.origin == "derived"),
        summaries=tuple(Piece(each.session_uid, count(each.text)) for each in earlier),
    )
    kept = primed(found, rules)
    of_subjects = [fact.key for piece in kept.entities for fact in subjects[piece.ref]]
    keys = [piece.ref for piece in kept.facts] + of_subjects + [piece.ref for piece in kept.insights]
    texts = {each.session_uid: each.text for each in earlier}
    sessions = tuple(piece.ref for piece in kept.summaries[::-1])
    summaries = tuple(texts[session] for session in sessions)
    left_out = _left_out(found.summaries, kept.summaries, rules.max_summaries, wished or 0)
    return Primed(tuple(keys), summaries, sessions, rules.token_budget - kept.tokens, left_out)


def _left_out(found: Pieces, kept: Pieces, most: int, wished: int) -> tuple[ContextItem, ...]:
    """Summaries that do not come along though they are among those wished for."""
    why = SHARE if len(kept) == most else BUDGET
    missing = [piece for piece in found[:wished] if piece not in kept]
    return tuple(ContextItem(ref=f"summary/{piece.ref}", tokens=piece.tokens, why=why) for piece in missing)


def _piece(ref: str, facts: Sequence[Fact], count: Estimator) -> Piece:
    return Piece(ref, sum(count(fact_text(fact)) for fact in facts))

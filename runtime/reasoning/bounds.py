"""A context within the model's window: its parts give way, stage after stage, until it fits.

The instructions, the tools, pinned blocks and what the user asks never do. Where nothing is left to give an
error says what is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from runtime.errors import ContextTooLarge
from runtime.events import ContextItem
from runtime.memory.bound import BOUND, BOUND_STAGE, Part, bounded
from runtime.memory.bound import too_large as refused
from runtime.memory.cascade import Gave, Pruned
from runtime.memory.cascade_stages import Cascade
from runtime.memory.payload import Dropped, Payload, Piece
from runtime.memory_service import ForContext
from runtime.messages import Message
from runtime.reasoning.context import Bill, Counts, Parts
from runtime.reasoning.past import TURN, turns_of
from runtime.reasoning.results import Result, cut, newest, note_for, results_of

Measure = Callable[[Parts], int]
"""Tokens of the request that is made of these parts."""

RULES = Cascade(take="needed", redundant_from=0)
"""No more goes than is needed. Summaries are never superfluous: they stand for turns that are not sent."""
EMERGENCY = BOUND_STAGE - 1
"""From this stage on goes what an answer rests on."""
SORELY = ("facts", "entities", "results", "state")
"""Sections of which a person is told when some of them goes then. Old turns, passages, insights and summaries
always do in a small window: the bill says so, and nobody can do anything about it."""


class Bounded(msgspec.Struct, frozen=True):
    """What is sent, its tokens, what is not sent, and the stages that it took. `missed`: sections of which
    something went that an answer rests on, `history` where no turn is left."""

    parts: Parts
    tokens: int
    left_out: tuple[ContextItem, ...] = ()
    gave: tuple[Gave, ...] = ()
    missed: tuple[str, ...] = ()


def within(parts: Parts, limit: int, measure: Measure, counts: Counts) -> Bounded:
    """The parts with so much less that they have at most `limit` tokens, where that is possible."""
    work = _Work(parts, counts)
    pruned = bounded(work.payload, limit, RULES, lambda left: measure(work.only(left)))
    found = Bounded(
        work.only(pruned.payload),
        pruned.tokens + pruned.overhead,
        work.left_out(pruned),
        pruned.gave,
        _missed(work.payload, pruned),
    )
    return found if found.tokens <= limit else _cut_newest(found, limit, measure, counts)


def _missed(payload: Payload, pruned: Pruned) -> tuple[str, ...]:
    went = {drop.section for drop in pruned.dropped if drop.stage >= EMERGENCY}
    alone = ("history",) if payload.history and not pruned.payload.history else ()
    return (*alone, *(section for section in SORELY if section in went))


def joined(first: Bounded, second: Bounded) -> Bounded:
    """Two goes as one: the first took turns of earlier sessions, the second began without them."""
    turns = tuple(item for item in first.left_out if item.ref.startswith(TURN))
    one, later = first.gave[0], second.gave
    after = later[0].before if later else second.tokens
    if later and later[0].stage == one.stage:
        one, after, later = one._replace(pieces=one.pieces + later[0].pieces), later[0].after, later[1:]
    gave = (one._replace(after=after), *later)
    return msgspec.structs.replace(second, left_out=(*turns, *second.left_out), gave=gave)


def too_large(bill: Bill, limit: int, tokens: int) -> ContextTooLarge:
    """The error of what must be sent whole, which names the largest parts."""
    return refused([Part(section.name, section.tokens) for section in bill.sections], limit, tokens)


class _Work:
    """The parts as pieces, and back again."""

    def __init__(self, parts: Parts, counts: Counts) -> None:
        self.parts, self.counts = parts, counts
        self.turns = turns_of(parts.past.messages)
        shown = parts.memory.shown
        self.of_memory = Payload() if shown is None else shown.payload()
        self.results = {
            result.ref: result
            for result in _older(parts)
            if self._tokens(result) > counts.messages([note_for(parts.turn[result.place])])
        }
        self.payload = self._payload()
        self.refs = frozenset(piece.ref for _, piece in self.payload.pieces())
        self.memory_refs = frozenset(piece.ref for _, piece in self.of_memory.pieces())
        self._memories: dict[frozenset[str], ForContext] = {frozenset(): parts.memory}

    def _tokens(self, result: Result) -> int:
        return self.counts.messages([self.parts.turn[result.place]])

    def _payload(self) -> Payload:
        past, memory, counts = self.parts.past, self.of_memory, self.counts
        recalled = tuple(
            Piece(each.ref, counts.text(each.text), each.likeness, stage="short_term")
            for each in past.recalled
        )
        notes = tuple(Piece(ref, counts.text(text)) for ref, text in past.summaries[::-1])
        state = (Piece("plan", counts.text(self.parts.state)),) if self.parts.state else ()
        return Payload(
            prior=tuple(Piece(turn.item.ref, counts.messages(turn.messages)) for turn in past.prior),
            history=tuple(
                Piece(f"history/{number}", counts.messages(turn)) for number, turn in enumerate(self.turns)
            ),
            passages=recalled + memory.passages,
            insights=memory.insights,
            summaries=notes + memory.summaries,
            entities=memory.entities,
            facts=memory.facts,
            tools=memory.tools,
            results=tuple(Piece(ref, self._tokens(result)) for ref, result in self.results.items()),
            state=state + memory.state,
        )

    def only(self, left: Payload) -> Parts:
        """The parts with what is left of the pieces."""
        gone = self.refs - {piece.ref for _, piece in left.pieces()}
        if not gone:
            return self.parts
        past = self.parts.past.without(gone, len(self.payload.history) - len(left.history))
        turn = list(self.parts.turn)
        for ref in gone & self.results.keys():
            place = self.results[ref].place
            turn[place] = note_for(turn[place])
        state = "" if "plan" in gone else self.parts.state
        return msgspec.structs.replace(
            self.parts, memory=self._memory(gone), past=past, turn=tuple(turn), state=state
        )

    def _memory(self, gone: frozenset[str]) -> ForContext:
        mine, shown = gone & self.memory_refs, self.parts.memory.shown
        if mine not in self._memories and shown is not None:
            self._memories[mine] = shown.without(mine)
        return self._memories[mine]

    def left_out(self, pruned: Pruned) -> tuple[ContextItem, ...]:
        """What is not sent as lines of the bill; turns that went together as one range of messages."""
        sources = {turn.item.ref: turn.item.source for turn in self.parts.past.prior}
        sources |= {ref: result.tool for ref, result in self.results.items()}
        found, first = [], self.parts.past.first
        for stage in range(BOUND_STAGE + 1):
            went = [drop for drop in pruned.dropped if drop.stage == stage]
            turns = [drop for drop in went if drop.section == "history"]
            if turns:
                places = [int(drop.ref.partition("/")[2]) for drop in turns]
                size = sum(len(self.turns[place]) for place in places)
                tokens = sum(drop.tokens for drop in turns)
                ref = f"history/{first}-{first + size - 1}"
                found.append(ContextItem(ref=ref, tokens=tokens, why=_why(turns[0])))
                first += size
            found += [_item(drop, sources) for drop in went if drop.section != "history"]
        return tuple(found)


def _older(parts: Parts) -> Sequence[Result]:
    """Results in this turn that the model has seen."""
    results = results_of(parts.turn)
    return results[: len(results) - len(newest(results, parts.turn))]


def _why(drop: Dropped) -> str:
    return f"stage {drop.stage}: {drop.reason}" if drop.stage else drop.reason


def _item(drop: Dropped, sources: Mapping[str, str | None]) -> ContextItem:
    return ContextItem(ref=drop.ref, tokens=drop.tokens, source=sources.get(drop.ref), why=_why(drop))


def _cut_newest(found: Bounded, limit: int, measure: Measure, counts: Counts) -> Bounded:
    """With only the beginnings of the newest results of tools, the largest first; nothing else may go."""
    items, start = list(found.left_out), found.tokens
    results = newest(results_of(found.parts.turn), found.parts.turn)
    for result in sorted(results, key=lambda each: -len(found.parts.turn[each.place].content or "")):
        if found.tokens <= limit:
            break
        whole = found.parts.turn[result.place]
        replaced = partial(_with, found.parts, result.place)
        shorter = cut(whole, lambda message: measure(replaced(message)) <= limit)  # noqa: B023
        won = counts.messages([whole]) - counts.messages([shorter])
        if won > 0:
            why = f"stage {BOUND_STAGE}: {BOUND}, its beginning is sent"
            items.append(ContextItem(ref=result.ref, tokens=won, source=result.tool or None, why=why))
            found = msgspec.structs.replace(found, parts=replaced(shorter), tokens=measure(replaced(shorter)))
    number = len(items) - len(found.left_out)
    if not number:
        return found
    gave = _more(found.gave, number, start, found.tokens)
    missed = found.missed if "results" in found.missed else (*found.missed, "results")
    return msgspec.structs.replace(found, left_out=tuple(items), gave=gave, missed=missed)


def _with(parts: Parts, place: int, message: Message) -> Parts:
    return msgspec.structs.replace(parts, turn=(*parts.turn[:place], message, *parts.turn[place + 1 :]))


def _more(gave: tuple[Gave, ...], number: int, before: int, after: int) -> tuple[Gave, ...]:
    """The stages with `number` more pieces in the last one."""
    if gave and gave[-1].stage == BOUND_STAGE:
        number, before, gave = number + gave[-1].pieces, gave[-1].before, gave[:-1]
    return (*gave, Gave(BOUND_STAGE, BOUND, number, before, after))

"""What was laid out in sections: its texts, its lines on the bill, and what is left where some give way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from runtime.events import ContextItem, ContextSection
from runtime.facts import Fact
from runtime.memory.candidates import Candidate
from runtime.memory.contents import SECTIONS, Contents, Section
from runtime.memory.estimate import Estimator
from runtime.memory.fence import Fence
from runtime.memory.payload import Payload, Piece, Pieces
from runtime.memory.section_rules import Layout
from runtime.memory.two_parts import TwoParts, Writer
from runtime.memory_service.giving import known, passages, surest
from runtime.memory_service.shared import ForContext

BILLED: dict[str, str] = {"tools": "tool hints"}
"""How a section is called on the bill, where its name is taken."""


class Line(NamedTuple):
    """An item of a section: what it is called on the bill, its text, where it comes from."""

    ref: str
    text: str
    source: str | None = None
    score: float | None = None


Lines = dict[Section, list[Line]]


class Pinned(NamedTuple):
    """The blocks as they are sent, their tokens and their names."""

    text: str
    tokens: int
    names: tuple[str, ...]


class LaidOut(msgspec.Struct, frozen=True):
    """One layout. `lines` and `contents` have the same items; `placed` says how many of each section are
    sent, `late` which sections come with the question. `facts` and `episodes` are what they were made of."""

    layout: Layout
    fence: Fence
    count: Estimator
    blocks: Pinned
    contents: Contents
    lines: Lines
    placed: TwoParts
    late: frozenset[Section]
    facts: tuple[Fact, ...]
    episodes: tuple[Candidate, ...]
    left_out: tuple[ContextItem, ...]
    warnings: tuple[str, ...]

    def context(self) -> ForContext:
        """What is sent, with its bill."""
        placed, names = self.placed, self._names
        early = self._billed([name for name in names if name not in self.late], placed.early)
        late = self._billed([name for name in names if name in self.late], placed.late)
        blocks: tuple[ContextSection, ...] = ()
        if self.blocks.text:
            refs = tuple(ContextItem(ref=f"block/{name}", tokens=0) for name in self.blocks.names)
            blocks = (ContextSection(name="blocks", tokens=self.blocks.tokens, items=refs),)
        return ForContext(
            "\n\n".join(part for part in (self.blocks.text, placed.early) if part),
            placed.late,
            (*blocks, *early),
            tuple(late),
            self.left_out,
            self.warnings,
            laid_out=True,
            shown=self,
        )

    def payload(self) -> Payload:
        """What is sent, best first in each section: facts that the question chose as it chose them, others
        surest first."""
        tokens = {line.ref: self.count(line.text) for lines in self._shown.values() for line in lines}
        chosen = "known_facts" in self.late
        found = known(self.facts if chosen else surest(self.facts), tokens)
        return Payload(
            passages=passages(self.episodes, tokens),
            insights=found.insights,
            summaries=self._pieces("summaries"),
            entities=found.entities,
            facts=found.facts,
            tools=self._pieces("tools"),
            state=self._pieces("state"),
        )

    def without(self, refs: frozenset[str]) -> ForContext:
        """What is sent without these; every section stays in the text that it was in."""
        lines: Lines = {name: [] for name in SECTIONS}
        kept: dict[Section, list[int]] = {}
        for name, shown in self._shown.items():
            kept[name] = [place for place, line in enumerate(shown) if line.ref not in refs]
            lines[name] = [shown[place] for place in kept[name]]
        contents, number = _only(self.contents, kept), {name: len(places) for name, places in kept.items()}
        marked = {name: left + (name in self.placed.cut) for name, left in number.items()}
        early, late = Writer(contents, self.layout, self.late, self.fence).texts(number, marked)
        placed = TwoParts(early, late, number, marked, self.placed.over)
        return msgspec.structs.replace(self, contents=contents, lines=lines, placed=placed).context()

    @property
    def _names(self) -> list[Section]:
        return [name for name in self.layout.order if self.placed.shown.get(name)]

    @property
    def _shown(self) -> Lines:
        return {name: self.lines[name][: self.placed.shown[name]] for name in self._names}

    def _pieces(self, name: Section) -> Pieces:
        lines = self._shown.get(name, [])
        return tuple(Piece(line.ref, self.count(line.text), line.score or 0.0) for line in lines)

    def _billed(self, names: Sequence[Section], text: str) -> list[ContextSection]:
        """The first section also carries what stands around them all."""
        sections = [
            tuple(item(line, self.count) for line in self.lines[name][: self.placed.shown[name]])
            for name in names
        ]
        sizes = [sum(each.tokens for each in items) for items in sections]
        left = self.count(text) if text else 0
        found = []
        for place, (name, items) in enumerate(zip(names, sections, strict=True)):
            tokens = max(0, left - sum(sizes[1:])) if place == 0 else min(left, sizes[place])
            left -= tokens
            found.append(ContextSection(name=BILLED.get(name, name), tokens=tokens, items=items))
        return found


def item(line: Line, count: Estimator, why: str | None = None) -> ContextItem:
    """A line as it stands on the bill."""
    return ContextItem(ref=line.ref, tokens=count(line.text), score=line.score, source=line.source, why=why)


def _only(contents: Contents, kept: dict[Section, list[int]]) -> Contents:
    """The contents with the items at these places."""
    some = {
        name: tuple(getattr(contents, name)[place] for place in kept.get(name, ()))
        for name in SECTIONS
        if name != "state"
    }
    return Contents(**some, state=contents.state if kept.get("state") else "")

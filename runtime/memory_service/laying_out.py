"""Memory laid out in sections: facts, exchanges, summaries, the plan and fitting tools, with their bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.events import ContextItem
from runtime.facts import Fact
from runtime.memory.candidates import Block, Candidate, unsound
from runtime.memory.contents import SECTIONS, Contents, Dated, Passage, Recommended, Section
from runtime.memory.fence import Fence
from runtime.memory.item_injection import blocks_warning
from runtime.memory.packing import NOTHING, Size, measure
from runtime.memory.section_rules import Layout
from runtime.memory.two_parts import TwoParts, place_in_two
from runtime.memory_service.indexes import FactIndex
from runtime.memory_service.injecting import Wish, before_others
from runtime.memory_service.laid_out import LaidOut, Line, Lines, Pinned, item
from runtime.memory_service.shared import Beside, ForContext
from runtime.memory_service.showing import candidate, ref_of, rules_of

BY_QUESTION: frozenset[Section] = frozenset({"passages", "tools"})
"""Sections that the question chooses."""


async def lay_out(
    config: Any,
    facts: Sequence[Fact],
    episodes: Sequence[Candidate],
    index: FactIndex,
    wish: Wish,
    beside: Beside,
) -> ForContext:
    """The sections in their order; older messages of this session come before past exchanges.

    Facts that all fit stay where they are; else those come that fit the question best, and are sent with it.
    """
    work = _LayingOut(config, wish, [*facts], [*beside.passages, *episodes], beside)
    placed = work.place(work.facts, BY_QUESTION)
    if len(work.facts) > 1 and work.lacks_facts(placed):
        ranked = await index.rank(work.facts, wish.query, wish.now, wish.count)
        work.facts = before_others(ranked, wish.first)
        placed = work.place(work.facts, BY_QUESTION | {"known_facts", "insights"})
    return work.laid_out(placed).context()


class _LayingOut:
    """One layout. What is not sent whole is sent late, so that what stays before it stays as it was."""

    def __init__(
        self, config: Any, wish: Wish, facts: list[Fact], episodes: list[Candidate], beside: Beside
    ) -> None:
        self.config, self.wish, self.beside = config, wish, beside
        self.layout = layout_of(config.supporting)
        self.fence, self.limits = Fence(), rules_of(config.injection).limits(wish.supporting)
        blocks = [Block(block.name, block.content, block.order) for block in config.blocks]
        self.blocks = self.fence.blocks(blocks)
        self.blocks_size = measure(self.blocks, wish.count) if self.blocks else NOTHING
        self.bad: list[ContextItem] = []
        self.facts = [fact for fact in facts if self._sound(candidate(fact))]
        self.episodes = [each for each in episodes if self._sound(each)]
        self.late: frozenset[Section] = frozenset()
        self.lines: Lines = {}

    def _sound(self, item: Candidate) -> bool:
        why = unsound(item, self.wish.now, self.config.injection.min_confidence)
        if why is not None:
            source = f"{item.origin} {item.source}".strip()
            self.bad.append(
                ContextItem(ref=item.ref, tokens=self.wish.count(item.text), source=source, why=why)
            )
        return why is None

    def place(self, facts: Sequence[Fact], late: frozenset[Section]) -> TwoParts:
        """Place everything; a section that would be cut is sent late, whatever is in it."""
        self.lines = self._lines(facts)
        contents = self._contents(facts)
        while True:
            self.late = late
            placed = place_in_two(contents, self.layout, late, self._exceeds, self.fence)
            if placed.cut <= late:
                return placed
            late |= placed.cut

    def lacks_facts(self, placed: TwoParts) -> bool:
        """Whether some fact of a section that is sent is not."""
        of_facts: tuple[Section, ...] = ("known_facts", "insights")
        sent = [name for name in of_facts if name in self.layout.order]
        return any(placed.shown.get(name, 0) < len(self.lines[name]) for name in sent)

    def _exceeds(self, texts: Sequence[str]) -> str | None:
        room = self.limits.less(self.blocks_size)
        over = room.exceeded(self._size(texts))
        return over or (self.limits.exceeded(self._size([self.blocks, *texts])) if self.blocks else None)

    def _size(self, texts: Sequence[str]) -> Size:
        sent = [text for text in texts if text]
        together = measure("\n\n".join(sent), self.wish.count) if sent else NOTHING
        return together._replace(tokens=max(together.tokens, sum(map(self.wish.count, sent))))

    def _lines(self, facts: Sequence[Fact]) -> Lines:
        lines: Lines = {name: [] for name in SECTIONS}
        for fact in facts:
            name: Section = "insights" if fact.origin == "derived" else "known_facts"
            lines[name].append(Line(ref_of(fact), candidate(fact).text, fact.origin))
        for each in self.episodes:
            source = f"{each.origin} {each.source}".strip()
            lines["passages"].append(Line(each.ref, each.text, source, each.score))
        newest_first = list(enumerate(self.beside.summaries))[::-1]
        lines["summaries"] = [Line(f"summary/{number}", text) for number, text in newest_first]
        lines["tools"] = [Line(f"hint/{tool.name}", tool.reason) for tool in self._tools]
        lines["state"] = [Line("plan", self.beside.state)] if self.beside.state else []
        return lines

    @property
    def _tools(self) -> tuple[Recommended, ...]:
        return recommended(self.beside, self.wish.query) if "tools" in self.layout.order else ()

    def _contents(self, facts: Sequence[Fact]) -> Contents:
        told = tuple(_with_source(fact) for fact in facts if fact.origin != "derived")
        derived = [fact for fact in facts if fact.origin == "derived"]
        return Contents(
            known_facts=told,
            passages=tuple(_passage(each) for each in self.episodes),
            insights=tuple(Dated(_with_source(fact), _day(candidate(fact))) for fact in derived),
            summaries=tuple(Dated(line.text) for line in self.lines["summaries"]),
            tools=self._tools,
            state=self.beside.state,
        )

    def laid_out(self, placed: TwoParts) -> LaidOut:
        """What came of it."""
        return LaidOut(
            layout=self.layout,
            fence=self.fence,
            count=self.wish.count,
            blocks=Pinned(
                self.blocks, self.blocks_size.tokens, tuple(block.name for block in self.config.blocks)
            ),
            contents=self._contents(self.facts),
            lines=self.lines,
            placed=placed,
            late=self.late,
            facts=tuple(self.facts),
            episodes=tuple(self.episodes),
            left_out=(*self._left_out(placed), *self.bad),
            warnings=self._warnings(),
        )

    def _warnings(self) -> tuple[str, ...]:
        over = self.limits.exceeded(self.blocks_size)
        found = () if over is None else (blocks_warning(over),)
        most = self.config.blocks_max_tokens
        if self.blocks_size.tokens <= most:
            return found
        return (*found, f"the pinned blocks are larger than blocks_max_tokens {most}")

    def _left_out(self, placed: TwoParts) -> list[ContextItem]:
        found = []
        stopped = False
        for name in (*self.layout.order, *(name for name in SECTIONS if name not in self.layout.order)):
            lines, shown = self.lines[name], placed.shown.get(name, 0)
            most = placed.total.get(name, 0)
            for place, line in enumerate(lines[shown:], shown):
                why = "section_priority" if name not in self.layout.order else "max_items"
                if place < most:
                    why = "stopped" if stopped else placed.over or "stopped"
                found.append(item(line, self.wish.count, why))
            stopped = stopped or name in placed.cut
        return found


def layout_of(supporting: Any) -> Layout:
    """The Memory's `supporting` settings for the arithmetic."""
    most = {name: getattr(supporting.max_items, name, None) for name in SECTIONS}
    headings = {name: getattr(supporting.headings, name) for name in SECTIONS}
    return Layout(
        ratio=supporting.ratio,
        order=SECTIONS if supporting.section_priority is None else supporting.section_priority,
        max_items={name: number for name, number in most.items() if number is not None},
        style=supporting.style or "plain",
        headings={name: text for name, text in headings.items() if text},
    )


def _day(item: Candidate) -> str:
    return item.at.strftime(Fence().time_format) if item.at else ""


def _with_source(fact: Fact) -> str:
    item = candidate(fact)
    return f"{item.text} [{fact.origin}, {_day(item)}, {fact.confidence:.2f}]"


def _passage(item: Candidate) -> Passage:
    source = f"{item.origin} {item.source}".strip() or "memory"
    return Passage(item.text, source, _day(item), item.score or 0.0)


def recommended(beside: Beside, query: str) -> tuple[Recommended, ...]:
    """Tools that share words with the question, those with most of its words first."""
    from runtime.memory.finding.tokens import Tokens

    tokens = Tokens()
    wanted = frozenset(tokens.terms(query))
    found = []
    for tool in beside.tools:
        words = frozenset(tokens.terms(f"{tool.name.replace('_', ' ')} {tool.description}"))
        if wanted & words:
            reason = tool.description.partition(". ")[0].strip() or tool.name
            found.append(Recommended(tool.name, reason, score=len(wanted & words) / len(wanted)))
    return tuple(sorted(found, key=lambda tool: (-tool.score, tool.name)))

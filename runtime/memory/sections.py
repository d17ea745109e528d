"""Places what was selected into sections, the most important first, within the supporting budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from runtime.memory.contents import Contents, Section, section_text, titled
from runtime.memory.estimate import Estimator
from runtime.memory.fence import Fence, escape
from runtime.memory.section_rules import Layout, SectionReport, Supporting
from runtime.memory.structured import place_structured

HEADING_LINES = 2
"""How many lines a section's heading takes, with the empty line before it."""


def place(
    contents: Contents,
    budget: int | None,
    count: Estimator,
    layout: Layout | None = None,
    fence: Fence | None = None,
) -> Supporting:
    """Place sections in order while they fit into `budget` tokens (None: no limit; 0 or less: nothing).

    The first section that does not fit is cut, by whole lines of text or whole items of JSON and XML, and
    nothing comes after it.
    """
    layout = layout or Layout()
    if layout.style in ("json", "xml"):
        return place_structured(contents, budget, count, layout, fence or Fence())
    placer = _Placer(layout, budget, count, fence or Fence())
    texts = [(name, placer.write(name, contents)) for name in layout.order]
    for name, text in texts:
        if text:
            placer.add(name, text)
    sent = placer.sent(placer.shown)
    return Supporting(sent, count(sent) if sent else 0, tuple(placer.report))


class _Placer:
    """Sections placed so far; `ended` once one did not fit."""

    def __init__(self, layout: Layout, budget: int | None, count: Estimator, fence: Fence) -> None:
        self.layout, self.budget, self.count, self.fence = layout, budget, count, fence
        self.shown: list[str] = []
        self.report: list[SectionReport] = []
        self.used = 0
        self.ended = budget is not None and budget <= 0
        self.rendered = layout.accounting == "rendered"

    def write(self, name: Section, contents: Contents) -> str:
        quote = self._quoted if self.rendered else str
        text = section_text(name, contents, self.layout.most(name), self.layout.style, quote)
        heading = self.layout.headings.get(name)
        return titled(text, quote(heading)) if heading else text

    def _quoted(self, text: str) -> str:
        return escape(text).replace("\n", "\n" + self.fence.indent)

    def sent(self, sections: Sequence[str]) -> str:
        """The text of some sections as it would be sent."""
        body = "\n".join(sections)
        if not self.rendered:
            return body
        return self.fence.frame(self.layout.header, body.strip("\n").split("\n")) if sections else ""

    def add(self, name: Section, text: str) -> None:
        tokens = self.count(text)
        self.ended = self.ended or (self.budget is not None and self.used >= self.budget)
        shown = "" if self.ended else self._fitted(text)
        if shown:
            self.shown.append(shown)
            self.used = self.count(self.sent(self.shown)) if self.rendered else self.used + self.count(shown)
        self.ended = self.ended or shown != text
        status: Literal["full", "cut", "dropped"] = "full" if shown == text else "cut" if shown else "dropped"
        self.report.append(SectionReport(name, status, tokens, self.count(shown) if shown else 0))

    def _fitted(self, text: str) -> str:
        """The section, or its first lines, or nothing."""
        if self.budget is None:
            return text
        if not self.rendered:
            room = self.budget - self.used
            return text if self.count(text) <= room else self._first_lines(text, room)
        return text if self._fits(text) else self._most_lines(text)

    def _fits(self, text: str) -> bool:
        return self.budget is None or self.count(self.sent([*self.shown, text])) <= self.budget

    def _first_lines(self, text: str, room: int) -> str:
        """Lines counted each with its break; a heading that does not fit is left out, the marker is free."""
        kept: list[str] = []
        for index, line in enumerate(text.split("\n")):
            cost = self.count(line + "\n")
            if cost <= room:
                kept.append(line)
                room -= cost
            elif index >= HEADING_LINES:
                break
        return "\n".join([*kept, self.layout.marker] if len(kept) > HEADING_LINES else kept)

    def _most_lines(self, text: str) -> str:
        """As many lines as fit with the marker, at least one below the headings; else nothing."""
        lines = text.split("\n")
        for end in range(len(lines) - 1, HEADING_LINES - 1, -1):
            body = [line for line in lines[:end] if line]
            if not body or body[-1].startswith("#") or body[-1].startswith("|--"):
                continue
            cut = "\n".join([*lines[:end], self.layout.marker])
            if self._fits(cut):
                return cut
        return ""

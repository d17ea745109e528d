"""Sections of the supporting context as two texts: what stays from turn to turn, and what the question chose.

Each section is added while all that is sent fits; the first that does not is cut by whole items, and nothing
comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from runtime.memory.contents import Contents, Section, section_text, titled
from runtime.memory.fence import Fence, escape
from runtime.memory.section_rules import Layout
from runtime.memory.structured import Entry, as_json, as_xml, items_of

Exceeds = Callable[[Sequence[str]], str | None]
"""The limit that these texts exceed where they are sent, or None."""


class TwoParts(msgspec.Struct, frozen=True):
    """`early` stays while nothing in it changes, `late` is sent with the question. `shown`: how many items of
    each section are sent; `total`: how many there are, up to its most. `over`: the limit that ended it."""

    early: str
    late: str
    shown: dict[Section, int]
    total: dict[Section, int]
    over: str | None = None

    @property
    def cut(self) -> frozenset[Section]:
        """Sections that are not sent whole."""
        return frozenset(name for name, total in self.total.items() if self.shown.get(name, 0) < total)


def place_in_two(
    contents: Contents, layout: Layout, late: frozenset[Section], exceeds: Exceeds, fence: Fence
) -> TwoParts:
    """Place sections in order; those of `late` go into the later text. Deterministic."""
    writer = Writer(contents, layout, late, fence)
    total = {name: len(items_of(name, contents, layout.most(name))) for name in layout.order}
    shown: dict[Section, int] = {}
    over: str | None = None
    for name in (name for name in layout.order if total[name]):
        over = exceeds(writer.texts({**shown, name: total[name]}, total))
        if over is None:
            shown[name] = total[name]
            continue
        number = _most(lambda n: exceeds(writer.texts({**shown, name: n}, total)) is None, total[name])  # noqa: B023
        shown[name] = number
        break
    early, later = writer.texts(shown, total)
    return TwoParts(early, later, shown, {name: n for name, n in total.items() if n}, over)


def _most(fits: Callable[[int], bool], total: int) -> int:
    """The largest number below `total` that fits, 0 where none does; larger ones are taken not to fit where
    one does not, and what is found does."""
    low, high = 0, total
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


class Writer:
    """Writes any number of items of each section."""

    def __init__(self, contents: Contents, layout: Layout, late: frozenset[Section], fence: Fence) -> None:
        self.contents, self.layout, self.late, self.fence = contents, layout, late, fence

    def texts(self, shown: dict[Section, int], total: dict[Section, int]) -> tuple[str, str]:
        """Both texts, each in its fence; empty where nothing is in it."""
        names = [name for name in self.layout.order if shown.get(name)]
        early = [name for name in names if name not in self.late]
        later = [name for name in names if name in self.late]
        return self._text(early, shown, total), self._text(later, shown, total)

    def _text(self, names: Sequence[Section], shown: dict[Section, int], total: dict[Section, int]) -> str:
        if not names:
            return ""
        if self.layout.style in ("json", "xml"):
            entries = [
                Entry(name, item) for name in names for item in items_of(name, self.contents, shown[name])
            ]
            body = (as_json if self.layout.style == "json" else as_xml)(entries)
            return self.fence.frame(self.layout.header, [body])
        sections = [self._section(name, shown[name], cut=shown[name] < total[name]) for name in names]
        return self.fence.frame(self.layout.header, "\n".join(sections).strip("\n").split("\n"))

    def _section(self, name: Section, number: int, *, cut: bool) -> str:
        text = section_text(name, self.contents, number, self.layout.style, self._quoted)
        heading = self.layout.headings.get(name)
        text = titled(text, self._quoted(heading)) if heading else text
        return f"{text}\n{self.layout.marker}" if cut else text

    def _quoted(self, text: str) -> str:
        return escape(text).replace("\n", "\n" + self.fence.indent)

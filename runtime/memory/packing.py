"""Packing into limits of tokens, lines and bytes: what fits is shown, what does not is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from runtime.memory.clip import MARKER, clip
from runtime.memory.estimate import Estimator

Overflow = Literal["skip", "truncate", "stop"]
"""What happens to an item that does not fit: it is passed over, its beginning ends the list, it ends it."""

Status = Literal["full", "truncated", "dropped"]


class Size(NamedTuple):
    """How large a text is; `bytes` in UTF-8."""

    tokens: int
    lines: int
    bytes: int


NOTHING = Size(0, 0, 0)


def measure(text: str, count: Estimator) -> Size:
    """The size of `text`; an empty text has no lines."""
    return Size(count(text), text.count("\n") + 1 if text else 0, len(text.encode("utf-8", "surrogatepass")))


class Limits(msgspec.Struct, frozen=True):
    """Most tokens, lines and bytes; None sets no limit."""

    tokens: int | None = 1500
    lines: int | None = 200
    bytes: int | None = 25_000

    def exceeded(self, size: Size) -> str | None:
        """The first limit that `size` exceeds: `tokens`, `lines` or `bytes`."""
        pairs = zip(("tokens", "lines", "bytes"), (self.tokens, self.lines, self.bytes), size, strict=True)
        return next((name for name, most, used in pairs if most is not None and used > most), None)

    def less(self, size: Size) -> Limits:
        """What is left after `size`; may be negative."""
        mosts = (self.tokens, self.lines, self.bytes)
        left = [None if most is None else most - used for most, used in zip(mosts, size, strict=True)]
        return Limits(*left)

    def least(self, other: Limits) -> Limits:
        """The smaller of both for each."""
        pairs = (
            (self.tokens, other.tokens),
            (self.lines, other.lines),
            (self.bytes, other.bytes),
        )
        return Limits(*[min((most for most in pair if most is not None), default=None) for pair in pairs])

    @property
    def open(self) -> bool:
        """Whether something is left of every limit."""
        return all(most is None or most > 0 for most in (self.tokens, self.lines, self.bytes))


class Item(msgspec.Struct, frozen=True):
    """Something to be packed, with its own size."""

    ref: str
    text: str
    size: Size


class Placed(msgspec.Struct, frozen=True):
    """What became of an item. `shown` is what is sent of it; `reason` says why it is not sent whole.

    Reasons: `tokens`, `lines`, `bytes` name the limit that it exceeds, `stopped` that the list had ended.
    """

    ref: str
    status: Status
    shown: str | None
    reason: str | None
    size: Size


def pack(
    items: Sequence[Item],
    limits: Limits,
    overflow: Overflow,
    *,
    chars_per_token: int = 4,
    marker: str = MARKER,
) -> tuple[Placed, ...]:
    """Pack by the items' own sizes; headings, separators and the marker are not counted.

    With `truncate` the first misfit is cut to `chars_per_token` code points for each token that is left, if
    something is left, or if nothing is shown yet.
    """
    placed: list[Placed] = []
    room, ended, shown = limits, False, False
    for item in items:
        over = room.exceeded(item.size)
        if ended:
            placed.append(Placed(item.ref, "dropped", None, "stopped", item.size))
        elif over is None:
            placed.append(Placed(item.ref, "full", item.text, None, item.size))
            room, shown = room.less(item.size), True
        elif overflow == "truncate" and (room.open or not shown):
            beginning = _beginning(item.text, room, chars_per_token).rstrip() + marker
            placed.append(Placed(item.ref, "truncated", beginning, over, item.size))
            ended = True
        else:
            placed.append(Placed(item.ref, "dropped", None, over, item.size))
            ended = overflow != "skip"
    return tuple(placed)


def _beginning(text: str, room: Limits, chars_per_token: int) -> str:
    """The beginning of `text` that takes what is left of each limit."""
    if room.tokens is not None:
        text = text[: max(0, room.tokens) * chars_per_token]
    if room.lines is not None:
        text = "\n".join(text.split("\n")[: max(0, room.lines)])
    if room.bytes is not None:
        text = text.encode("utf-8", "surrogatepass")[: max(0, room.bytes)].decode("utf-8", "ignore")
    return text


def pack_rendered(
    items: Sequence[Item],
    line_of: Callable[[int, str], str],
    room: Callable[[Sequence[str]], Limits],
    overflow: Overflow,
    *,
    marker: str = MARKER,
    slack_tokens: int = 8,
) -> tuple[Placed, ...]:
    """Pack by the size of the whole text that would be sent, so that nothing escapes the count.

    `items` have the sizes of their lines. `line_of(index, text)` renders an item; `room(lines)` says what is
    left once these lines are sent in their frame, negative where they do not fit. An item that alone is more
    than `slack_tokens` above what is left is not tried: no counter joins texts that well.
    """
    placed: list[Placed] = []
    lines: list[str] = []
    left = room(lines)
    ended = False
    for index, item in enumerate(items):
        if ended:
            placed.append(Placed(item.ref, "dropped", None, "stopped", item.size))
            continue
        line = line_of(index, item.text)
        least = item.size._replace(tokens=max(0, item.size.tokens - slack_tokens))
        over = left.exceeded(least)
        after = room([*lines, line]) if over is None else left
        over = over or after.exceeded(NOTHING)
        cut: str | None = None
        if over is not None and overflow == "truncate":
            fitting = partial(_fits, index, lines, line_of, room)
            cut = clip(item.text, fitting, marker)
        if over is None or cut is not None:
            line = line if cut is None else line_of(index, cut)
            lines.append(line)
            left = after
        ended = over is not None and overflow != "skip"
        status: Status = "full" if over is None else "dropped" if cut is None else "truncated"
        placed.append(Placed(item.ref, status, None if status == "dropped" else line, over, item.size))
    return tuple(placed)


def _fits(
    index: int,
    lines: Sequence[str],
    line_of: Callable[[int, str], str],
    room: Callable[[Sequence[str]], Limits],
    text: str,
) -> bool:
    return room([*lines, line_of(index, text)]).exceeded(NOTHING) is None

"""Packing into limits of tokens, lines and bytes: what fits is shown, what does not is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

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


def measure(text: str, count: Estimator) -> Size:
    """The size of `text`; an empty text has no lines."""
    return Size(count(text), text.count("\n") + 1 if text else 0, len(text.encode("utf-8", "surrogatepass")))


@dataclass(frozen=True, slots=True)
class Limits:
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

    @property
    def open(self) -> bool:
        """Whether something is left of every limit."""
        return all(most is None or most > 0 for most in (self.tokens, self.lines, self.bytes))


class Item(NamedTuple):
    """Something to be packed, with its own size."""

    ref: str
    text: str
    size: Size


class Placed(NamedTuple):
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
    exceeded: Callable[[Sequence[str]], str | None],
    overflow: Overflow,
    *,
    marker: str = MARKER,
) -> tuple[Placed, ...]:
    """Pack by the size of the whole text that would be sent, so that nothing escapes the count.

    `line_of(index, text)` renders an item; `exceeded(lines)` names the limit that all of them together in
    their frame exceed.
    """
    placed: list[Placed] = []
    lines: list[str] = []
    ended = False
    for index, item in enumerate(items):
        line = line_of(index, item.text)
        over = "stopped" if ended else exceeded([*lines, line])
        status: Status = "full" if over is None else "dropped"
        if over is not None and not ended and overflow != "skip":
            ended = True
            cut = (
                _clipped(index, item.text, lines, line_of, exceeded, marker)
                if overflow == "truncate"
                else None
            )
            status, line = ("truncated", line_of(index, cut)) if cut is not None else ("dropped", line)
        if status != "dropped":
            lines.append(line)
        placed.append(Placed(item.ref, status, line if status != "dropped" else None, over, item.size))
    return tuple(placed)


def _clipped(
    index: int,
    text: str,
    lines: Sequence[str],
    line_of: Callable[[int, str], str],
    exceeded: Callable[[Sequence[str]], str | None],
    marker: str,
) -> str | None:
    """The longest beginning of `text` that still fits when rendered; None where not even the marker does."""
    return clip(text, lambda part: exceeded([*lines, line_of(index, part)]) is None, marker)

"""Kept timelines: a run is compared with what was looked at and kept, and the difference is made readable."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import msgspec

from runtime.testing.bench import Ran

KEEP = "FARTHING_KEEP_TIMELINES"
"""Environment variable: when set, `assert_timeline` keeps today's timelines instead of comparing."""
SHOWN_LINES = 60
"""Lines of a difference that are shown."""
SHOWN_CHARS = 120
"""Characters of a value that are shown."""
Timeline = Sequence[Mapping[str, Any]]


def assert_timeline(ran: Ran, kept: Path | str | Timeline, *, keep: bool | None = None) -> None:
    """Raises AssertionError where a run's golden timeline is not the kept one, with the difference by event.

    `kept` is a JSON file, or the timeline itself. `keep` writes today's timeline to the file instead of
    comparing; null: as the environment variable FARTHING_KEEP_TIMELINES says. Look at the file's own
    difference before you commit it.
    """
    now = ran.timeline()
    if not isinstance(kept, (str, Path)):
        _compare(kept, now, "the expected timeline")
        return
    path = Path(kept)
    if bool(os.environ.get(KEEP)) if keep is None else keep:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(now), indent=1) + b"\n")
        return
    if not path.is_file():
        raise AssertionError(f"There is no kept timeline {path}. Keep today's with {KEEP}=1, and look at it.")
    _compare(msgspec.json.decode(path.read_bytes()), now, str(path))


def _compare(kept: Timeline, now: Timeline, where: str) -> None:
    lines = difference(kept, now)
    if not lines:
        return
    more = len(lines) - SHOWN_LINES
    shown = [*lines[:SHOWN_LINES], *([f"… and {more} more lines"] if more > 0 else [])]
    raise AssertionError(
        f"The timeline is not that of {where}:\n\n"
        + "\n".join(shown)
        + f"\n\n- kept, + now. If the change is meant, keep it with {KEEP}=1, and look at it."
    )


def difference(kept: Timeline, now: Timeline) -> list[str]:
    """Lines that say what differs, by event: lost ones with -, new ones with +, changed fields below theirs.

    Empty where the timelines are the same.
    """
    lines: list[str] = []
    matcher = SequenceMatcher(None, [_name(e) for e in kept], [_name(e) for e in now], autojunk=False)
    for what, i, end, j, end_now in matcher.get_opcodes():
        if what == "equal":
            for old, new in zip(kept[i:end], now[j:end_now], strict=True):
                changed = list(_changes(old, new))
                if changed:
                    lines += [f"  {_name(new)}", *changed]
            continue
        lines += [f"- {_name(event)}{_rest(event)}" for event in kept[i:end]]
        lines += [f"+ {_name(event)}{_rest(event)}" for event in now[j:end_now]]
    return lines


NAMING = ("node_id", "step", "type", "tool", "name", "code")
"""What an event is recognised by, in the order in which a line names it."""


def _name(event: Mapping[str, Any]) -> str:
    """How an event is recognised: node, step, type, and what it is about."""
    parts = [str(event[field]) for field in NAMING if event.get(field) is not None]
    return " · ".join(parts)


def _rest(event: Mapping[str, Any]) -> str:
    """The other fields of an event, shortened."""
    rest = {key: value for key, value in event.items() if key not in NAMING}
    return f"  {_short(rest)}" if rest else ""


def _changes(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Two lines for each value that differs, by its path."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys([*old, *new]):
            yield from _changes(old.get(key, ABSENT), new.get(key, ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _changes(one, other, f"{path}[{index}]")
    elif old is ABSENT or new is ABSENT or old != new:
        yield f"-     {path}: {_short(old)}"
        yield f"+     {path}: {_short(new)}"


class _Absent:
    """Stands for a field that is not there."""


ABSENT = _Absent()


def _short(value: Any) -> str:
    """A value as JSON on one line, with a mark where it was cut."""
    if value is ABSENT:
        return "(absent)"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"

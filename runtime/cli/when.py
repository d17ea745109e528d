"""Times on the command line: what people type, and how times are shown. All are UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_when(text: str, now: datetime) -> datetime:
    """A point in time: `2026-03-01`, `2026-03-01T12:00`, `today`, `yesterday`, or `7d` (so long ago).

    Without a zone it is UTC. Raises ValueError.
    """
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    word = text.strip().lower()
    if word in {"today", "yesterday", "now"}:
        return {"today": today, "yesterday": today - timedelta(days=1), "now": now}[word]
    ago = _AGO.fullmatch(word)
    try:
        if ago:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        at = datetime.fromisoformat(text.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no time; write 2026-03-01, 2026-03-01T12:00, today or 7d.") from None


class When(click.ParamType[datetime]):
    """A time as an option's value."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            return parse_when(str(value), datetime.now(UTC))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def stamp(at: datetime) -> str:
    """`2026-03-01 12:00`, UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def duration(ms: int | None) -> str:
    """`85 ms`, `1.2 s`, `2 m 05 s`, `3 h 04 m`."""
    if ms is None:
        return ""
    if ms < 1000:
        return f"{ms} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(ms // 1000, 60)
    if minutes < 60:
        return f"{minutes} m {seconds:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} m"

"""Times on the command line: what people type, and how times are shown. In UTC, or as
`[display]` of the settings says in the zone of this machine."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from runtime.cli.display import display

_AGO = re.compile(r"(\d{1,6})([mhdw])")
_DAYS = {"today": 0, "yesterday": 1}
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_when(text: str, now: datetime) -> datetime:
    """A point in time, in UTC: `2026-03-01`, `2026-03-01T12:00`, `today`, `yesterday`, or `7d` (so long ago).

    Without a zone it is in the one in which times are shown. Raises ValueError.
    """
    word = text.strip().lower()
    ago = _AGO.fullmatch(word)
    try:
        if word in _DAYS:
            today = zoned(now).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
            return _in_utc(today - timedelta(days=_DAYS[word]))
        if word == "now":
            return now
        if ago:
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return _in_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError, OSError):  # what no clock of this machine can show
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


def _in_utc(at: datetime) -> datetime:
    if at.tzinfo is None and not local():
        return at.replace(tzinfo=UTC)
    return at.astimezone(UTC)  # without a zone it is taken as the machine's


def local() -> bool:
    """Whether times are those of this machine's zone."""
    return display().times == "local"


def zone() -> str:
    """What is written beside times: `UTC` or `local`."""
    return "local" if local() else "UTC"


def zoned(at: datetime) -> datetime:
    """A time in the zone in which times are shown."""
    return at.astimezone(None if local() else UTC)


def stamp(at: datetime) -> str:
    """`2026-03-01 12:00`, in the zone in which times are shown."""
    return f"{zoned(at):%Y-%m-%d %H:%M}"


def stamp_utc(at: datetime) -> str:
    """`2026-03-01 12:00` in UTC, for what other people read elsewhere."""
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

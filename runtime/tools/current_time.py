"""The built-in tool `current_time`: the run's clock, in UTC and in a named zone."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from runtime.errors import InputError
from runtime.tools.function import ToolContext, tool


@tool(effect="none", timeout_s=5)
def current_time(context: ToolContext, zone: str = "UTC") -> dict[str, Any]:
    """Tell the date, the time and the day of the week now.

    Args:
        zone: IANA name of a time zone, such as Europe/Berlin.
    """
    now = context.clock.now()
    try:
        there = now.astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(
            f"There is no time zone {zone[:60]!r}; write one as Europe/Berlin or UTC.",
            code="tool.bad_arguments",
        ) from None
    return {
        "local": there.isoformat(timespec="seconds"),
        "weekday": DAYS[there.weekday()],
        "zone": zone,
        "utc": now.isoformat(timespec="seconds"),
    }


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""Not the locale's: the same run gives the same text everywhere."""

"""A clock of another time than the machine's, the same in every process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

from runtime.clock import SystemClock


class ShiftedClock(SystemClock):
    """The machine's clock, so many seconds on."""

    def __init__(self, seconds: float) -> None:
        self.now = partial(_later, timedelta(seconds=seconds))


def _later(shift: timedelta) -> datetime:
    return datetime.now(UTC) + shift

"""How much a template may do, and the meter that counts it while it runs."""

from __future__ import annotations

import time

import msgspec

CHECK_EVERY = 1_000
"""Steps between two looks at the clock."""
CHARS_PER_STEP = 100
"""Characters that one step may read or build."""


class TemplateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one template or condition. Reaching one is an error that names it."""

    text_chars: int = 100_000
    """Length of the template's own text, where it has marks; reading it takes at most 10 µs a character."""
    output_chars: int = 1_000_000
    """Length of what it renders to, and of any text that it builds on the way."""
    steps: int = 250_000
    """Elementary operations: a turn of a loop, an operator, an item looked at, 100 characters built."""
    cpu_s: float = 1.0
    """Seconds of this thread's processor time; a slow machine does not use them up by waiting."""
    depth: int = 60
    """Nesting of blocks and expressions, and of values that are written as JSON."""
    number_bits: int = 1_024
    """Size of a whole number that arithmetic gives."""


LIMITS = TemplateLimits()


class Wrong(Exception):
    """What a template does cannot be done. Becomes a TemplateFailure with its line."""

    def __init__(self, message: str, remedy: str = "Change the template.", code: str = "failed") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = f"template.{code}"


class Missing(Wrong):
    """A name or field that is not there; `default` and `is defined` catch it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message, remedy, "missing")


class Meter:
    """Counts what one rendering does and stops it at a limit. Used by one thread, once."""

    __slots__ = ("_check_at", "_deadline", "_left", "limits")

    def __init__(self, limits: TemplateLimits) -> None:
        self.limits = limits
        self._left = limits.steps
        self._check_at = max(0, limits.steps - CHECK_EVERY)
        self._deadline = 0.0

    def spend(self, steps: int = 1) -> None:
        """Count so many steps."""
        self._left -= steps
        if self._left < self._check_at:
            self._check()

    def text(self, chars: int) -> None:
        """Count a text of so many characters that is about to be built."""
        if chars > self.limits.output_chars:
            raise reached("output_chars", self.limits.output_chars, "characters")
        self.spend(1 + chars // CHARS_PER_STEP)

    def _check(self) -> None:
        if self._left < 0:
            raise reached("steps", self.limits.steps, "steps")
        now = time.thread_time()
        if not self._deadline:
            # The first look comes after CHECK_EVERY steps, so short templates never ask the clock.
            self._deadline = now + self.limits.cpu_s
        elif now > self._deadline:
            raise reached("cpu_s", self.limits.cpu_s, "seconds of processor time")
        self._check_at = max(0, self._left - CHECK_EVERY)


def reached(name: str, limit: float, unit: str) -> Wrong:
    """The error of a limit."""
    return Wrong(
        f"it reaches the limit {name} of {limit:,} {unit}",
        "Make the template do less, or pass it less.",
        "limit",
    )

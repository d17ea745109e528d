"""What a rendering has in hand while it runs, and what compiling one needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.template.limits import Meter, reached

Give = Callable[["Frame"], Any]
"""A compiled expression."""
Do = Callable[["Frame"], None]
"""A compiled statement."""


class Frame:
    """The names in sight, the meter, the text so far, and the line that is being done."""

    __slots__ = ("line", "meter", "names", "out", "size")

    def __init__(self, names: Mapping[str, Any], meter: Meter) -> None:
        self.names: dict[str, Any] = dict(names)
        self.meter = meter
        self.out: list[str] = []
        self.size = 0
        self.line = 1

    def write(self, text: str) -> None:
        """Add to the text. Raises Wrong at the limit of output."""
        self.size += len(text)
        if self.size > self.meter.limits.output_chars:
            raise reached("output_chars", self.meter.limits.output_chars, "characters")
        self.out.append(text)

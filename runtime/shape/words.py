"""How bounds and lengths are said."""

from __future__ import annotations


def plain(bound: float) -> str:
    """A bound in all its digits."""
    return f"{int(bound):,}" if bound == int(bound) else repr(bound)


def length_words(length: int, least: int | None, most: int | None, unit: str = "character") -> str:
    """What is wrong with a length that is below `least` or above `most`."""
    if least is not None and length < least:
        return f"at least {least:,} {unit}{' belongs' if least == 1 else 's belong'} here"
    return f"{length:,} {unit}s are too many: at most {most:,}"

"""What a call used: the five numbers, and money as integer nano-dollars (1 $ = 1,000,000,000)."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, InvalidOperation

import msgspec

from runtime.errors import BadConfig

NANO = 1_000_000_000
MAX_NANOS = 2**63 - 1
"""The largest amount of nano-dollars or tokens: what a database keeps in a whole number."""
WRITE_DOLLARS = "Write dollars such as 0.50, with 9 decimals at most."
WRITE_TOKENS = "Write a whole number such as 20000."


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one call or a sum of calls.

    `input` includes `cached` (read from the provider's cache) and `cache_write`; `output` includes
    `reasoning`. All are counts of tokens, never negative.
    """

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def tokens(self) -> int:
        """What a token budget counts: input + output."""
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


def parse_money(value: object, *, field: str = "limit") -> int:
    """Nano-dollars of a decimal string or a JSON number, exactly; at most 9 decimals.

    Raises BadConfig for anything that is not a finite, non-negative amount that fits 64 bits.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise BadConfig(
            f"{field} must be an amount of dollars such as 0.50, not {_shown(value)}.", remedy=WRITE_DOLLARS
        )
    try:
        # str() of a float is its shortest exact spelling: 0.1 is read as 0.1, not as its binary neighbour.
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        raise BadConfig(
            f"{field} must be an amount of dollars such as 0.50, not {_shown(value)}.", remedy=WRITE_DOLLARS
        ) from None
    if not amount.is_finite() or amount < 0:
        raise BadConfig(
            f"{field} must be zero or more and finite, not {_shown(value)}.", remedy=WRITE_DOLLARS
        )
    if amount > Decimal(MAX_NANOS) / NANO:
        raise BadConfig(
            f"{field} is too large: {_shown(value)}.", remedy=f"Give at most {MAX_NANOS // NANO:,} dollars."
        )
    exponent = amount.normalize().as_tuple().exponent
    if isinstance(exponent, int) and exponent < -9:
        raise BadConfig(
            f"{field} has more than 9 decimals: {_shown(value)}.", remedy="Round it to 9 decimals."
        )
    return int(amount * NANO)


def parse_count(value: object, *, field: str = "limit") -> int:
    """A whole number of tokens, as a number or a decimal text. Raises BadConfig for anything else."""
    try:
        amount = Decimal(str(value).strip().replace("_", ""))
    except InvalidOperation:
        amount = Decimal("NaN")
    if (
        isinstance(value, bool)
        or not amount.is_finite()
        or amount < 0
        or amount != amount.to_integral_value()
    ):
        raise BadConfig(
            f"{field} must be a whole number of tokens, zero or more, not {_shown(value)}.",
            remedy=WRITE_TOKENS,
        )
    if amount > MAX_NANOS:
        raise BadConfig(
            f"{field} is too large: {_shown(value)}.", remedy=f"Give at most {MAX_NANOS:,} tokens."
        )
    return int(amount)


def _shown(value: object) -> str:
    """A wrong value as people wrote it, short."""
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def nanos_up(dollars: Decimal) -> int:
    """Nano-dollars of a computed or reported cost, rounded up."""
    return int((dollars * NANO).to_integral_value(rounding=ROUND_CEILING))


def dollars(nanos: int) -> Decimal:
    """The exact amount in dollars."""
    return Decimal(nanos) / NANO


def money_text(nanos: int | None, *, digits: int = 6) -> str:
    """`$0.0123` for people: at least two decimals, at most `digits`, rounded up so nothing looks free."""
    if nanos is None:
        return "unknown"
    quantum = Decimal(1).scaleb(-digits)
    shown = dollars(nanos).quantize(quantum, rounding=ROUND_CEILING)
    whole, _, part = f"{shown:f}".partition(".")
    part = part.rstrip("0").ljust(2, "0")
    return f"${whole}.{part}"


def decimal_text(nanos: int | None) -> str | None:
    """A decimal string for JSON, exact and without an exponent: `"0.0123"`; null for unknown."""
    if nanos is None:
        return None
    text = f"{dollars(nanos):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

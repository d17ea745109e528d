"""What a call costs: the provider's own figure, else the user's prices, else public ones, else unknown."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.messages import CostSource
from runtime.providers import SCRIPTED, Price, Provider
from runtime.usage import NANO, Usage, decimal_text, nanos_up

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

MILLION = 1_000_000
DEMO_PRICE = Price(input=1 * NANO, cached=NANO // 10, output=4 * NANO)
"""What a rehearsal pretends to cost: $1.00, $0.10 and $4.00 a million tokens, so that budgets show their
work."""


class Tier(msgspec.Struct, frozen=True):
    """The price of all tokens of a call that has more than `above` input tokens."""

    above: int
    price: Price


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """The prices of a model at a time. `tiers` by falling `above`; `per_call` in nano-dollars."""

    source: CostSource
    version: str | None = None
    price: Price
    tiers: tuple[Tier, ...] = ()
    per_call: int = 0

    def for_input(self, tokens: int) -> Price:
        """The prices of a call with so many input tokens."""
        return next((tier.price for tier in self.tiers if tokens > tier.above), self.price)


class Priced(msgspec.Struct, frozen=True):
    """`cost` in nano-dollars; null: unknown, which is not zero. `price` is what a ledger row keeps of it."""

    cost: int | None
    source: CostSource
    price: dict[str, Any] | None


UNKNOWN = Priced(None, "unknown", None)
FREE = Price(input=0, output=0)


def quote_for(provider: Provider, model: str, at: datetime) -> Quote | None:
    """The prices of a model (without its provider's name) at a time; None: nobody knows them.

    Local providers are free unless the user has set a price; public prices are asked for known hosts only,
    or a local server's `gpt-4o` would get one.
    """
    own = provider.prices.get(model)
    if own is not None:
        return Quote(source="settings", price=own)
    if provider.name == SCRIPTED:
        return Quote(source="script", version="demo", price=DEMO_PRICE)
    if provider.free:
        return Quote(source="local", price=FREE)
    if provider.price_as is None:
        return None
    # Some prices go by the hour; none changes within a minute.
    return _public(provider.price_as, model, at - timedelta(seconds=at.second, microseconds=at.microsecond))


def cost_of(usage: Usage, quote: Quote | None) -> Priced:
    """What this usage costs at these prices, rounded up.

    Each token is paid for once: cached and written ones at their own price, the rest of the input at the
    input's; reasoning is part of the output.
    """
    if quote is None:
        return UNKNOWN
    price = quote.for_input(usage.input)
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.cache_write is None else price.cache_write
    fresh = max(0, usage.input - usage.cached - usage.cache_write)
    total = (
        fresh * price.input
        + usage.cached * cached
        + usage.cache_write * written
        + usage.output * price.output
    )
    nanos = -(-total // MILLION) + quote.per_call
    return Priced(nanos, quote.source, _row(quote, price))


def settled_cost(usage: Usage, quote: Quote | None, reported: int | None) -> Priced:
    """What a finished call cost: `reported`, the provider's own figure, goes before any price.

    The scripted model prices its replies itself; one without a cost is a script's way to say unknown.
    """
    scripted = quote is not None and quote.source == "script"
    if reported is not None:
        return Priced(reported, "script" if scripted else "provider", None)
    return UNKNOWN if scripted else cost_of(usage, quote)


def _row(quote: Quote, price: Price) -> dict[str, Any]:
    """Unit prices in dollars a million tokens as decimal strings, and the price list's version."""
    row: dict[str, Any] = {"input": decimal_text(price.input), "output": decimal_text(price.output)}
    if price.cached is not None:
        row["cached"] = decimal_text(price.cached)
    if price.cache_write is not None:
        row["cache_write"] = decimal_text(price.cache_write)
    if quote.per_call:
        row["per_call"] = decimal_text(quote.per_call)
    if quote.version is not None:
        row["version"] = quote.version
    return row


@lru_cache(maxsize=256)
def _public(provider_id: str, model: str, at: datetime) -> Quote | None:
    """From genai-prices, which is imported here, at the first question, and never goes to the network."""
    import genai_prices

    nothing = genai_prices.Usage(input_tokens=0, output_tokens=0)
    try:
        found = genai_prices.calc_price(nothing, model, provider_id=provider_id, genai_request_timestamp=at)
    except LookupError:
        return None
    prices = found.model_price
    per_thousand = prices.requests_kcount
    if prices.input_mtok is None and prices.output_mtok is None and per_thousand is None:
        return None
    return Quote(
        source="genai-prices",
        version=f"genai-prices {genai_prices.__version__}",
        price=_price(prices, 0),
        tiers=tuple(Tier(above, _price(prices, above + 1)) for above in _thresholds(prices)),
        per_call=nanos_up(per_thousand / 1000) if isinstance(per_thousand, Decimal) else 0,
    )


def _thresholds(prices: ModelPrice) -> list[int]:
    """Input token counts above which some price of the model changes, falling."""
    kinds = (prices.input_mtok, prices.output_mtok, prices.cache_read_mtok, prices.cache_write_mtok)
    starts = {
        tier.start
        for kind in kinds
        if kind is not None and not isinstance(kind, Decimal)
        for tier in kind.tiers
    }
    return sorted(starts, reverse=True)


def _price(prices: ModelPrice, tokens: int) -> Price:
    """The model's prices for a call of so many input tokens, in nano-dollars a million."""

    def at(kind: Any) -> int | None:
        if kind is None:
            return None
        if isinstance(kind, Decimal):
            return nanos_up(kind)
        fitting = [tier.price for tier in kind.tiers if tokens > tier.start]
        return nanos_up(fitting[-1] if fitting else kind.base)

    return Price(
        input=at(prices.input_mtok) or 0,
        output=at(prices.output_mtok) or 0,
        cached=at(prices.cache_read_mtok),
        cache_write=at(prices.cache_write_mtok),
    )

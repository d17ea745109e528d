"""What a model costs, in numbers and in words, before anything is asked of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from runtime.models.prices import quote_for
from runtime.providers import Provider
from runtime.usage import money_text


class Prices(NamedTuple):
    """Nano-dollars a million tokens, of input and of output. `free`: it runs on one's own machines."""

    input: int
    output: int
    free: bool


def prices_of(provider: Provider, model: str, at: datetime) -> Prices | None:
    """The prices of a model (named without its provider) at a time; None: nobody knows them."""
    quote = quote_for(provider, model, at)
    return None if quote is None else Prices(quote.price.input, quote.price.output, quote.source == "local")


def price_text(provider: Provider, model: str, at: datetime) -> str | None:
    """A sentence on the prices of a model (named without its provider) at a time; None: nobody knows them."""
    quote = quote_for(provider, model, at)
    if quote is None:
        return None
    if quote.source == "local":
        return "It runs on your own machines and costs nothing."
    price, source = quote.price, quote.version or "your own prices"
    return f"{money_text(price.input)} a million input tokens, {money_text(price.output)} output ({source})."

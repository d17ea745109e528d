"""What a provider reports of usage and cost, in whatever style, as the five numbers and nano-dollars.

Subsets: cached and cache writes are inside the prompt, reasoning is inside the completion (OpenAI, DeepSeek,
OpenRouter). Separate buckets: they stand beside it (Anthropic; Gemini and xAI for reasoning). A part that
cannot be inside its whole, or whose sum alone gives the reported total, is a separate bucket.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from runtime.usage import Usage, nanos_up

MAX_TOKENS = 1_000_000_000
"""Tokens in one call beyond which a reported number is taken for nonsense."""
MAX_COST = Decimal(1_000_000)
"""Dollars for one call beyond which a reported cost is taken for nonsense."""


class _Part(msgspec.Struct, frozen=True):
    """A number that belongs to a whole; `apart`: its name says that it stands beside it."""

    tokens: int
    apart: bool


def usage_of(raw: object) -> Usage | None:
    """The five numbers of a `usage` object; None where it says nothing usable.

    A number that is negative, fractional, not finite or above MAX_TOKENS is read as not sent. Without a
    prompt figure, or with neither completion nor total, the usage is absent as a whole: the caller
    estimates. Zeros are zeros.
    """
    if not isinstance(raw, Mapping):
        return None
    plain = _count(raw, "prompt_tokens")
    bucketed = plain is None
    base = _count(raw, "input_tokens") if plain is None else plain
    output = _first(raw, "completion_tokens", "output_tokens")
    total = _count(raw, "total_tokens")
    if base is None:
        return None
    cached = _cached(raw, bucketed)
    written = _written(raw, bucketed)
    whole = _whole(base, cached, written, output, total)
    if output is None:
        if total is None:
            return None
        output = max(0, total - whole)
    output, reasoning = _output(output, _reasoning(raw), whole, total)
    read = min(cached.tokens, whole)
    return Usage(whole, read, min(written.tokens, whole - read), output, reasoning)


def _cached(raw: Mapping[str, Any], bucketed: bool) -> _Part:
    inside = _first(_details(raw, "prompt", "input"), "cached_tokens")
    if inside is None:
        inside = _first(raw, "prompt_cache_hit_tokens", "cached_tokens")
    if inside is not None:
        return _Part(inside, False)
    beside = _first(raw, "cache_read_input_tokens", "cache_read_tokens")
    return _Part(beside or 0, bucketed)


def _written(raw: Mapping[str, Any], bucketed: bool) -> _Part:
    names = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
    inside = _first(_details(raw, "prompt", "input"), *names)
    if inside is not None:
        return _Part(inside, False)
    return _Part(_first(raw, *names) or 0, bucketed)


def _whole(base: int, cached: _Part, written: _Part, output: int | None, total: int | None) -> int:
    """All input tokens: the base alone, or with the buckets that stand beside it."""
    parts = cached.tokens + written.tokens
    if cached.apart or written.apart:
        return base + (cached.tokens if cached.apart else 0) + (written.tokens if written.apart else 0)
    if parts > base:
        return base + parts
    if parts and output is not None and total == base + parts + output:
        return base + parts
    return base


def _reasoning(raw: Mapping[str, Any]) -> int | None:
    inside = _first(_details(raw, "completion", "output"), "reasoning_tokens")
    return _first(raw, "reasoning_tokens") if inside is None else inside


def _output(output: int, reasoning: int | None, whole: int, total: int | None) -> tuple[int, int]:
    """Output and reasoning. What the total has beyond prompt and completion is unreported thinking."""
    beyond = max(0, (total or 0) - whole - output)
    if reasoning is None:
        return output + beyond, beyond
    if reasoning > output or (reasoning and beyond == reasoning):
        return output + reasoning, reasoning
    return output, reasoning


def _details(raw: Mapping[str, Any], *wholes: str) -> Mapping[str, Any]:
    for whole in wholes:
        details = raw.get(f"{whole}_tokens_details")
        if isinstance(details, Mapping):
            return details
    return {}


def _first(raw: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        found = _count(raw, name)
        if found is not None:
            return found
    return None


def _count(raw: Mapping[str, Any], name: str) -> int | None:
    value = raw.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 <= value <= MAX_TOKENS or value != int(value):
        return None
    return int(value)


def cost_of_report(raw: object, header: str | None) -> int | None:
    """Nano-dollars that the provider itself reports, rounded up; None where it reports none.

    `usage.cost` (OpenRouter; of a call on the user's own key it is the fee alone, and the upstream cost
    comes on top), `usage.cost.total_cost` (Perplexity), or LiteLLM's header `x-litellm-response-cost`.
    """
    amount: Decimal | None = None
    if isinstance(raw, Mapping):
        said = raw.get("cost")
        amount = _dollars(said.get("total_cost") if isinstance(said, Mapping) else said)
        details = raw.get("cost_details")
        if amount is not None and raw.get("is_byok") is True and isinstance(details, Mapping):
            amount += _dollars(details.get("upstream_inference_cost")) or Decimal(0)
    if amount is None:
        amount = _dollars(header)
    return None if amount is None else nanos_up(amount)


def _dollars(value: object) -> Decimal | None:
    """An exact amount: a float goes through its shortest spelling, not its binary neighbour."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= MAX_COST else None

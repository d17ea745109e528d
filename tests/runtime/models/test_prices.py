"""What a call costs, and where its price comes from."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.models.prices import DEMO_PRICE, UNKNOWN, Priced, Quote, Tier, cost_of, quote_for, settled_cost
from runtime.models.reported import usage_of
from runtime.providers import BUILT_IN, SCRIPTED, Price, Provider
from runtime.usage import NANO, Usage, dollars, parse_money

NOW = datetime(2026, 1, 5, 9, 30, 17, tzinfo=UTC)
PROVIDERS = {provider.name: provider for provider in BUILT_IN}
FIXTURE = Quote(source="settings", price=Price(input=NANO, cached=NANO // 10, output=4 * NANO))
"""$1.00, cached $0.10 and $4.00 a million tokens."""


@pytest.mark.parametrize(
    "raw",
    [
        {
            "prompt_tokens": 10_000,
            "completion_tokens": 1_000,
            "prompt_tokens_details": {"cached_tokens": 9_000},
            "completion_tokens_details": {"reasoning_tokens": 800},
        },
        {"input_tokens": 1_000, "cache_read_input_tokens": 9_000, "output_tokens": 1_000},
    ],
    ids=["subsets", "separate buckets"],
)
def test_prices_count_cached_and_reasoning_once_in_either_style(raw: dict[str, object]) -> None:
    usage = usage_of(raw)
    assert usage is not None and usage.tokens == 11_000
    assert cost_of(usage, FIXTURE).cost == parse_money("0.0059")


@pytest.mark.parametrize(
    ("usage", "price", "cost"),
    [
        (Usage(1_000_000, 0, 0, 1_000_000), Price(input=NANO, output=4 * NANO), "5"),
        (Usage(10, 4, 0, 0), Price(input=NANO, output=0), "0.00001"),
        (Usage(10, 0, 4, 0), Price(input=NANO, output=0), "0.00001"),
        (Usage(10, 2, 4, 1), Price(input=NANO, output=NANO, cached=0, cache_write=2 * NANO), "0.000013"),
        (Usage(), Price(input=NANO, output=NANO), "0"),
    ],
)
def test_prices_of_each_kind_of_token(usage: Usage, price: Price, cost: str) -> None:
    assert cost_of(usage, Quote(source="settings", price=price)).cost == parse_money(cost)


def test_prices_are_rounded_up_to_the_nano_dollar() -> None:
    quote = Quote(source="settings", price=Price(input=1, output=0))
    assert [cost_of(Usage(input=n), quote).cost for n in (0, 1, 1_000_000, 1_000_001)] == [0, 1, 1, 2]


PARTS = st.integers(0, 10**9)


@pytest.mark.promise("LED-6")
@given(st.tuples(PARTS, PARTS, PARTS, PARTS), st.tuples(*[st.integers(0, 10**12)] * 4))
def test_prices_are_the_exact_sum_rounded_up(parts: tuple[int, ...], unit: tuple[int, ...]) -> None:
    fresh, cached, written, output = parts
    price = Price(input=unit[0], cached=unit[1], cache_write=unit[2], output=unit[3])
    usage = Usage(fresh + cached + written, cached, written, output, output // 2)
    cost = cost_of(usage, Quote(source="settings", price=price)).cost
    exact = sum(n * each for n, each in zip(parts, unit, strict=True))
    assert cost is not None and 0 <= cost * 1_000_000 - exact < 1_000_000


def test_prices_follow_the_tier_of_the_whole_input() -> None:
    dear = Price(input=2 * NANO, output=8 * NANO)
    quote = Quote(source="settings", price=Price(input=NANO, output=4 * NANO), tiers=(Tier(200_000, dear),))
    assert cost_of(Usage(input=200_000), quote).cost == parse_money("0.2")
    assert cost_of(Usage(input=200_001), quote).cost == parse_money("0.400002")


@pytest.mark.promise("LED-7")
def test_prices_are_unknown_where_nobody_knows_them() -> None:
    assert cost_of(Usage(10), None) is UNKNOWN
    assert Priced(None, "unknown", None) == UNKNOWN
    assert quote_for(PROVIDERS["openai"], "no-such-model-at-all", NOW) is None
    assert quote_for(Provider(name="mine", base_url="https://models.example.com/v1"), "gpt-4o", NOW) is None


@pytest.mark.parametrize("name", ["ollama", "llamacpp", "local"])
def test_prices_of_local_providers_are_zero(name: str) -> None:
    priced = cost_of(Usage(10, 0, 0, 10), quote_for(PROVIDERS[name], "gpt-4o", NOW))
    assert (priced.cost, priced.source) == (0, "local")


@pytest.mark.promise("LED-7")
def test_prices_of_the_user_go_before_public_and_free_ones() -> None:
    own = {"gpt-4.1-mini": Price(input=7, output=7)}
    for free in (False, True):
        provider = Provider(name="openai", base_url="", price_as="openai", prices=own, free=free)
        quote = quote_for(provider, "gpt-4.1-mini", NOW)
        assert quote is not None and (quote.source, quote.price.input) == ("settings", 7)


def test_prices_of_a_rehearsal_are_the_stated_demo_price() -> None:
    quote = quote_for(PROVIDERS[SCRIPTED], "rehearsal", NOW)
    assert quote is not None and quote.source == "script"
    assert [dollars(n or 0) for n in (DEMO_PRICE.input, DEMO_PRICE.cached, DEMO_PRICE.output)] == [
        Decimal(1),
        Decimal("0.1"),
        Decimal(4),
    ]


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-4.1-mini"), ("anthropic", "claude-sonnet-4-5"), ("gemini", "gemini-2.5-pro")],
)
@pytest.mark.parametrize("tokens", [1_000, 200_000, 200_001, 500_000])
def test_prices_of_public_models_are_those_of_the_price_list(provider: str, model: str, tokens: int) -> None:
    import genai_prices

    quote = quote_for(PROVIDERS[provider], model, NOW)
    usage = Usage(tokens, tokens // 2, 0, 300)
    listed = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=tokens, cache_read_tokens=tokens // 2, output_tokens=300),
        model,
        provider_id=PROVIDERS[provider].price_as,
        genai_request_timestamp=NOW,
    )
    priced = cost_of(usage, quote)
    assert priced.cost == -(-listed.total_price * NANO // 1)
    assert priced.source == "genai-prices"
    assert priced.price is not None and priced.price["version"].startswith("genai-prices ")
    assert {"input", "output", "cached"} <= set(priced.price)


def test_prices_keep_what_a_ledger_row_needs() -> None:
    quote = Quote(source="genai-prices", version="v", price=FIXTURE.price, per_call=5)
    priced = cost_of(Usage(), quote)
    row = {"input": "1", "output": "4", "cached": "0.1", "per_call": "0.000000005", "version": "v"}
    assert priced == Priced(5, "genai-prices", row)


@pytest.mark.promise("LED-7")
@pytest.mark.parametrize(
    ("quote", "reported", "priced"),
    [
        (FIXTURE, 7, Priced(7, "provider", None)),
        (FIXTURE, 0, Priced(0, "provider", None)),
        (None, 7, Priced(7, "provider", None)),
        (None, None, UNKNOWN),
        (Quote(source="script", price=DEMO_PRICE), 7, Priced(7, "script", None)),
        (Quote(source="script", price=DEMO_PRICE), None, UNKNOWN),
    ],
)
def test_prices_settle_at_the_providers_own_figure_first(
    quote: Quote | None, reported: int | None, priced: Priced
) -> None:
    assert settled_cost(Usage(input=1_000), quote, reported) == priced


def test_prices_settle_by_price_where_nothing_is_reported() -> None:
    assert settled_cost(Usage(input=1_000_000), FIXTURE, None).cost == NANO

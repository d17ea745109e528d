"""Calls: admission, holds, settling, the journal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime.errors import Fenced, NotFound
from runtime.ledger import Admitted, Blocked, Counter, ModelPast, Refused
from runtime.record import CallDone, CallOpened, LedgerFilter
from runtime.usage import Usage
from tests.runtime.store.support import CENT, Scene, dollars, rule


@pytest.mark.promise("BUD-9")
async def test_the_first_call_of_a_model_holds_all_that_is_left(scene: Scene) -> None:
    await scene.claim()
    daily, weekly = rule("daily", 100), rule("weekly", "0.50", period="weekly")
    call = await scene.opened("k0", daily, weekly, tokens=10, cost=CENT)
    assert call.counters == (Counter(0, 100), Counter(0, 50 * CENT))
    assert isinstance(call.admission, Admitted)
    assert call.admission.estimate == (10, CENT)
    settled = await scene.close(call, 12, 3 * CENT)
    assert settled.counters == (Counter(12, 0), Counter(3 * CENT, 0))
    assert settled.over_estimate
    second = await scene.opened("k1", daily, weekly, tokens=10, cost=CENT)
    assert second.counters == (Counter(12, 12), Counter(3 * CENT, 3 * CENT))


@pytest.mark.promise("EVT-3")
async def test_events_stand_in_order_around_the_decision(scene: Scene) -> None:
    await scene.claim()
    before = [scene.event("run-1", "before")]
    call = await scene.opened("k0", rule(), before=before)
    assert [entry.seq for entry in call.entries] == [3, 4]
    settled = await scene.close(call)
    assert [entry.seq for entry in settled.entries] == [5]
    assert (await scene.types())[2:] == ["node.started", "budget.reserved", "budget.settled"]


async def test_a_refused_call_says_so_and_is_not_made(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 0)
    held = await scene.held("k0", daily, before=[scene.event("run-1", "before")])
    assert held.admission == Refused("budget.exceeded", 0, held.admission.estimate)
    assert held.ticket is None
    assert len(held.entries) == 2
    assert await scene.record.ledger(LedgerFilter()) == []


@pytest.mark.promise("BUD-4")
async def test_a_call_that_crosses_the_limit_counts_and_the_next_is_refused(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 100)
    for key, used in (("k0", 50), ("k1", 35), ("k2", 30)):
        await scene.call(key, daily, tokens=used)
    held = await scene.held("k3", daily)
    assert isinstance(held.admission, Refused)
    assert held.counters == (Counter(115, 0),)


@pytest.mark.promise("BUD-7")
async def test_the_error_names_the_narrowest_budget(scene: Scene) -> None:
    await scene.claim()
    life, day = rule("life", 10, period="lifetime"), rule("day", 10)
    await scene.call("k0", life, day, tokens=10)
    held = await scene.held("k1", life, day)
    assert isinstance(held.admission, Refused)
    assert held.admission.rule == 1


async def test_a_done_call_gives_its_stored_result(scene: Scene) -> None:
    await scene.claim()
    call = await scene.opened("k0", rule())
    await scene.close(call, 10, result={"text": "hi", "n": [1, 1.5, None, True]})
    again = await scene.open("k0", rule(), before=[scene.event("run-1", "again")])
    assert isinstance(again, CallDone)
    assert (again.call_id, again.result) == (call.call_id, {"text": "hi", "n": [1, 1.5, None, True]})
    assert [entry.seq for entry in again.entries] == [5]
    assert len(scene.builds) == 1


async def test_a_failed_call_may_be_tried_again(scene: Scene) -> None:
    await scene.claim()
    call = await scene.opened("k0", rule())
    await scene.close(call, 4, state="failed", result={"never": "kept"})
    second = await scene.opened("k0", rule(), attempt=2)
    await scene.close(second, 6, result="ok")
    done = await scene.open("k0", rule(), attempt=3)
    assert isinstance(done, CallDone)
    assert done.result == "ok"
    rows = await scene.record.ledger(LedgerFilter())
    assert [(row.kind, row.attempt, row.usage.tokens) for row in rows] == [
        ("hold", 1, 0),
        ("settle", 1, 4),
        ("hold", 2, 0),
        ("settle", 2, 6),
    ]


async def test_an_open_call_of_an_earlier_life_is_settled_first(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 1000)
    await scene.call("k", daily, tokens=10)
    await scene.opened("k0", daily, tokens=30)
    again = await scene.opened("k0", daily, tokens=30)
    assert again.counters == (Counter(40, 30),)
    await scene.close(again, 20)
    rows = await scene.record.ledger(LedgerFilter())
    assert [(row.kind, row.status, row.attempt) for row in rows[2:]] == [
        ("hold", "open", 1),
        ("settle", "orphaned", 1),
        ("hold", "open", 2),
        ("settle", "settled", 2),
    ]
    assert await scene.record.model_past("real", "m") == ModelPast(2, 20, 0)


async def test_closing_twice_counts_once(scene: Scene) -> None:
    await scene.claim()
    call = await scene.opened("k0", rule())
    first = await scene.close(call, 10)
    second = await scene.close(call, 99)
    assert second.counters == first.counters == (Counter(10, 0),)
    assert second.entries == ()
    assert (await scene.types()).count("budget.settled") == 1


async def test_closing_what_is_not_there_says_so(scene: Scene) -> None:
    await scene.claim()
    with pytest.raises(NotFound):
        await scene.close(77)
    with pytest.raises(Fenced):
        await scene.close(77, run_id="unknown")


async def test_a_released_call_used_nothing(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 100)
    call = await scene.opened("k0", daily)
    said = [scene.event("run-1", "released")]
    entries = await scene.record.release_call(call.call_id, "run-1", scene.at, said)
    assert len(entries) == 1
    assert await scene.record.release_call(call.call_id, "run-1", scene.at, said) == ()
    again = await scene.opened("k0", daily, attempt=2)
    assert again.counters == (Counter(0, 100),)
    rows = await scene.record.ledger(LedgerFilter())
    assert [(row.kind, row.status) for row in rows] == [
        ("hold", "open"),
        ("release", "released"),
        ("hold", "open"),
    ]
    assert await scene.record.model_past("real", "m") == ModelPast()


@pytest.mark.promise("LED-4")
async def test_usage_of_a_call_that_was_settled_at_its_estimate_corrects_it(scene: Scene) -> None:
    await scene.claim()
    daily, spend = rule("daily", 10_000), rule("spend", "1", period="lifetime")
    await scene.call("k", daily, spend, tokens=1)
    call = await scene.opened("k0", daily, spend, tokens=100, cost=5)
    await scene.finish(state="cancelled")
    with pytest.raises(Fenced):
        await scene.close(call, 140, 12)
    with pytest.raises(Fenced):
        await scene.close(call, 140, 12)
    rows = await scene.record.ledger(LedgerFilter())
    last = rows[-1]
    assert (last.kind, last.status, last.usage.tokens, last.cost) == ("correct", "corrected", 40, 7)
    assert [row.kind for row in rows].count("correct") == 1
    used = {line.key.pot: line.counter for line in await scene.record.all_counters("real")}
    assert used == {"flow/daily": Counter(141), "flow/spend": Counter(12)}
    totals = await scene.record.run_totals("run-1")
    assert (totals.usage.tokens, totals.cost) == (141, 12)
    assert (await scene.events())[-1]["status"] == "corrected"


@pytest.mark.promise("LED-1")
async def test_a_late_smaller_figure_lets_no_total_fall(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 10_000)
    await scene.call("k", daily, tokens=1)
    call = await scene.opened("k0", daily, tokens=100, cost=5)
    await scene.finish(state="failed")
    with pytest.raises(Fenced):
        await scene.close(call, usage=Usage(input=10, output=50), cost=2)
    last = (await scene.record.ledger(LedgerFilter()))[-1]
    assert (last.usage.tokens, last.cost) == (0, 0)
    assert "less than was charged" in str(last.reason)
    (line,) = await scene.record.all_counters("real")
    assert line.counter == Counter(101)


async def test_two_calls_of_a_step_share_one_hold(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 100)
    await scene.call("k", daily, tokens=10)
    first = await scene.opened("k0/think", daily, tokens=20, hold_for=2)
    assert first.counters == (Counter(10, 40),)
    settled = await scene.close(first, 60, keep_hold=True)
    assert settled.counters == (Counter(70, 0),)
    assert settled.over_estimate
    # the limit is not looked at between the two
    second = await scene.opened("k0/act", daily, tokens=20, carries="k0/think")
    assert isinstance(second.admission, Admitted)
    await scene.close(second, 50)
    held = await scene.held("k1", daily)
    assert held.counters == (Counter(120, 0),)


async def test_what_the_first_of_two_calls_left_stays_held_for_the_second(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 100)
    first = await scene.opened("k0/think", daily, hold_for=2)
    settled = await scene.close(first, 30, keep_hold=True)
    assert settled.counters == (Counter(30, 70),)
    second = await scene.opened("k0/act", daily, carries="k0/think")
    assert second.counters == (Counter(30, 70),)
    assert [hold.amount for hold in second.admission.holds] == [70]  # type: ignore[union-attr]
    assert (await scene.close(second, 5)).counters == (Counter(35, 0),)


@pytest.mark.promise("BUD-6")
async def test_two_calls_of_a_step_count_in_the_period_of_the_first(scene: Scene) -> None:
    """The first before midnight of a year's last day, a Sunday, the second after it."""
    before, after = datetime(2028, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2029, 1, 1, 0, 0, 1, tzinfo=UTC)
    rules = [rule(period, 100, period=period) for period in ("run", "daily", "weekly", "monthly")]
    scene.clock.set(before)
    await scene.claim()
    first = await scene.opened("k0/think", *rules, hold_for=2)
    await scene.close(first, 30, keep_hold=True)
    scene.clock.set(after)
    second = await scene.opened("k0/act", *rules, carries="k0/think")
    assert second.counters == (Counter(30, 70),) * 4
    assert (await scene.close(second, 5)).counters == (Counter(35),) * 4
    lines = await scene.record.all_counters("real")
    assert [line.counter for line in lines] == [Counter(35)] * 4, "no hold is left behind"
    third = await scene.opened("k1", *rules)
    assert [counter.used for counter in third.counters] == [35, 0, 0, 0]


async def test_a_kept_hold_that_nobody_carries_on_goes_with_the_run(scene: Scene) -> None:
    await scene.claim()
    first = await scene.opened("k0/think", rule("daily", 100), hold_for=2)
    await scene.close(first, 30, keep_hold=True)
    await scene.finish(state="failed")
    (line,) = await scene.record.all_counters("real")
    assert line.counter == Counter(30, 0)


async def test_without_a_kept_hold_the_second_call_is_decided_anew(scene: Scene) -> None:
    await scene.claim()
    daily = rule("daily", 100)
    first = await scene.opened("k0/think", daily, hold_for=2)
    await scene.close(first, 100)
    held = await scene.held("k0/act", daily, carries="k0/think")
    assert isinstance(held.admission, Refused)


async def test_model_past_is_of_the_last_twenty_of_a_partition(scene: Scene) -> None:
    await scene.claim("run-1")
    await scene.claim("run-2", partition="rehearsal")
    await scene.call("big", tokens=900, cost=9)
    for number in range(20):
        await scene.call(f"k{number}", tokens=number, cost=None if number % 2 else number)
    assert await scene.record.model_past("real", "m") == ModelPast(20, 19, 18)
    assert await scene.record.model_past("rehearsal", "m") == ModelPast()
    assert await scene.record.model_past("real", "other") == ModelPast()
    free = await scene.opened("e", tokens=1, model="other")
    await scene.close(free, 5, None, estimated=True)
    assert await scene.record.model_past("real", "other") == ModelPast()


@pytest.mark.promise("BUD-13")
async def test_unknown_cost_is_counted_apart_from_zero(scene: Scene) -> None:
    await scene.claim()
    spend, tokens = rule("spend", "1"), rule("tokens", 1000)
    await scene.call("k0", spend, tokens, tokens=5, cost=None)
    settled = await scene.call("k1", spend, tokens, tokens=5, cost=0)
    assert settled.counters == (Counter(0, 0, 1), Counter(10, 0, 0))
    totals = await scene.record.run_totals("run-1")
    assert (totals.cost, totals.unknown) == (0, 1)
    block = rule("spend", "1", unknown_cost="block")
    await scene.call("n0", tokens=5, cost=None, model="nameless")
    held = await scene.held("n1", block, model="nameless", cost=None)
    assert isinstance(held.admission, Refused)
    assert held.admission.code == "budget.cost_unknown"


@pytest.mark.promise("BUD-6")
async def test_a_call_belongs_to_the_period_in_which_it_was_reserved(scene: Scene) -> None:
    scene.clock.set(datetime(2026, 11, 1, 23, 59, 59, tzinfo=UTC))
    await scene.claim()
    daily, weekly = rule("daily", "1"), rule("weekly", "1", period="weekly")
    call = await scene.opened("k0", daily, weekly)
    scene.clock.set(datetime(2026, 11, 2, 0, 0, 2, tzinfo=UTC))
    await scene.close(call, 10, dollars("1"))
    assert isinstance(await scene.open("k1", daily, weekly), CallOpened)
    starts = {line.key.start: line.counter.used for line in await scene.record.all_counters("real")}
    assert starts == {
        "2026-11-01T00:00:00+00:00": dollars("1"),
        "2026-10-26T00:00:00+00:00": dollars("1"),
        "2026-11-02T00:00:00+00:00": 0,
    }
    lines = await scene.record.spend(LedgerFilter(), ["day"])
    assert [line.group for line in lines] == [("2026-11-01",)]


async def test_tool_calls_are_journaled_and_cost_nothing(scene: Scene) -> None:
    await scene.claim()
    call = await scene.opened("tool", kind="tool", model=None, effect="once")
    await scene.close(call, usage=Usage(), cost=0, result=[1])
    assert await scene.record.ledger(LedgerFilter()) == []
    done = await scene.open("tool", kind="tool", model=None)
    assert isinstance(done, CallDone)


async def test_concurrent_calls_of_one_budget_wait_for_the_first(scene: Scene) -> None:
    for number in range(3):
        await scene.claim(f"run-{number}")
    daily = rule("daily", "1", period="session")
    first = await scene.opened("k", daily, run_id="run-0")
    held = await scene.held("k", daily, run_id="run-1")
    assert isinstance(held.admission, Blocked)
    assert held.counters == (Counter(0, dollars("1")),)
    assert held.ticket is not None
    await scene.close(first, 10, dollars("0.4"), run_id="run-0")
    await scene.opened("k", daily, run_id="run-1", ticket=held.ticket)

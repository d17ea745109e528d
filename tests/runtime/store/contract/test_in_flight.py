"""A rule that is new on a pot sees the calls of that pot that are in flight."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime.errors import Fenced
from runtime.ledger import Blocked, Counter, CounterKey, Period, Refused, Subject, counter_key
from runtime.record import LedgerFilter, LimitChange
from runtime.usage import Usage
from tests.runtime.store.support import CENT, Scene, dollars, rule


async def flying(scene: Scene) -> None:
    """A model whose calls use 10 tokens and a cent, known from one that settled."""
    await scene.claim("past", "past", user="eve")
    await scene.call("k", rule("other"), run_id="past", cost=CENT)
    await scene.claim("run-1", "s1")
    await scene.claim("run-2", "s2")


@pytest.mark.promise("BUD-19")
async def test_a_new_rule_waits_for_calls_that_were_in_flight_before_it(scene: Scene) -> None:
    await flying(scene)
    old, new = rule("old", 1000, pot="p"), rule("new", 30, pot="p", period="lifetime")
    calls = [await scene.opened(f"k{i}", old, run_id="run-1") for i in range(3)]
    held = await scene.held("k", old, new, run_id="run-2")
    assert isinstance(held.admission, Blocked)
    assert held.admission.rules == (1,)
    assert held.counters[1] == Counter(0, 30)
    settled = await scene.close(calls[0], 7, run_id="run-1")
    assert settled.counters == (Counter(7, 20),)
    opened = await scene.opened("k", old, new, run_id="run-2", ticket=held.ticket)
    assert opened.counters == (Counter(7, 30), Counter(7, 30))
    for call in calls[1:]:
        await scene.close(call, 9, run_id="run-1")
    closed = await scene.close(opened, 10, run_id="run-2")
    assert closed.counters == (Counter(35), Counter(35))
    last = await scene.held("k4", old, new, run_id="run-2")
    assert isinstance(last.admission, Refused)


@pytest.mark.parametrize(
    ("period", "everyone", "held"),
    [
        ("run", False, 10),
        ("session", False, 20),
        ("daily", False, 30),
        ("weekly", False, 30),
        ("monthly", False, 40),
        ("lifetime", False, 40),
        ("lifetime", True, 50),
    ],
)
async def test_only_calls_that_will_count_in_it_are_taken_over(
    scene: Scene, period: Period, everyone: bool, held: int
) -> None:
    """One call of the same run, of another run of the session, of another session, of another user, and of an
    earlier week; nothing of another pot or partition."""
    scene.clock.set(datetime(2026, 3, 1, 23, 59, tzinfo=UTC))  # a Sunday
    await flying(scene)
    for run_id, session, user in (("run-3", "s1", "ann"), ("run-4", "s1", "bob")):
        await scene.claim(run_id, session, user=user)
    await scene.claim("run-5", "s1", partition="rehearsal")
    old = rule("old", 10_000, pot="p", period="lifetime", everyone=True)
    await scene.opened("early", old, run_id="run-2")
    scene.clock.set(datetime(2026, 3, 2, 0, 0, tzinfo=UTC))
    for run_id in ("run-1", "run-2", "run-3", "run-4", "run-5"):
        await scene.opened("now", old, run_id=run_id)
    await scene.opened("elsewhere", rule("q"), run_id="run-1")
    new = rule("new", 10_000, pot="p", period=period, everyone=everyone)
    key = counter_key(new, Subject("real", "ann", scene.sessions["run-1"], "run-1"), scene.at)
    assert await scene.record.counters([key]) == [Counter(0, held)], "as it would begin"
    opened = await scene.opened("mine", new, run_id="run-1")
    assert opened.counters == (Counter(0, held + 10),)
    assert await scene.record.counters([key]) == [Counter(0, held + 10)]
    for run_id in ("run-1", "run-2", "run-3", "run-4", "run-5"):
        await scene.finish(run_id)
    (counter,) = await scene.record.counters([key])
    assert counter == Counter(held + 10), "each counts, and none is held"


@pytest.mark.promise("BUD-8")
async def test_a_call_holds_wherever_it_will_count_whatever_rules_govern_it(scene: Scene) -> None:
    """Two agents of a pot, each under a budget of its own: a day's and a session's."""
    await flying(scene)
    day, talk = rule("day", 1000, pot="shared:p"), rule("talk", 29, pot="shared:p", period="session")
    await scene.call("k", day, talk, tokens=5, run_id="run-1")
    calls = [await scene.opened(f"k{i}", day, tokens=12, run_id="run-1") for i in range(2)]
    held = await scene.held("t", talk, tokens=12, run_id="run-1")
    assert held.counters == (Counter(5, 24),)
    elsewhere = await scene.opened("t", talk, run_id="run-2")
    await scene.close(elsewhere, 1, run_id="run-2")
    await scene.close(calls[0], 11, run_id="run-1")
    opened = await scene.opened("t", talk, tokens=12, run_id="run-1", ticket=held.ticket)
    assert opened.counters == (Counter(16, 24),)


@pytest.mark.parametrize("how", ["release", "finish", "raise"])
async def test_what_was_taken_over_is_given_back(scene: Scene, how: str) -> None:
    await flying(scene)
    old, new = rule("old", 1000, pot="p"), rule("new", 100, pot="p", period="lifetime")
    call = await scene.opened("k0", old, run_id="run-1")
    if how == "raise":  # the counter is made by a person's raise
        key = CounterKey("real", "p", "tokens", "lifetime", "ann", "")
        wish = LimitChange(
            action="raise", key=key, budget="new", amount=500, actor="ann", reason="why", at=scene.at
        )
        await scene.record.change_limit(wish, [])
        assert await scene.record.counters([key]) == [Counter(0, 10, 0, 500)]
        await scene.close(call, 4, run_id="run-1")
        assert await scene.record.counters([key]) == [Counter(4, 0, 0, 500)]
        return
    mine = await scene.opened("k", new, run_id="run-2")
    assert mine.counters == (Counter(0, 20),)
    if how == "release":
        await scene.record.release_call(call.call_id, "run-1", scene.at, [])
    else:
        await scene.finish("run-1", "cancelled")
    closed = await scene.close(mine, 10, run_id="run-2")
    assert closed.counters == (Counter(10 if how == "release" else 20),)


async def test_a_pair_of_calls_in_flight_is_seen_whole_and_its_second_carries_it(scene: Scene) -> None:
    await flying(scene)
    old = rule("old", 1000, pot="p")
    first, second = rule("first", "1", pot="p"), rule("second", 1000, pot="p", period="lifetime")
    thought = await scene.opened("t", old, run_id="run-1", cost=CENT, hold_for=2)
    mine = await scene.opened("k1", first, run_id="run-2", cost=CENT)
    assert mine.counters == (Counter(0, 3 * CENT),)
    await scene.close(mine, 10, CENT, run_id="run-2")
    await scene.close(thought, 6, 0, run_id="run-1", keep_hold=True)
    mine = await scene.opened("k2", second, run_id="run-2", cost=CENT)
    assert mine.counters == (Counter(16, 20),), "of the pair one call is still to come"
    await scene.close(mine, 10, CENT, run_id="run-2")
    act = await scene.opened("a", old, run_id="run-1", cost=CENT, carries="t")
    await scene.close(act, 10, CENT, run_id="run-1")
    lines = {(c.key.metric, c.key.period): c.counter for c in await scene.record.all_counters("real", "ann")}
    assert lines == {
        ("tokens", "daily"): Counter(36),
        ("spend", "daily"): Counter(3 * CENT),
        ("tokens", "lifetime"): Counter(36),
    }


@pytest.mark.promise("LED-4")
async def test_a_call_that_nobody_closes_is_told_as_any_other(scene: Scene) -> None:
    """What was sent and what the answer may be are apart; its budgets stand with limit and threshold."""
    await flying(scene)
    named = rule("named", 10_000, pot="p", period="lifetime"), rule("spend", "1.00", pot="p")
    call = await scene.opened("k0", *named, run_id="run-1", tokens=4109, sent=13, cost=CENT)
    await scene.finish("run-1", "failed")
    row = (await scene.record.ledger(LedgerFilter()))[-1]
    assert (row.status, row.usage.input, row.usage.output, row.cost) == ("orphaned", 13, 4096, CENT)
    said = (await scene.events("run-1"))[-2]
    assert [(g["budget"], g["used"], g["limit"], g["threshold_pct"]) for g in said["gauges"]] == [
        ("named", 4109, 10_000, 80.0),
        ("spend", CENT, dollars("1.00"), 80.0),
    ]
    with pytest.raises(Fenced):
        await scene.close(call, run_id="run-1", cost=2 * CENT, usage=Usage(input=20, output=4200))
    late = (await scene.record.ledger(LedgerFilter()))[-1]
    assert (late.status, late.usage.input, late.usage.output) == ("corrected", 7, 104)

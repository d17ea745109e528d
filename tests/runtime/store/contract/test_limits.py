"""Counters as a fold over the ledger; raises and resets."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime.events import BudgetChanged
from runtime.ledger import PERIODS, Blocked, Counter, CounterKey, Period, Refused
from runtime.record import LedgerFilter, LimitChange, SessionFilter
from tests.runtime.store.support import CENT, Scene, dollars, rule


async def change(scene: Scene, key: CounterKey, action: str, amount: int | None = None, **more: bool) -> None:
    wish = LimitChange(
        action=action,  # type: ignore[arg-type]
        key=key,
        budget="b",
        amount=amount,
        actor="ann",
        reason="needed",
        at=scene.at,
        **more,
    )
    said = BudgetChanged(
        at=scene.at,
        action=action,
        budget="b",
        metric=key.metric,
        period=key.period,
        owner=key.owner,
        actor="ann",
        reason="needed",
        amount=amount,
    )
    (*_, entry) = await scene.record.change_limit(wish, [said])
    assert entry.event == said


async def key_of(scene: Scene, pot: str) -> CounterKey:
    (line,) = [line for line in await scene.record.all_counters("real") if line.key.pot == pot]
    return line.key


@pytest.mark.promise("BUD-19")
async def test_another_rule_starts_from_what_its_pot_was_charged(scene: Scene) -> None:
    """A changed period, a changed metric and a new limit all read the fold of the same rows."""
    await scene.claim("run-1", "s1")
    await scene.claim("run-2", "s2")
    await scene.claim("run-3", "s3", user="bob")
    daily = rule("cap", 1000, pot="p")
    for run_id, tokens in (("run-1", 10), ("run-2", 20), ("run-3", 40)):
        await scene.call("k0", daily, run_id=run_id, tokens=tokens, cost=tokens * CENT)
    for other, used in (
        (rule("cap", 1000, pot="p", period="session"), 10),
        (rule("cap", 1000, pot="p", period="run"), 10),
        (rule("cap", 1000, pot="p", period="weekly"), 30),
        (rule("cap", 1000, pot="p", period="lifetime"), 30),
        (rule("cap", 1000, pot="p", period="lifetime", everyone=True), 70),
        (rule("cap", "99", pot="p", period="monthly"), 30 * CENT),
        (rule("cap", 1000, pot="elsewhere"), 0),
    ):
        call = await scene.opened(f"k/{other.period}/{other.metric}/{other.everyone}/{other.pot}", other)
        assert call.counters[0].used == used
        await scene.record.release_call(call.call_id, "run-1", scene.at, [])


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("everyone", [False, True])
async def test_a_counter_that_no_rule_of_the_call_reads_still_counts_it(
    scene: Scene, period: Period, everyone: bool
) -> None:
    """Rules come and go with the flow; a counter must not miss what its pot was charged meanwhile."""
    await scene.claim()
    other = rule("cap", 1000, pot="p", metric="spend", period="daily", unknown_cost="warn")
    mine = rule("cap", 1000, pot="p", period=period, everyone=everyone)
    await scene.call("k0", mine, tokens=5)
    await scene.call("k1", other, tokens=7)
    call = await scene.opened("k2", mine)
    assert call.counters[0].used == 12


@pytest.mark.promise("BUD-19")
async def test_a_counter_that_is_not_stored_reads_as_the_fold(scene: Scene) -> None:
    await scene.claim()
    await scene.call("k0", rule("cap", 1000, pot="p"), tokens=9)
    key = await key_of(scene, "p")
    asked = [key, key._replace(period="lifetime", start=""), key._replace(owner="bob")]
    assert await scene.record.counters(asked) == [Counter(9), Counter(9), Counter()]
    assert len(await scene.record.all_counters("real")) == 1


async def test_a_new_day_starts_at_zero(scene: Scene) -> None:
    await scene.claim()
    scene.clock.set(datetime(2026, 11, 1, 23, 59, 50, tzinfo=UTC))
    daily, weekly = rule("day", "1.00"), rule("week", "1.00", period="weekly")
    await scene.call("k0", daily, weekly, tokens=1, cost=dollars("1.00"))
    scene.clock.set(datetime(2026, 11, 1, 23, 59, 59, tzinfo=UTC))
    assert isinstance((await scene.held("k1", daily, weekly)).admission, Refused)
    scene.clock.set(datetime(2026, 11, 2, tzinfo=UTC))
    call = await scene.opened("k1", daily, weekly)
    assert [counter.used for counter in call.counters] == [0, 0]


@pytest.mark.promise("BUD-16")
async def test_each_partition_counts_for_itself(scene: Scene) -> None:
    await scene.claim("run-1")
    await scene.claim("run-2", partition="rehearsal")
    await scene.call("k", rule("day", 100), run_id="run-1", tokens=30)
    call = await scene.opened("k", rule("day", 100), run_id="run-2")
    assert call.counters[0] == Counter(0, 100)


@pytest.mark.promise("BUD-17")
async def test_a_raise_lifts_the_block_at_once_and_each_error_names_what_binds(scene: Scene) -> None:
    await scene.claim()
    daily, weekly = rule("day", "1.00"), rule("week", "1.20", period="weekly")
    rules = (daily, weekly)
    await scene.call("k0", *rules, cost=dollars("1.00"))
    held = await scene.held("k1", *rules)
    assert isinstance(held.admission, Refused)
    assert held.admission.rule == 0
    await change(scene, await key_of(scene, "flow/day"), "raise", dollars("5"))
    await scene.call("k1", *rules, cost=dollars("0.20"))
    held = await scene.held("k2", *rules)
    assert isinstance(held.admission, Refused)
    assert held.admission.rule == 1
    await change(scene, await key_of(scene, "flow/week"), "raise", dollars("9"))
    await scene.call("k2", *rules, cost=CENT)
    # lowering blocks at once
    await change(scene, await key_of(scene, "flow/week"), "raise", dollars("1"))
    held = await scene.held("k3", *rules)
    assert isinstance(held.admission, Refused)
    assert held.counters[1].limit == dollars("1")
    # and taking the raise back leaves the flow's own
    await change(scene, await key_of(scene, "flow/week"), "raise", None)
    assert (await scene.held("k4", *rules)).counters[1].limit is None


@pytest.mark.promise("BUD-17")
async def test_a_raise_is_for_its_period_or_for_good(scene: Scene) -> None:
    await scene.claim()
    passing, lasting = rule("passing", 100), rule("lasting", 100)
    await scene.call("k0", passing, lasting, tokens=1)
    await change(scene, await key_of(scene, "flow/passing"), "raise", 500)
    await change(scene, await key_of(scene, "flow/lasting"), "raise", 500, for_good=True)
    scene.clock.advance(24 * 3600)
    call = await scene.opened("k1", passing, lasting)
    assert [counter.limit for counter in call.counters] == [None, 500]


async def test_a_raise_in_the_midst_of_a_first_call_leaves_room_for_its_estimate(scene: Scene) -> None:
    """A model's first call holds all that is left, which may be less than it will use."""
    await scene.claim()
    capped = rule("x", 10, period="lifetime")
    first = await scene.opened("k0", capped, tokens=40)
    await change(scene, await key_of(scene, "flow/x"), "raise", 35)
    held = await scene.held("k1", capped)
    assert isinstance(held.admission, Blocked)
    await scene.close(first, 40)
    assert isinstance((await scene.held("k1", capped, ticket=held.ticket)).admission, Refused)


async def test_a_raise_before_the_first_call_holds(scene: Scene) -> None:
    await scene.claim()
    await change(
        scene, CounterKey("real", "flow/x", "tokens", "lifetime", "ann", ""), "raise", 7, for_good=True
    )
    call = await scene.opened("k0", rule("x", 0, period="lifetime"), tokens=4)
    assert call.counters[0] == Counter(0, 7, 0, 7)


@pytest.mark.promise("LED-1")
async def test_a_reset_starts_the_counter_anew_and_changes_no_row(scene: Scene) -> None:
    await scene.claim()
    daily = rule("day", 100)
    await scene.call("k0", daily, tokens=100)
    flying = await scene.held("k1", daily)
    assert isinstance(flying.admission, Refused)
    before = await scene.record.ledger(LedgerFilter())
    await change(scene, await key_of(scene, "flow/day"), "reset")
    after = await scene.record.ledger(LedgerFilter())
    assert after[: len(before)] == before
    assert [(row.kind, row.amount, row.actor) for row in after[len(before) :]] == [("reset", 100, "ann")]
    settled = await scene.call("k2", daily, tokens=5)
    assert settled.counters[0].used == 5
    (line,) = await scene.record.spend(LedgerFilter(), ["user"])
    assert line.usage.tokens == 105


@pytest.mark.promise("EVT-9")
@pytest.mark.parametrize(
    ("period", "owner", "user"),
    [
        ("daily", "ann", "ann"),
        ("daily", "*", None),
        ("daily", "", None),
        ("session", "uid", "ann"),
        ("run", "run-1", "ann"),
    ],
)
async def test_a_change_stands_in_the_admin_session_of_whom_it_concerns(
    scene: Scene, period: str, owner: str, user: str | None
) -> None:
    claimed = await scene.claim()
    owner = claimed.session_uid if owner == "uid" else owner
    key = CounterKey("real", "flow/x", "tokens", period, owner, "")  # type: ignore[arg-type]
    await change(scene, key, "raise", 5)
    (line,) = await scene.record.sessions(SessionFilter(flow_id="@admin"))
    assert (line.user_id, line.name, line.events) == (user, "@admin", 2)
    (row,) = await scene.record.ledger(LedgerFilter())
    assert (row.kind, row.amount, row.pots, row.period, row.owner) == ("raise", 5, ("flow/x",), period, owner)
    assert (row.actor, row.reason, row.user_id) == ("ann", "needed", user)


@pytest.mark.promise("MEM-16")
async def test_a_run_may_be_charged_to_the_session_that_it_serves(scene: Scene) -> None:
    talk = await scene.claim("run-1", "talk")
    await scene.claim("care", "@maintenance", charged=talk.session_uid)
    limit = rule("cap", 100, pot="p", period="session")
    await scene.call("k0", limit, tokens=30, cost=CENT)
    await scene.call("k0", limit, run_id="care", tokens=50, cost=2 * CENT, purpose="summary")
    (line,) = await scene.record.all_counters("real")
    assert (line.key.owner, line.counter.used) == (talk.session_uid, 80)
    await scene.call("k1", limit, run_id="care", tokens=20, purpose="summary")
    refused = await scene.held("k1", limit)
    assert isinstance(refused.admission, Refused)
    later = rule("other", "0.02", pot="p", period="session")
    assert isinstance((await scene.held("k2", later, run_id="care")).admission, Refused), "the fold agrees"
    spent = await scene.record.spend(LedgerFilter(session_uid=talk.session_uid), ["purpose"])
    assert {line.group[0]: line.usage.tokens for line in spent} == {"main": 30, "summary": 70}
    lines = {line.name: line for line in await scene.record.sessions(SessionFilter())}
    assert lines["talk"].usage.tokens == 100
    assert lines["@maintenance"].usage.tokens == 0
    found = await scene.record.run("care")
    assert found is not None
    assert found.charged_uid == talk.session_uid
    assert [event["type"] for event in await scene.events("care")].count("budget.settled") == 2, (
        "its own timeline"
    )

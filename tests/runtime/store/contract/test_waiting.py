"""Calls that wait: order of arrival, waking, leaving."""

from __future__ import annotations

import asyncio

import pytest

from runtime.ledger import Blocked, Counter, Refused, Rule
from runtime.record import CallHeld, CallOpened
from tests.runtime.store.support import CENT, Scene, dollars, rule

pytestmark = pytest.mark.usefixtures("real_time")
SOON_S = 5.0
"""Long enough never to be reached unless a wake-up was lost."""


async def wait_in_line(scene: Scene, run_id: str, *rules: Rule, key: str = "k") -> CallOpened | CallHeld:
    """Ask until the call is admitted or refused, as the gate of calls does."""
    answer = await scene.open(key, *rules, run_id=run_id)
    while isinstance(answer, CallHeld) and isinstance(answer.admission, Blocked):
        assert await scene.record.wait_settled(SOON_S), "nobody said that a hold was settled"
        answer = await scene.open(key, *rules, run_id=run_id, ticket=answer.ticket)
    assert isinstance(answer, (CallOpened, CallHeld))
    return answer


async def runs(scene: Scene, count: int) -> list[str]:
    names = [f"run-{number}" for number in range(count)]
    for name in names:
        await scene.claim(name)
    return names


async def test_waiting_is_said_once_and_asking_again_commits_nothing(scene: Scene) -> None:
    await runs(scene, 2)
    limit = rule("daily", 100)
    await scene.opened("k", limit, run_id="run-0")
    held = await scene.held("k", limit, run_id="run-1")
    assert [entry.event.__class__.__name__ for entry in held.entries] == ["BudgetWaiting"]
    again = await scene.held("k", limit, run_id="run-1", ticket=held.ticket)
    assert again.entries == ()
    assert again.ticket == held.ticket
    assert sum(isinstance(said, Blocked) for said in scene.builds) == 1
    forgot = await scene.held("k", limit, run_id="run-1")
    assert forgot.ticket == held.ticket


async def test_what_was_said_before_is_kept_when_asking_again(scene: Scene) -> None:
    await runs(scene, 2)
    limit = rule("daily", 100)
    await scene.opened("k", limit, run_id="run-0")
    held = await scene.held("k", limit, run_id="run-1")
    more = [scene.event("run-1", "meanwhile")]
    again = await scene.held("k", limit, run_id="run-1", ticket=held.ticket, before=more)
    assert [entry.event for entry in again.entries] == more


@pytest.mark.promise("BUD-10")
async def test_waiting_calls_are_admitted_in_order_of_arrival(scene: Scene) -> None:
    limit = rule("daily", 1000)
    first, *others = await runs(scene, 6)
    call = await scene.opened("k", limit, run_id=first)
    order: list[str] = []

    async def wait(run_id: str) -> None:
        # no estimate but the first: each holds all that is left, so they go one after the other
        answer = await wait_in_line(scene, run_id, limit)
        assert isinstance(answer, CallOpened)
        order.append(run_id)
        await asyncio.sleep(0.002)
        await scene.record.release_call(answer.call_id, run_id, scene.at, [])

    waiting = []
    for run_id in others:
        waiting.append(asyncio.create_task(wait(run_id)))
        await asyncio.sleep(0.02)
    await scene.record.release_call(call.call_id, first, scene.at, [])
    await asyncio.wait_for(asyncio.gather(*waiting), 2 * SOON_S)
    assert order == others


@pytest.mark.promise("BUD-10")
async def test_nobody_overtakes_a_waiting_call(scene: Scene) -> None:
    """A small call that would fit stays behind a large strict one; one of another budget does not."""
    await runs(scene, 4)
    strict, other = rule("strict", 100, strict=True), rule("other", 100)
    await scene.call("warm", run_id="run-0", tokens=1)
    await scene.opened("k", strict, run_id="run-0", tokens=60)
    large = await scene.held("k", strict, run_id="run-1", tokens=60)
    small = await scene.held("k", strict, run_id="run-2", tokens=5)
    assert isinstance(small.admission, Blocked)
    assert small.admission.rules == (0,)
    await scene.opened("k", other, run_id="run-3", tokens=5)
    assert large.ticket is not None
    await scene.record.leave_queue(large.ticket)
    await scene.opened("k", strict, run_id="run-2", tokens=5, ticket=small.ticket)


async def test_a_call_waits_only_behind_those_that_wait_for_the_same_budget(scene: Scene) -> None:
    await runs(scene, 4)
    one, two = rule("one", 100), rule("two", 100)
    await scene.opened("k", one, run_id="run-0")
    await scene.held("k", one, two, run_id="run-1")
    # the waiting call stands in line for `one` alone: `two` is free
    await scene.opened("k", two, run_id="run-2")
    both = await scene.held("k", two, one, run_id="run-3")
    assert isinstance(both.admission, Blocked)
    assert both.admission.rules == (0, 1)


async def test_leaving_the_queue_wakes_those_behind(scene: Scene) -> None:
    await runs(scene, 3)
    strict = rule("strict", 100, strict=True)
    await scene.call("warm", run_id="run-0", tokens=1)
    await scene.opened("k", strict, run_id="run-0", tokens=60)
    large = await scene.held("k", strict, run_id="run-1", tokens=60)
    behind = asyncio.create_task(wait_in_line(scene, "run-2", strict))
    await asyncio.sleep(0.05)
    assert not behind.done()
    assert large.ticket is not None
    await scene.record.leave_queue(large.ticket)
    assert isinstance(await asyncio.wait_for(behind, SOON_S), CallOpened)


async def test_a_run_that_ends_leaves_the_queue(scene: Scene) -> None:
    await runs(scene, 3)
    strict = rule("strict", 100, strict=True)
    await scene.call("warm", run_id="run-0", tokens=1)
    await scene.opened("k", strict, run_id="run-0", tokens=60)
    await scene.held("k", strict, run_id="run-1", tokens=60)
    behind = await scene.held("k", strict, run_id="run-2", tokens=5)
    await scene.finish("run-1", "cancelled")
    await scene.opened("k", strict, run_id="run-2", tokens=5, ticket=behind.ticket)


async def test_wait_settled_times_out_when_nothing_happens(scene: Scene) -> None:
    await runs(scene, 2)
    await scene.opened("k", rule(), run_id="run-0")
    await scene.held("k", rule(), run_id="run-1")
    assert not await scene.record.wait_settled(0.02)
    assert not await scene.record.wait_settled(0.0)


async def test_a_settle_between_the_answer_and_the_wait_is_not_missed(scene: Scene) -> None:
    await runs(scene, 2)
    call = await scene.opened("k", rule("daily", 100), run_id="run-0")
    held = await scene.held("k", rule("daily", 100), run_id="run-1")
    await scene.close(call, 10, run_id="run-0")
    assert await scene.record.wait_settled(SOON_S)
    await scene.opened("k", rule("daily", 100), run_id="run-1", ticket=held.ticket)


async def test_a_waiting_call_is_refused_once_the_limit_is_reached(scene: Scene) -> None:
    await runs(scene, 3)
    limit = rule("daily", 100)
    call = await scene.opened("k", limit, run_id="run-0")
    waiting = [asyncio.create_task(wait_in_line(scene, run_id, limit)) for run_id in ("run-1", "run-2")]
    await asyncio.sleep(0.02)
    await scene.close(call, 100, run_id="run-0")
    answers = await asyncio.wait_for(asyncio.gather(*waiting), SOON_S)
    for answer in answers:
        assert isinstance(answer, CallHeld)
        assert isinstance(answer.admission, Refused)
        assert answer.ticket is None


async def spend_all_at_once(scene: Scene, count: int, limit: Rule, cost: int) -> tuple[int, int]:
    """`count` runs that each make one call of that cost; gives calls made and runs refused."""
    names = await runs(scene, count)

    async def one(run_id: str) -> bool:
        answer = await wait_in_line(scene, run_id, limit)
        if isinstance(answer, CallHeld):
            return False
        await asyncio.sleep(0.005)
        await scene.close(answer, 10, cost, run_id=run_id)
        return True

    made = await asyncio.wait_for(asyncio.gather(*map(one, names)), 30)
    return sum(made), count - sum(made)


async def test_concurrent_runs_overspend_by_one_call_at_most(scene: Scene) -> None:
    limit = rule("cap", "1.00", period="session")
    calls, refused = await spend_all_at_once(scene, 8, limit, dollars("0.40"))
    assert calls <= 3
    assert calls + refused == 8
    (line,) = await scene.record.all_counters("real")
    assert line.counter == Counter(calls * dollars("0.40"), 0)
    ninth = await scene.claim("run-ninth")
    assert ninth.session_uid == scene.sessions["run-0"]
    assert isinstance((await scene.held("k", limit, run_id="run-ninth")).admission, Refused)


async def test_first_ever_calls_of_a_user_do_not_pass_the_cap(scene: Scene) -> None:
    limit = rule("life", "0.50", period="lifetime")
    calls, _ = await spend_all_at_once(scene, 8, limit, 30 * CENT)
    assert calls <= 2
    (line,) = await scene.record.all_counters("real")
    assert line.counter == Counter(calls * 30 * CENT, 0)

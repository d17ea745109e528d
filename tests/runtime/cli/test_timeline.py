"""The fold from events to rows."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import events as ev
from runtime.cli.timeline import Row, Timeline, fold
from runtime.usage import Usage
from tests.runtime.cli.timelines import RUN, at, call, finished, gauge, numbered, started, stopped, usual


def shape(rows: list[Row]) -> list[tuple[str, int, str, str]]:
    return [(row.kind, row.depth, row.what, row.state) for row in rows]


def test_timeline_is_a_tree_of_run_node_call_and_tool() -> None:
    assert shape(fold(numbered(usual()))) == [
        ("run", 0, "support", "completed"),
        ("node", 1, "helper", "done"),
        ("call", 2, "main", "done"),
        ("tool", 3, "memory_read", "done"),
        ("memory", 3, "memory read", "done"),
        ("call", 2, "main", "done"),
    ]


def test_timeline_call_has_what_it_used_and_what_was_left() -> None:
    row = fold(numbered(usual()))[2]
    assert (row.step, row.offset_ms, row.ms, row.model) == (1, 10, 800, "local:small")
    assert row.usage == Usage(1200, 400, 0, 56)
    assert (row.cost, row.unknown, row.estimated) == (1_000_000, 0, False)
    assert row.gauges[0].used == 1_000_000
    assert row.text == "asks for memory_read"


def test_timeline_run_has_the_totals_that_its_last_event_tells() -> None:
    run = fold(numbered(usual()))[0]
    assert (run.usage, run.cost, run.ms, run.calls) == (Usage(2400, 800, 0, 112), 2_000_000, 1700, 2)


def test_timeline_tool_tells_its_arguments_and_its_result() -> None:
    assert fold(numbered(usual()))[3].text == '{"keys":["name"]} → {"name":"Ada"}'


def test_timeline_warning_and_stop_are_rows_with_their_budget() -> None:
    rows = fold(numbered(stopped()))
    warning = next(row for row in rows if row.kind == "warning")
    stop = next(row for row in rows if row.kind == "stop")
    assert warning.gauge == gauge(410_000_000)
    assert (stop.gauge, stop.remedy) == (gauge(520_000_000), "Raise its limit.")
    node = next(row for row in rows if row.kind == "node")
    assert (node.state, node.text) == ("failed", "")  # the stop below it has told why


def test_timeline_node_tells_an_error_that_no_row_below_it_has_told() -> None:
    error = ev.CallError(code="node.failed", message="It broke.")
    rows = fold(numbered([*started(), *finished(5, state="failed", error=error)]))
    assert rows[1].text == "It broke."
    assert (rows[0].code, rows[0].text) == ("node.failed", "It broke.")


def test_timeline_unknown_cost_is_unknown_and_never_zero() -> None:
    rows = fold(numbered([*started(), *call(10, 1, cost=None)]))
    assert (rows[2].cost, rows[2].unknown) == (None, 1)
    end = ev.RunFinished(at=at(9), run_id=RUN, state="completed", cost=0, unknown_cost=1)
    assert fold(numbered([*started(), end]))[0].cost is None


def test_timeline_attempts_of_one_call_are_rows_of_their_own() -> None:
    where: dict[str, Any] = {"run_id": RUN, "node_id": "helper", "step": 1}
    told: dict[str, Any] = {**where, "call": "k", "purpose": "main", "model": "m"}
    failed: list[ev.Event] = [
        ev.ModelCalled(at=at(1), **told),
        ev.BudgetReleased(at=at(2), **where, call="k", reason="model.rate_limited"),
        ev.AgentUsage(
            at=at(2),
            **told,
            error=ev.CallError(code="model.rate_limited", message="Too many requests."),
            ms=1,
        ),
    ]
    again: list[ev.Event] = [
        ev.ModelCalled(at=at(9), **where, call="k", purpose="main", model="m", attempt=2),
        ev.AgentUsage(
            at=at(12), **where, call="k", purpose="main", model="m", attempt=2, usage=Usage(5), cost=0
        ),
    ]
    rows = fold(numbered([*started(), *failed, *again]))[2:]
    assert [(row.attempt, row.state, row.usage) for row in rows] == [
        (1, "failed", None),
        (2, "done", Usage(5)),
    ]
    assert rows[0].text == "Too many requests."


def test_timeline_waiting_is_news_at_once_and_counted() -> None:
    where: dict[str, Any] = {"run_id": RUN, "node_id": "helper", "step": 1}
    timeline = Timeline()
    for seq, event in numbered(started()):
        timeline.add(seq, event)
    waiting = ev.BudgetWaiting(at=at(10), **where, call="helper#1/1/0", gauges=(gauge(1),))
    (news,) = timeline.add(4, waiting)
    assert (news.kind, news.state) == ("call", "waiting")
    for seq, event in enumerate(call(400, 1), 5):
        timeline.add(seq, event)
    assert timeline.rows()[2].waited_ms == 390


def test_timeline_news_are_what_ended_in_order() -> None:
    timeline = Timeline()
    news = [row for seq, event in numbered(usual()) for row in timeline.add(seq, event)]
    assert [row.kind for row in news] == ["call", "memory", "tool", "call", "node", "run"]


def test_timeline_end_of_a_run_ends_all_below_it() -> None:
    events = [*started(), *call(10, 1)[:2], ev.RunFinished(at=at(50), run_id=RUN, state="interrupted", ms=50)]
    rows = fold(numbered(events))
    assert [(row.kind, row.state, row.ms) for row in rows] == [
        ("run", "interrupted", 50),
        ("node", "interrupted", 50),
        ("call", "interrupted", 40),
    ]


def test_timeline_orphan_says_that_it_was_charged_at_the_estimate() -> None:
    where: dict[str, Any] = {"run_id": RUN, "node_id": "helper", "step": 1}
    settled = ev.BudgetSettled(
        at=at(90), **where, call="helper#1/1/0", tokens=5000, cost=9, status="orphaned", estimated=True
    )
    row = fold(numbered([*started(), *call(10, 1)[:2], settled]))[2]
    assert (row.estimated, row.cost, "estimate" in row.text) == (True, 9, True)


@pytest.mark.promise("EVT-4")
def test_timeline_unknown_types_are_shown_raw() -> None:
    body = {"type": "future.thing", "at": "2026-03-02T09:30:00Z", "run_id": RUN, "node_id": None, "size": 3}
    rows = fold([*numbered(started()), (4, ev.Unknown("future.thing", body))])
    assert (rows[-1].what, rows[-1].text) == ("future.thing", '{"size":3}')


def test_timeline_nodes_inside_a_body_are_below_it() -> None:
    events: list[ev.Event] = [
        *started(),
        ev.NodeStarted(at=at(1), run_id=RUN, node_id="loop"),
        ev.NodeStarted(at=at(2), run_id=RUN, node_id="loop/writer", visit=2),
        *call(3, 1, node="loop/writer"),
    ]
    assert [(row.depth, row.what) for row in fold(numbered(events))][2:] == [
        (1, "loop"),
        (2, "loop/writer · visit 2"),
        (3, "main"),
    ]


def test_timeline_takes_an_example_of_every_event_type() -> None:
    from runtime.cli.event_schema import example

    for name, cls in ev.event_types().items():
        event = ev.decode(msgspec.json.encode(example(cls)))
        assert isinstance(event, cls), name
        assert all(isinstance(row, Row) for row in fold([(1, event)]))


@given(st.lists(st.sampled_from(usual() + stopped()), max_size=60))
def test_timeline_takes_any_order_of_events(events: list[ev.Event]) -> None:
    """Retention may cut a timeline anywhere; the fold never fails, and every row has a place."""
    rows = fold(numbered(events))
    depth = -1
    for row in rows:
        assert row.depth <= depth + 1
        depth = row.depth


@given(st.integers(0, len(usual())))
def test_timeline_of_a_beginning_is_a_beginning_of_the_timeline(length: int) -> None:
    begun = fold(numbered(usual()[:length]))
    assert [row.seq for row in begun] == [row.seq for row in fold(numbered(usual()))[: len(begun)]]


def test_timeline_work_grows_with_the_events_only() -> None:
    """Ten times the runs take ten times the function calls, not a hundred times: no event looks back at
    all that came before it."""

    def calls(runs: int) -> int:
        events = [
            (i, msgspec.structs.replace(event, run_id=f"r{run}"))
            for run in range(runs)
            for i, event in enumerate(usual())
        ]
        count = 0

        def profile(_frame: object, what: str, _argument: object) -> None:
            nonlocal count
            count += what in ("call", "c_call")

        sys.setprofile(profile)
        try:
            fold(events)
        finally:
            sys.setprofile(None)
        return count

    assert calls(200) < calls(20) * 11


@pytest.mark.parametrize("outcome", ["created", "replaced", "conflict"])
def test_timeline_memory_writes_tell_key_value_and_outcome(outcome: str) -> None:
    event = ev.MemoryWrite(
        at=at(1),
        run_id=RUN,
        namespace="f",
        scope="user",
        keys=("name",),
        outcome=outcome,
        version=2,
        value="Ada",
    )
    (row,) = [row for row in fold([(1, event)]) if row.kind == "memory"]
    assert row.text == "name = Ada" + ("" if outcome == "created" else f" ({outcome})")

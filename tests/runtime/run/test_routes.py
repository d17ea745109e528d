"""Branches, joins and circles: what runs, what is skipped, how often."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from runtime.errors import BadFlow
from runtime.testing import run_flow
from tests.flows import flow, node, says


def two_conditionals() -> dict[str, Any]:
    """Two routers at the same time, both arms of each into one join."""
    nodes = [node("start", "input", schema={"type": "object"})]
    edges: list[tuple[str, ...]] = []
    for name in ("p", "q"):
        nodes += [
            node(name, "router", branches=[{"name": "yes", "when": f"input.{name}"}], default="no"),
            node(f"{name}_yes", "template", text=f"{name} yes"),
            node(f"{name}_no", "template", text=f"{name} no"),
        ]
        edges += [("start", name), (f"{name}.yes", f"{name}_yes"), (f"{name}.no", f"{name}_no")]
        edges += [(f"{name}_yes", "join"), (f"{name}_no", "join")]
    return flow([*nodes, node("join", "output")], edges)


@pytest.mark.parametrize(("p", "q"), [*product([True, False], repeat=2)])
async def test_a_join_after_two_conditionals_runs_once(p: bool, q: bool) -> None:
    ran = await run_flow(two_conditionals(), {"p": p, "q": q})
    first, second = ("yes" if p else "no"), ("yes" if q else "no")
    assert ran.outcome.outputs == {"join": {f"p_{first}": f"p {first}", f"q_{second}": f"q {second}"}}
    started = [event.node_id for event in ran.of("node.started")]
    assert started.count("join") == 1
    assert {event.node_id for event in ran.of("node.skipped")} == {
        f"p_{'no' if p else 'yes'}",
        f"q_{'no' if q else 'yes'}",
    }


async def test_a_skip_travels_on() -> None:
    document = flow(
        [
            node("start", "input"),
            node("r", "router", branches=[{"name": "a", "when": "'a' in input"}], default="b"),
            *(node(name, "template", text="{{ input }}!") for name in ("one", "two", "three")),
            node("end", "output"),
            node("other", "output"),
        ],
        [
            ("start", "r"),
            ("r.a", "one"),
            ("one", "two"),
            ("two", "three"),
            ("three", "end"),
            ("r.b", "other"),
        ],
    )
    ran = await run_flow(document, "xyz")
    assert ran.outcome.outputs == {"other": "xyz"}
    assert [event.node_id for event in ran.of("node.skipped")] == ["one", "two", "three", "end"]
    assert (await run_flow(document, "a")).outcome.outputs == {"end": "a!!!"}


def circle(until: int) -> dict[str, Any]:
    """grow → check → back to grow until the text is long enough."""
    return flow(
        [
            node("start", "input"),
            node("grow", "template", text="{% for k, v in inputs.items() %}{{ v }}{% endfor %}x"),
            node("copy", "template", text="{{ input }}"),
            node(
                "check",
                "router",
                branches=[{"name": "again", "when": f"input | length < {until}"}],
                default="done",
            ),
            node("end", "output"),
        ],
        [
            ("start", "grow"),
            ("grow", "copy"),
            ("copy", "check"),
            ("check.again", "grow"),
            ("check.done", "end"),
        ],
    )


async def test_a_circle_through_a_router_goes_round_until_it_is_left() -> None:
    ran = await run_flow(circle(5), "")
    assert ran.outcome.outputs == {"end": "xxxxx"}
    visits = [(event.node_id, event.visit) for event in ran.of("node.started")]
    assert [visit for name, visit in visits if name == "grow"] == [1, 2, 3, 4, 5]
    assert [visit for name, visit in visits if name == "check"] == [1, 2, 3, 4, 5]
    assert [visit for name, visit in visits if name == "end"] == [1]
    assert ran.of("node.skipped") == []


async def test_a_circle_that_is_never_left_ends_at_its_bound() -> None:
    ran = await run_flow(circle(1000), "")
    assert ran.outcome.state == "failed"
    assert ran.outcome.error is not None
    assert ran.outcome.error.code == "run.max_visits"
    assert len([event for event in ran.of("node.started") if event.node_id == "grow"]) == 26


@pytest.mark.promise("FLO-4")
async def test_a_circle_without_a_router_is_refused() -> None:
    document = flow([node("a", "template", text="x"), node("b", "output")], [("a", "b"), ("b", "a")])
    with pytest.raises(BadFlow) as found:
        await run_flow(document)
    assert "flow.cycle" in {problem.code for problem in found.value.problems}


async def test_a_model_can_choose_the_branch() -> None:
    labels = [{"name": "refund", "description": "money back"}, {"name": "other"}]
    document = flow(
        [
            node("start", "input"),
            node("r", "router", classify={"labels": labels}, default="other"),
            node("refunds", "output"),
            node("rest", "output"),
        ],
        [("start", "r"), ("r.refund", "refunds"), ("r.other", "rest")],
    )
    for answer, end in (('{"label": "refund"}', "refunds"), ("Refund.", "refunds"), ("no idea", "rest")):
        ran = await run_flow(document, "I want my money back", script=[says(answer, 10)], strict=True)
        assert list(ran.outcome.outputs) == [end]
        assert ran.outcome.usage.tokens == 10


async def test_no_branch_and_no_default_is_an_error() -> None:
    document = flow(
        [
            node("start", "input"),
            node("r", "router", branches=[{"name": "a", "when": "false"}]),
            node("end", "output"),
        ],
        [("start", "r"), ("r.a", "end")],
    )
    ran = await run_flow(document, "x")
    assert ran.outcome.error is not None
    assert ran.outcome.error.code == "router.no_branch"


@pytest.mark.promise("RUN-1")
async def test_independent_nodes_run_at_the_same_time() -> None:
    document = flow(
        [node("start", "input"), node("a", "agent"), node("b", "agent"), node("end", "output")],
        [("start", "a"), ("start", "b"), ("a", "end"), ("b", "end")],
    )
    script = {"a": [says("A", latency_s=5)], "b": [says("B", latency_s=5)]}
    ran = await run_flow(document, "x", script=script)
    assert ran.outcome.outputs == {"end": {"a": "A", "b": "B"}}
    times = [event.at for event in ran.of("run.started", "run.finished")]
    assert (times[1] - times[0]).total_seconds() == pytest.approx(5)


@pytest.mark.promise("RUN-2")
async def test_after_a_failure_siblings_finish_and_nothing_new_starts() -> None:
    document = flow(
        [
            node("start", "input"),
            node("bad", "agent"),
            node("slow", "agent"),
            node("after", "template", text="{{ input }}"),
            node("end", "output"),
        ],
        [("start", "bad"), ("start", "slow"), ("slow", "after"), ("after", "end"), ("bad", "end")],
    )
    script = {
        "bad": [{"error": {"kind": "auth", "message": "no"}}],
        "slow": [says("S", latency_s=3)],
    }
    ran = await run_flow(document, "x", script=script)
    assert ran.outcome.state == "failed"
    finished = [event.node_id for event in ran.of("node.finished")]
    assert "slow" in finished
    assert "after" not in [event.node_id for event in ran.of("node.started")]

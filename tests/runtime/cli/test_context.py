"""The bill of a context: parts share what was paid for, and the command shows them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cli.context_bill import Sent, bill, calls_of
from runtime.events import AgentUsage, ContextAssembled, ContextSection, ModelCalled
from runtime.usage import Usage
from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.runtime.cli.conftest import Farthing

__all__ = ["fake_model"]
Write = Callable[..., str]
AT = datetime(2026, 3, 4, tzinfo=UTC)
ABOUT: dict[str, Any] = {"at": AT, "run_id": "r", "node_id": "n", "step": 1}


def sent(tokens: list[int], usage: Usage, cost: int | None) -> Sent:
    sections = tuple(ContextSection(name=f"s{i}", tokens=n) for i, n in enumerate(tokens))
    context = ContextAssembled(**ABOUT, sections=sections, tokens=sum(tokens))
    called = ModelCalled(**ABOUT, call="c", purpose="main", model="p:m")
    used = AgentUsage(**ABOUT, call="c", purpose="main", model="p:m", usage=usage, cost=cost)
    (found,) = calls_of(enumerate([context, called, used], 1))
    assert found == Sent(2, context, called, used)
    return found


def test_parts_share_the_input_that_was_paid_for_at_its_price() -> None:
    made = bill(sent([100, 300], Usage(input=800, output=50), 1), {"input": "2.00", "output": "8.00"})
    assert [part.cost for part in made.parts] == [400_000, 1_200_000]
    assert [part.share for part in made.parts] == [0.25, 0.75]
    assert (made.answer_tokens, made.answer_cost, made.by_price) == (50, 400_000, True)


def test_cached_tokens_belong_to_what_is_sent_first_and_cost_less() -> None:
    price = {"input": "2.00", "cached": "0.20", "output": "8.00"}
    made = bill(sent([100, 100, 100], Usage(input=300, cached=150), 1), price)
    assert [part.cached for part in made.parts] == [1.0, 0.5, 0.0]
    assert [part.cost for part in made.parts] == [20_000, 110_000, 200_000]


def test_without_a_price_the_cost_is_shared_by_tokens_and_unknown_stays_unknown() -> None:
    made = bill(sent([100, 100], Usage(input=200, output=200), 400), None)
    assert ([part.cost for part in made.parts], made.answer_cost, made.by_price) == ([100, 100], 200, False)
    made = bill(sent([100, 100], Usage(input=200, output=200), None), None)
    assert ([part.cost for part in made.parts], made.answer_cost) == ([None, None], None)


@given(
    st.lists(st.integers(0, 5000), max_size=8),
    st.integers(0, 40_000),
    st.integers(0, 100),
    st.integers(0, 5000),
)
def test_parts_add_up_to_the_call(tokens: list[int], paid: int, cached_pct: int, output: int) -> None:
    usage = Usage(input=paid, cached=paid * cached_pct // 100, output=output)
    price = {"input": "2.50", "cached": "0.25", "output": "10"}
    made = bill(sent(tokens, usage, 1), price)
    exact = (paid - usage.cached) * 2500 + usage.cached * 250
    if sum(tokens) and paid:
        assert abs(sum(part.cost or 0 for part in made.parts) - exact) <= len(tokens) + 1
    assert made.answer_cost == output * 10_000


@pytest.fixture
def ran(farthing: Farthing, write_flow: Write) -> Farthing:
    """One run of two steps on Monday, one of one step on Tuesday."""
    call = {"name": "memory_write", "arguments": {"key": "name", "value": "Ada"}}
    flow = write_flow(
        {"if": "Ada", "tool_calls": [call], "usage": {"input": 400, "output": 9}, "cost": "0.01"},
        {"text": "Hello, Ada.\x1b[2J", "usage": {"input": 500, "cached": 100, "output": 20}, "cost": "0.02"},
    )
    assert farthing("run", flow, "I am Ada", "--session", "monday").code == 0
    assert farthing("run", flow, "Again", "--session", "tuesday").code == 0
    return farthing


@pytest.mark.promise("MEM-9")
def test_context_shows_each_part_with_tokens_and_cost(ran: Farthing) -> None:
    said = ran("context", "monday", "2")
    assert said.code == 0
    assert "in 500, 100 of it cached → out 20 · $0.02" in said.out
    for part in ("system", "tools", "known_facts", "fact/name", "turn", "answer"):
        assert part in said.out
    found = ran("context", "monday", "2", "--json").json[0]
    assert found["step"] == 2
    assert sum(part["tokens"] for part in found["parts"]) == found["tokens"]
    assert sum(float(part["cost"]) for part in found["parts"]) + float(found["answer"]["cost"]) == (
        pytest.approx(0.02, abs=1e-6)
    )


def test_context_without_a_step_is_that_of_the_last_call(ran: Farthing) -> None:
    (found,) = ran("context", "monday", "--json").json
    assert (found["step"], found["usage"]["input"]) == (2, 500)
    assert ran("context", "--json").json[0]["session_uid"] != found["session_uid"]


def test_context_of_a_step_that_was_not_lists_those_that_were(ran: Farthing) -> None:
    said = ran("context", "monday", "7")
    assert said.code == 2
    assert "There are steps 1, 2." in said.err
    assert ran("context", "monday", "--node", "none").code == 2
    assert ran("context", "monday", "--purpose", "main", "--node", "helper").code == 0


def test_context_messages_are_spelled_out(ran: Farthing) -> None:
    out = ran("context", "monday", "1", "--messages").out
    assert "user:\n  I am Ada" in out
    assert "\x1b" not in ran("context", "tuesday", "--messages").out


def test_context_lists_what_was_left_out_and_why(farthing: Farthing, folder: Any) -> None:
    import json

    from tests.runtime.cli.conftest import flow, script

    document = flow()
    document["nodes"][2]["config"]["injection"] = {"tokens": 40}
    (folder / "g.json").write_text(json.dumps(document), "utf-8")
    (folder / "g.script.json").write_text(json.dumps(script({"text": "Hello."})), "utf-8")
    for key in ("one", "two"):
        value = f"{key} " * 60
        done = farthing("facts", "set", key, value, "--namespace", "flow-1", "--rehearsal", "--user", "local")
        assert done.code == 0
    assert farthing("run", "g.json", "hi", "--session", "s").code == 0
    said = farthing("context", "s")
    assert "Left out: 2" in said.out
    assert "fact/one" in said.out


def test_a_rehearsal_that_is_newer_is_noticed(
    farthing: Farthing, write_flow: Write, fake_model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARTHING_BASE_URL", fake_model.url)
    monkeypatch.setenv("FARTHING_API_KEY", "k-0123456789")
    fake_model.play(answer("Hello."))
    flow = write_flow()
    assert farthing("run", flow, "Hi", "--session", "paid", "--model", "env:m").code == 0
    newer = "A rehearsal is newer; --rehearsal shows it.\n"
    assert newer not in farthing("context").err
    assert farthing("run", flow, "Hi", "--model", "scripted").code == 0
    assert newer in farthing("context").err and newer in farthing("events").err
    assert newer not in farthing("context", "paid").err


@pytest.mark.promise("MEM-13")
def test_context_tells_what_the_window_took_stage_by_stage(farthing: Farthing, tmp_path: Any) -> None:
    import asyncio

    from runtime.clock import SystemClock
    from runtime.store.opening import open_record
    from runtime.testing import Bench
    from tests.flows import agent_flow, says
    from tests.runtime.memory_service.test_assembly import with_window

    async def talk() -> None:
        clock = SystemClock()
        settings, record = with_window(tmp_path, 400), open_record(tmp_path / "w.db", clock)
        document = agent_flow(agent={"context": {"mode": "full"}, "max_output_tokens": 50})
        async with Bench(settings=settings, clock=clock, record=record) as bench:
            for turn in range(12):
                await bench.run(document, f"turn {turn} " + "word " * 30, script=[says("and so on " * 3)])

    asyncio.run(talk())
    said = farthing("context", "test", "--db", str(tmp_path / "w.db"))
    assert "Gave way to fit into 350 tokens:" in said.out
    assert "2  old turns" in said.out
    assert "history: messages 1 to 2" in said.out
    found = farthing("context", "test", "--json", "--db", str(tmp_path / "w.db")).json[0]
    assert [each["stage"] for each in found["gave_way"]] == [2, 5]

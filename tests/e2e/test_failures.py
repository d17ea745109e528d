"""A provider that misbehaves in every way we know of, and whole flows that meet it over HTTP."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.e2e.misbehaviours import FAILURES, TIMEOUT_S, TRIES, Case, passing
from tests.e2e.place import KEY, Happened, Place, governed, place, provider_settings
from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import PLAYS, SMALL_USAGE, answer, failure, tool_call
from tests.fake_model.server import FakeModel
from tests.flows import agent_flow

__all__ = ["fake_model"]
TOKENS = SMALL_USAGE["total_tokens"]
COST = SMALL_USAGE["prompt_tokens"] * 1_000 + SMALL_USAGE["completion_tokens"] * 4_000
"""Of one sound answer in nano-dollars, at the provider's prices of 1 and 4 dollars a million."""
MATRIX = [(case, mode) for case in FAILURES for mode in case.met()]


PATIENCE_S = 20.0
"""The time-out where none is expected, so that a busy machine makes none."""


def settings(fake: FakeModel, code: str = "timeout") -> str:
    return provider_settings(fake.url, timeout_s=TIMEOUT_S if code == "timeout" else PATIENCE_S)


@pytest.mark.promise("MOD-2", "MOD-3", "RUN-8", "LED-3")
@pytest.mark.parametrize(("case", "mode"), MATRIX, ids=[f"{case.name}-{mode}" for case, mode in MATRIX])
async def test_provider_failure_ends_in_its_error_and_a_settled_account(
    case: Case, mode: str, fake_model: FakeModel, tmp_path: Path
) -> None:
    fake_model.default = case.play
    async with place(tmp_path, settings(fake_model, case.code)) as here:
        failed = await here.run(governed(), streamed=mode == "streamed")
        check_failed(failed, case)
        check_charged(failed, case)
        assert fake_model.count == case.calls
        assert len(here.clock.pauses) == case.calls - 1
        assert all(pause >= case.least_pause for pause in here.clock.pauses)
        await check_goes_on(here, fake_model, streamed=mode == "streamed")


def check_failed(failed: Happened, case: Case) -> None:
    """The run failed with this code, one event an attempt, in words that a person can use."""
    outcome = failed.outcome
    assert (outcome.state, outcome.exit_code) == ("failed", 1)
    assert outcome.error is not None
    assert outcome.error.code == f"model.{case.code}"
    assert outcome.error.remedy
    assert len(outcome.error.message) < 500
    assert [event["attempt"] for event in failed.of("model.called")] == list(range(1, case.calls + 1))
    for usage in failed.of("agent.usage"):
        assert usage["error"]["code"] == f"model.{case.code}"
        assert usage["error"].get("status") == case.status
    assert failed.of("agent.response") == []
    (node,) = failed.of("node.failed")
    assert node["node_id"] == "a"


def check_charged(failed: Happened, case: Case) -> None:
    """The ledger has what the provider may have billed: nothing, what it told, or an estimate."""
    kinds = [row.kind for row in failed.rows]
    if case.charge == "nothing":
        assert kinds == ["hold", "release"] * case.calls
        assert failed.outcome.usage.tokens == failed.outcome.cost == 0
        assert len(failed.of("budget.released")) == case.calls
        return
    assert kinds == ["hold", "settle"]
    (row,) = failed.settled()
    assert row.status == "settled"
    assert row.estimated == (case.charge == "estimate")
    assert row.usage.tokens > 0
    assert row.cost is not None and row.cost > 0
    (usage,) = failed.of("agent.usage")
    assert usage["estimated"] == row.estimated
    assert usage["cost"] == row.cost
    used = {line.key.metric: line.counter.used for line in failed.counters}
    assert used == {"tokens": row.usage.tokens, "spend": row.cost}


async def check_goes_on(here: Place, fake: FakeModel, *, streamed: bool) -> None:
    """The session takes a new turn, which knows nothing of the one that failed."""
    fake.default = answer("Fine.")
    again = await here.run(governed(), "And now?", streamed=streamed)
    assert again.outcome.state == "completed"
    assert again.outcome.outputs == {"end": "Fine."}
    assert (again.outcome.usage.tokens, again.outcome.cost) == (TOKENS, COST)
    sent = [message["content"] for message in fake.calls[-1].body["messages"]]
    assert sent == ["And now?"]
    assert again.deltas == (["Fine."] if streamed else [])


@pytest.mark.promise("RUN-8")
@pytest.mark.parametrize("mode", ["plain", "streamed"])
@pytest.mark.parametrize("name", passing())
async def test_what_passes_is_waited_out_and_costs_one_answer(
    name: str, mode: str, fake_model: FakeModel, tmp_path: Path
) -> None:
    case = passing()[name]
    fake_model.play(*case.plays)
    async with place(tmp_path, settings(fake_model)) as here:
        ran = await here.run(governed(), streamed=mode == "streamed")
        assert ran.outcome.state == "completed"
        assert tuple(event["attempt"] for event in ran.of("model.called")) == case.attempts
        assert (ran.outcome.usage.tokens, ran.outcome.cost) == (TOKENS, COST)
        assert [row.kind for row in ran.rows] == ["hold", "release"] * (len(case.plays) - 1) + [
            "hold",
            "settle",
        ]
        assert all(case.least_pause <= pause <= case.least_pause + 10 for pause in here.clock.pauses)


@pytest.mark.promise("MOD-3", "LED-8")
@pytest.mark.parametrize("mode", ["plain", "streamed"])
@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": -3, "completion_tokens": 2}, {"prompt_tokens": "many"}]
)
async def test_missing_or_absurd_usage_is_our_own_count(
    usage: dict[str, object] | None, mode: str, fake_model: FakeModel, tmp_path: Path
) -> None:
    fake_model.default = answer("Hello there.", usage=usage)
    async with place(tmp_path, settings(fake_model)) as here:
        ran = await here.run(governed(), streamed=mode == "streamed")
    (row,) = ran.settled()
    assert ran.outcome.state == "completed"
    assert row.estimated
    assert row.usage.input > 0
    assert 1 <= row.usage.output <= 10
    assert row.cost == row.usage.input * 1_000 + row.usage.output * 4_000


BAD_ARGUMENTS = ["", '{"key": "a', "[]", "null", '{"key": NaN}', "x" * 200_000]


@pytest.mark.promise("RUN-6")
@pytest.mark.parametrize("mode", ["plain", "streamed"])
@pytest.mark.parametrize("arguments", BAD_ARGUMENTS, ids=range(len(BAD_ARGUMENTS)))
async def test_broken_tool_arguments_are_answered_and_the_session_goes_on(
    arguments: str, mode: str, fake_model: FakeModel, tmp_path: Path
) -> None:
    good = tool_call("memory_write", '{"key": "name", "value": "Ada"}', call_id="call_2")
    fake_model.play(answer(None, tool_calls=[tool_call("memory_write", arguments), good]), answer("Done."))
    async with place(tmp_path, settings(fake_model)) as here:
        ran = await here.run(governed(), streamed=mode == "streamed")
        assert ran.outcome.outputs == {"end": "Done."}
        errors = [event["error"]["code"] if event.get("error") else None for event in ran.of("tool.response")]
        assert sorted(errors, key=str) == [None, "tool.bad_arguments"]
        assert [event["value"] for event in ran.of("memory.write")] == ["Ada"]
        told = [message for message in fake_model.calls[1].body["messages"] if message["role"] == "tool"]
        assert [message["tool_call_id"] for message in told] == ["call_1", "call_2"]
        assert "error" in told[0]["content"] and len(told[0]["content"]) < 400
        assert ran.outcome.usage.tokens == 2 * TOKENS
        again = await here.run(governed(), "And now?", streamed=mode == "streamed")
    assert again.outcome.state == "completed"
    sent = fake_model.calls[2].body["messages"]
    calls = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert calls == [message["tool_call_id"] for message in sent if message["role"] == "tool"]


@pytest.mark.promise("RUN-8")
async def test_refused_connection_is_tried_again_and_costs_nothing(
    fake_model: FakeModel, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    nobody = provider_settings(f"http://127.0.0.1:{port}/v1", timeout_s=TIMEOUT_S)
    async with place(tmp_path, nobody) as here:
        failed = await here.run(governed())
    assert failed.outcome.error is not None
    assert failed.outcome.error.code == "model.unreachable"
    assert f"127.0.0.1:{port}" in failed.outcome.error.message
    assert [row.kind for row in failed.rows] == ["hold", "release"] * TRIES
    async with place(tmp_path, settings(fake_model)) as here:
        again = await here.run(governed(), "And now?")
    assert again.outcome.state == "completed"


@pytest.mark.promise("RUN-3")
async def test_time_out_hangs_up_on_the_provider(fake_model: FakeModel, tmp_path: Path) -> None:
    fake_model.play(PLAYS["hang"])
    async with place(tmp_path, settings(fake_model)) as here:
        await here.run(governed())
        again = await here.run(governed(), "And now?")
    assert fake_model.disconnects == 1
    assert again.outcome.state == "completed"


@pytest.mark.promise("MOD-4", "EVT-7")
async def test_key_that_a_provider_repeats_is_stored_nowhere(fake_model: FakeModel, tmp_path: Path) -> None:
    told = {"message": f"Incorrect API key provided: {KEY}. Headers: Authorization=Bearer {KEY}"}
    fake_model.play(failure(401, told), answer(f"Your key is {KEY}."))
    async with place(tmp_path, settings(fake_model)) as here:
        failed = await here.run(governed())
        assert failed.outcome.error is not None
        assert KEY not in failed.outcome.error.message
        said = await here.run(governed(), f"My key is {KEY}")
    assert KEY not in str(said.outcome.outputs)
    assert fake_model.calls[0].headers["authorization"] == f"Bearer {KEY}"
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir() if path.is_file())
    assert KEY.encode() not in stored


async def test_budget_that_a_failed_call_used_up_stops_the_next_run(
    fake_model: FakeModel, tmp_path: Path
) -> None:
    """An estimate counts like any usage: after one call that may have been billed the limit is reached."""
    fake_model.play(PLAYS["hang"])
    async with place(tmp_path, settings(fake_model)) as here:
        failed = await here.run(governed(), limits=("tokens=1000000",))
        assert failed.outcome.exit_code == 1
        budget = {"metric": "tokens", "period": "session", "limit": failed.outcome.usage.tokens}
        small = agent_flow(memory={}, budgets=[budget, {"metric": "spend", "period": "daily", "limit": "4"}])
        stopped = await here.run(small, "And now?")
    assert stopped.outcome.exit_code == 3
    assert stopped.of("model.called") == []
    assert fake_model.count == 1
    (error,) = stopped.of("agent.error")
    assert error["code"] == "budget.exceeded"


async def test_fallback_takes_over_with_an_attempt_of_its_own(fake_model: FakeModel, tmp_path: Path) -> None:
    fake_model.play(*(PLAYS["down"],) * TRIES, answer("From the other."))
    document = governed(model="fake:m", fallback_models=["fake:n"])
    async with place(tmp_path, settings(fake_model)) as here:
        ran = await here.run(document)
    assert ran.outcome.outputs == {"end": "From the other."}
    called = [(event["model"], event["attempt"]) for event in ran.of("model.called")]
    assert called == [*(("fake:m", n) for n in range(1, TRIES + 1)), ("fake:n", 1)]
    assert [warning["code"] for warning in ran.of("agent.warning")] == ["model.fallback"]
    (row,) = ran.settled()
    assert (row.model, row.cost) == ("fake:n", None)
    assert ran.outcome.unknown == 1

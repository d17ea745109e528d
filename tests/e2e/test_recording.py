"""`run --record`: a run on a provider over HTTP becomes a script, and the script gives the same timeline."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runtime.events import Unknown, decode
from runtime.testing import VirtualClock, assert_spend, difference, golden
from runtime.testing_pytest import RunFlow, bench, run_flow, virtual_clock
from tests.e2e.commands import farthing
from tests.e2e.misbehaviours import words
from tests.e2e.place import KEY, provider_settings
from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import OPENAI_USAGE, PLAYS, Play, answer, stream, tool_call
from tests.fake_model.server import FakeModel
from tests.flows import agent_flow

__all__ = ["bench", "fake_model", "run_flow", "virtual_clock"]
BUDGET = {"metric": "tokens", "period": "session", "limit": 1_000_000}
OF_THE_MODEL = frozenset({"model", "rehearsal", "partition", "cost_source", "status", "remedy"})
"""Fields that say which model it was, what its server said, and what to do about it."""


@pytest.fixture
def folder(fake_model: FakeModel, own_home: Path, tmp_path: Path) -> Path:
    """A folder for a flow, and settings that point at the fake provider, whose calls cost nothing."""
    priced = provider_settings(fake_model.url, timeout_s=1.0)
    settings = priced.partition("[providers.fake.prices")[0] + "free = true\n"
    (own_home / "config.toml").write_text(settings, encoding="utf-8")
    (own_home / "config.toml").chmod(0o600)
    return tmp_path


def record(folder: Path, document: dict[str, Any], *more: str, text: str = "Hello") -> Any:
    """Run a flow with --record, in the session `test` of `local`; what the command gave."""
    (folder / "flow.json").write_text(json.dumps(document), encoding="utf-8")
    args = ("run", "flow.json", text, "--session", "test", "--user", "local", "--json")
    return farthing(folder, *args, "--record", "flow.script.json", *more)


def timeline_of(folder: Path) -> list[dict[str, Any]]:
    """The golden form of the real run, as the command line gives its events."""
    lines = farthing(folder, "events", "test", "--json").out.splitlines()
    events = [decode(line.encode()) for line in lines]
    return golden([event for event in events if not isinstance(event, Unknown)])


def without(value: Any, left_out: frozenset[str] = OF_THE_MODEL) -> Any:
    """A timeline without these fields; what a provider said stands without its name and our remedy."""
    if isinstance(value, str):
        return re.sub(r"^(fake|scripted): ", "", value).partition(" (node 'a') ")[0]
    if isinstance(value, dict):
        return {key: without(item, left_out) for key, item in value.items() if key not in left_out}
    return [without(item, left_out) for item in value] if isinstance(value, list) else value


WRITES = tool_call("memory_write", '{"key": "name", "value": "Ada"}', call_id="call_abc")
BROKEN = tool_call("memory_write", '{"key": "na', call_id="call_def")
RUNS: dict[str, tuple[dict[str, Any], list[Play]]] = {
    "one_answer": ({}, [answer("Fine.", usage=OPENAI_USAGE)]),
    "tools_good_and_broken": ({}, [answer("Let me see.", tool_calls=[WRITES, BROKEN]), answer("Done.")]),
    "no_usage": ({}, [answer("Fine.", usage=None)]),
    "down_then_fine": ({}, [PLAYS["down"], answer("Fine.")]),
    "cut": ({}, [stream(*words("Hel", "lo"), ending="cut")]),
    "refused": ({}, [answer(None, extra={"refusal": "I can't."})]),
    "no_key": ({}, [PLAYS["unauthorized"]]),
    "cut_at_the_limit": ({}, [answer("And so", finish="length")]),
    "thinker": (
        {"strategy": "thinker"},
        [answer("I think."), answer('{"action": "answer", "answer": "Fine."}')],
    ),
    "repaired": (
        {"output_schema": {"type": "object", "required": ["n"]}},
        [answer("{}"), answer('{"n": 3}')],
    ),
}


@pytest.mark.promise("MOD-5")
@pytest.mark.parametrize("name", RUNS)
def test_recorded_run_replays_to_the_same_timeline(
    name: str, fake_model: FakeModel, folder: Path, run_flow: RunFlow, virtual_clock: VirtualClock
) -> None:
    agent, plays = RUNS[name]
    document = agent_flow(agent=agent, memory={}, budgets=[BUDGET])
    fake_model.play(*plays)
    said = record(folder, document)
    assert f"recorded {len(plays)} repl" in said.err
    virtual_clock.set(datetime.now(UTC))  # facts are told with their date
    again = run_flow(folder / "flow.json", "Hello", strict=True, streamed=True)
    assert again.outcome.rehearsal
    assert again.outcome.exit_code == said.code
    # What an attempt without an answer is estimated at depends on the model's price.
    left_out = OF_THE_MODEL | {"cost"} if said.code else OF_THE_MODEL
    real, replayed = without(timeline_of(folder), left_out), without(again.timeline(), left_out)
    assert "\n".join(difference(real, replayed)) == ""


@pytest.mark.promise("LED-7")
def test_recorded_run_costs_in_rehearsal_what_it_cost(
    fake_model: FakeModel, own_home: Path, folder: Path, run_flow: RunFlow
) -> None:
    (own_home / "config.toml").write_text(provider_settings(fake_model.url), encoding="utf-8")
    fake_model.play(answer("Fine.", usage=OPENAI_USAGE))
    said = record(folder, agent_flow())
    assert said.json["cost"] == "0.014"  # 10,000 in at $1 and 1,000 out at $4 a million
    again = run_flow(folder / "flow.json", "Hello", strict=True)
    assert_spend(again, calls=1, tokens=11_000, cost="0.014")
    assert again.outcome.usage.cached == 9_000


def test_recorded_fallback_is_what_answers_in_a_rehearsal(
    fake_model: FakeModel, folder: Path, run_flow: RunFlow
) -> None:
    fake_model.play(PLAYS["unauthorized"], answer("From the other."))
    document = agent_flow(agent={"model": "fake:m", "fallback_models": ["fake:n"]})
    assert record(folder, document).json["outputs"] == {"end": "From the other."}
    again = run_flow(folder / "flow.json", "Hello", strict=True, name="scripted")
    assert again.text == "From the other."


def test_recorded_tool_results_answer_in_a_rehearsal(
    fake_model: FakeModel, own_home: Path, folder: Path
) -> None:
    (folder / "shop.py").write_text(SHOP, encoding="utf-8")
    with (own_home / "config.toml").open("a", encoding="utf-8") as settings:
        settings.write(f"[tools]\nfiles = [{json.dumps(str(folder / 'shop.py'))}]\n")
    fake_model.play(answer(None, tool_calls=[tool_call("order", '{"part": "bell"}')]), answer("Ordered."))
    document = agent_flow()
    document["nodes"].append({"id": "shop", "type": "tool", "config": {"function": "order"}})
    document["edges"].append({"source": "shop", "target": "a", "target_port": "tool"})
    (folder / "flow.json").write_text(json.dumps(document), encoding="utf-8")
    needs = farthing(folder, "run", "flow.json", "Hello")
    granted = re.search(r"--allow ([0-9a-f]+)", needs.out + needs.err)
    assert granted is not None, needs
    said = record(folder, document, "--allow", granted[1])
    assert said.json["outputs"] == {"end": "Ordered."}, said.err
    kept = json.loads((folder / "flow.script.json").read_bytes())
    assert kept["tool_results"] == {"order": [{"result": {"ordered": "bell"}}]}
    (folder / "ordered.txt").unlink()
    again = farthing(folder, "run", "flow.json", "Hello", "--json", "--model", "scripted")
    assert again.json["outputs"] == {"end": "Ordered."}
    assert not (folder / "ordered.txt").exists(), "in a rehearsal the script answers for the tool"


SHOP = '''
from pathlib import Path

def order(part: str) -> dict:
    """Order a part.

    Args:
        part: Which part.
    """
    (Path(__file__).parent / "ordered.txt").write_text(part)
    return {"ordered": part}
'''


def test_recording_replaces_no_file_and_says_so_before_anything_is_sent(
    fake_model: FakeModel, folder: Path
) -> None:
    (folder / "flow.script.json").write_text("mine", encoding="utf-8")
    said = record(folder, agent_flow())
    assert (said.code, said.json["error"]["code"]) == (2, "script.exists")
    assert (folder / "flow.script.json").read_text(encoding="utf-8") == "mine"
    assert fake_model.count == 0


@pytest.mark.parametrize("name", ["flow.json", ".script.json", "nowhere/flow.script.json"])
def test_recording_under_a_name_that_cannot_be_is_refused(
    name: str, fake_model: FakeModel, folder: Path
) -> None:
    (folder / "flow.json").write_text(json.dumps(agent_flow()), encoding="utf-8")
    said = farthing(folder, "run", "flow.json", "Hello", "--record", name)
    assert said.code == 2
    assert fake_model.count == 0


def test_recording_of_a_run_that_called_no_model_leaves_no_file(folder: Path, fake_model: FakeModel) -> None:
    empty = {"metric": "tokens", "period": "session", "limit": 0}
    said = record(folder, agent_flow(budgets=[empty]))
    assert said.code == 3
    assert not list(folder.glob("*.script.json*"))


@pytest.mark.promise("EVT-7")
def test_recorded_script_holds_no_secret(fake_model: FakeModel, folder: Path) -> None:
    fake_model.play(answer(f"Your key is {KEY}."))
    record(folder, agent_flow())
    kept = (folder / "flow.script.json").read_text(encoding="utf-8")
    assert "Your key is" in kept and KEY not in kept

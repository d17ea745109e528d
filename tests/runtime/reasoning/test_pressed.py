"""A warning about a full window says what a person can change, and is not given where they can do nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.events import ContextSection
from runtime.facts import FactWrite, Shelf
from runtime.memory.cascade import Gave
from runtime.memory_service import NOTHING
from runtime.reasoning.bounds import Bounded
from runtime.reasoning.context import Bill, Parts
from runtime.reasoning.past import Past
from runtime.reasoning.pressed import REMEDIES, told
from runtime.testing import Bench, Ran
from tests.flows import agent_flow, says
from tests.runtime.memory_service.test_assembly import left_out, with_window


async def talked(bench: Bench, document: dict[str, Any], turns: int, last: str = "And now?") -> Ran:
    for turn in range(turns):
        await bench.run(document, f"{turn} " + "word " * 60, script=[says("answer " * 60)], session="s")
    return await bench.run(document, last, script=[says("x")], session="s")


@pytest.mark.promise("MEM-13")
async def test_old_turns_that_give_way_in_a_small_window_are_no_warning(tmp_path: Path) -> None:
    document = agent_flow(agent={"context": {"mode": "full"}, "max_output_tokens": 50})
    async with Bench(settings=with_window(tmp_path, 600)) as bench:
        ran = await talked(bench, document, 8)
    assert ran.of("context.assembled")[-1].gave_way[-1].stage == 9, "it went as far as that"
    assert ran.of("agent.warning") == []


@pytest.mark.promise("MEM-13")
async def test_facts_that_do_not_fit_are_one_and_the_remedy_names_what_is_large(tmp_path: Path) -> None:
    memory = {"scope": "user", "injection": {"tokens": 400}}
    document = agent_flow(agent={"max_output_tokens": 50}, memory=memory)
    async with Bench(settings=with_window(tmp_path, 1000)) as bench:
        shelf = Shelf("real", "f", "user", "local")
        for n in range(5):
            wish = FactWrite(key=f"lamp{n}", value="a lamp of the old kind " * 5, origin="user")
            await bench.record.write_fact(shelf, wish, bench.clock.now(), lambda _: [], run_id=None)
        ran = await talked(bench, document, 2, "word " * 560)
    assert ran.outcome.state == "completed", ran.outcome.error
    (warning,) = ran.of("agent.warning")
    assert warning.code == "context.emergency"
    assert "950 may be sent: facts are left out or cut." in warning.message
    assert (warning.remedy or "").startswith("What is said in this turn takes 50")
    assert "send less, or use a model with a larger window." in (warning.remedy or "")
    assert any((why or "").startswith("stage 9") for why in left_out(ran).values())


@pytest.mark.parametrize("name", ["system", "tools", "blocks", "turn", "answer"])
def test_the_remedy_is_about_what_takes_most(name: str) -> None:
    sizes = {"system": 10, "tools": 11, "blocks": 12, "turn": 13, "history": 900, name: 100}
    sizes.pop("answer", None)
    sections = tuple(ContextSection(name=each, tokens=size) for each, size in sizes.items())
    parts, gave = Parts("", (), NOTHING, "", Past(), ()), (Gave(9, "emergency", 1, 1200, 90),)
    found = Bounded(parts, 90, gave=gave, missed=("state",))
    said = told(found, Bill(sections, ()), 100, 100 if name == "answer" else 9)
    assert said.text == "Of 1,200 tokens 100 may be sent: the plan is left out or cut."
    assert said.remedy.startswith(REMEDIES[name].format(tokens=100))

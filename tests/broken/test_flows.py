"""Documents and circles that once ended in a crash or in a record that contradicts itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from runtime.cli.failure import problem_lines
from runtime.errors import BadFlow, Problem
from runtime.spec import load_flow
from runtime.testing import run_flow
from tests.flows import agent_flow

FLOWS = Path(__file__).parents[2] / "flows"
EXAMPLES = sorted(path for path in FLOWS.glob("*.json") if not path.name.endswith(".script.json"))


@pytest.mark.promise("FLO-5", "FLO-6")
@pytest.mark.parametrize("number", ["0", "00", "-1", "01", "１", "9" * 5000, ""])
def test_format_that_never_was_is_refused(number: str) -> None:
    document = agent_flow() | {"format": f"farthing.flow/{number}"}
    with pytest.raises(BadFlow) as caught:
        load_flow(msgspec.json.encode(document))
    assert {problem.code for problem in caught.value.problems} == {"flow.format"}


@pytest.mark.promise("EVT-1")
async def test_each_visit_of_a_circle_begins_and_ends_under_its_number() -> None:
    ran = await run_flow(FLOWS / "improve.json", "A bicycle bell")
    begun = Counter((event.node_id, event.visit) for event in ran.of("node.started"))
    ended = Counter((event.node_id, event.visit) for event in ran.of("node.finished", "node.failed"))
    assert begun == ended
    assert begun["writer", 2] == 1


@pytest.mark.promise("NOD-4")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_every_example_ends_well_on_an_input_of_ones_own(path: Path) -> None:
    ran = await run_flow(path, "The chain of my Brompton broke near Leeds; I paid 40 pounds.")
    assert ran.outcome.state == "completed"


@pytest.mark.promise("FLO-3")
async def test_a_node_that_is_wrong_is_the_only_problem() -> None:
    budgets = [{"metric": "tokens", "period": "run", "limit": 5}]
    with pytest.raises(BadFlow) as caught:
        await run_flow(agent_flow(agent={"max_iterations": 0}, memory={}, budgets=budgets), "Hello")
    assert [(problem.node_id, problem.level) for problem in caught.value.problems] == [("a", "error")]


@pytest.mark.promise("FLO-3", "CLI-3")
def test_a_problem_names_its_place_once() -> None:
    problem = Problem("flow.bad_value", "$.x: too small", "Change it.", path="$.x")
    assert problem_lines(problem, on=False) == ["  error $.x: too small", "    do: Change it."]

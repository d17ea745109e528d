"""Node types of other makers: a bug in one is told with its line, a pydantic config in the same words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from runtime.errors import BadFlow
from runtime.node import Inputs, NodeContext, NodeResult, NodeType, Port
from runtime.plan import read_plan
from runtime.registry import Registry, installed
from runtime.testing import Bench


class WrapConfig(BaseModel):
    """What to put before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    left: str = Field("<", min_length=1, max_length=3)


async def run(config: Any, inputs: Inputs, ctx: NodeContext) -> NodeResult:
    return NodeResult(config.left + inputs.nothing)  # type: ignore[attr-defined]  # the bug


WRAP = NodeType(
    name="wrap", config=WrapConfig, title="Wrap", category="Text", icon="text", help="Wraps.",  # type: ignore[arg-type]
    inputs=(Port("in"),), outputs=(Port("out"),), run=run,
)  # fmt: skip


def registry() -> Registry:
    return Registry(lambda: (), {**{each.name: each for each in installed().all()}, "wrap": WRAP})


def flow(config: dict[str, Any]) -> dict[str, Any]:
    nodes = [
        {"id": "a", "type": "input"},
        {"id": "n", "type": "wrap", "config": config},
        {"id": "o", "type": "output"},
    ]
    edges = [{"source": "a", "target": "n"}, {"source": "n", "target": "o"}]
    return {"format": "farthing.flow/1", "name": "f", "nodes": nodes, "edges": edges}


async def test_a_bug_of_a_node_is_told_with_its_line() -> None:
    async with Bench(registry=registry()) as bench:
        ran = await bench.run(flow({}), "hello")
    assert ran.outcome.error is not None
    assert ran.outcome.error.message == (
        "The node failed: AttributeError: 'Inputs' object has no attribute 'nothing'"
        f" (test_foreign_nodes.py, line {run.__code__.co_firstlineno + 1})."
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"left": ""}, "$.nodes[1].config.left: at least 1 character belongs here"),
        ({"left": "<<<<"}, "$.nodes[1].config.left: 4 characters are too many: at most 3"),
        ({"left": 1}, "$.nodes[1].config.left: a text belongs here, not 1"),
    ],
    ids=repr,
)
def test_a_pydantic_config_is_refused_in_words_of_json(config: dict[str, Any], message: str) -> None:
    with pytest.raises(BadFlow) as caught:
        read_plan(json.dumps(flow(config)).encode(), registry())
    assert [problem.message for problem in caught.value.problems] == [message]

"""The tool node: what it takes, what is not built yet, and what is wrong before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from nodes.tool import node as tool_node
from runtime.errors import BadFlow, Problem
from runtime.plan import Plan, compile_flow
from runtime.registry import installed
from runtime.shape import read
from runtime.shape.schema import json_schema
from runtime.spec import load_flow
from tests.flows import agent_flow, node


def compiled(beside: Path | None = None, /, **config: Any) -> Plan:
    document = agent_flow()
    document["nodes"].append(node("t", "tool", **config))
    document["edges"].append({"source": "t", "target": "a", "target_port": "tool"})
    return compile_flow(load_flow(msgspec.json.encode(document)), installed(), folder=beside)


def problems(**config: Any) -> list[Problem]:
    with pytest.raises(BadFlow) as refused:
        compiled(**config)
    return list(refused.value.problems)


@pytest.mark.promise("NOD-1", "NOD-2")
def test_it_is_registered_and_explains_every_field() -> None:
    assert installed().get("tool") is tool_node
    schema = json_schema(tool_node.config)
    assert all(field.get("description") for field in schema["properties"].values())


def test_an_agent_is_lent_the_function_with_the_nodes_bounds() -> None:
    plan = compiled(function="calculator", timeout_s=2.5, max_result_tokens=7)
    (lent,) = next(each for each in plan.nodes if each.id == "a").tools
    assert (lent.name, lent.node_id) == ("calculator", "t")
    assert (lent.effect, lent.timeout_s, lent.max_result_tokens) == ("none", 2.5, 7)
    assert plan.needs == ()


@pytest.mark.parametrize(
    ("config", "fields"),
    [
        ({"server": "files"}, ["server"]),
        ({"server": "files", "tools": ["read"]}, ["server", "tools"]),
        ({"http": {"url": "https://example.org"}}, ["http"]),
        ({"function": "calculator", "approval": True}, ["approval"]),
    ],
    ids=range(4),
)
@pytest.mark.promise("FLO-11")
def test_what_is_not_built_is_refused_with_words(config: dict[str, Any], fields: list[str]) -> None:
    found = problems(**config)
    assert [problem.code for problem in found] == ["config.not_built"] * len(fields)
    assert [problem.path.rpartition(".")[2] for problem in found] == fields
    assert all("not available in this version" in problem.message and problem.remedy for problem in found)


@pytest.mark.parametrize("config", [{}, {"function": "calculator", "server": "x"}, {"function": ""}])
def test_it_takes_exactly_one_source(config: dict[str, Any]) -> None:
    assert problems(**config)[0].node_id == "t"


@pytest.mark.parametrize(
    "config", [{"timeout_s": 0}, {"max_result_tokens": 0}, {"effect": "twice"}, {"x": 1}]
)
def test_values_out_of_bounds_are_refused(config: dict[str, Any]) -> None:
    assert problems(function="calculator", **config)[0].path.startswith("$.nodes[3].config.")


def test_an_unknown_function_is_told_with_a_near_name() -> None:
    (problem,) = problems(function="calculater")
    assert problem.code == "tool.unknown_function"
    assert problem.path == "$.nodes[3].config.function"
    assert "Did you mean 'calculator'?" in problem.remedy


def test_a_folder_belongs_to_functions_that_read_one(tmp_path: Path) -> None:
    assert [problem.code for problem in problems(function="read_file")] == ["tool.folder"]
    assert [problem.code for problem in problems(function="calculator", folder="x")] == ["tool.folder"]
    (tmp_path / "real").mkdir()
    (tmp_path / "docs").symlink_to(tmp_path / "real")
    assert compiled(tmp_path, function="read_file", folder="docs").needs == (f"folder {tmp_path / 'real'}",)


def test_its_card_says_what_it_calls() -> None:
    assert tool_node.summary is not None
    config = read(tool_node.config, {"function": "read_file", "folder": "docs"})
    assert tool_node.summary(config) == "read_file in docs"


def test_who_wants_only_the_budgets_of_a_flow_need_not_have_its_tools() -> None:
    document = agent_flow(budgets=[{"limit": 5}])
    document["nodes"].append(node("t", "tool", function="of_somebody_else"))
    document["edges"].append({"source": "t", "target": "a", "target_port": "tool"})
    plan = compile_flow(load_flow(msgspec.json.encode(document)), installed(), lambda: None)
    (agent,) = plan.reasoners
    assert ([rule.limit for rule in agent.rules], agent.tools) == ([5], ())

"""A document whose own shape is wrong: its nodes' configs are looked at all the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.errors import BadFlow
from runtime.plan import read_plan
from runtime.registry import installed


def wrong(document: Any) -> list[tuple[str, str]]:
    """The code and the path of each problem."""
    with pytest.raises(BadFlow) as caught:
        read_plan(json.dumps(document).encode(), installed())
    return [(problem.code, problem.path) for problem in caught.value.problems]


FLOW: dict[str, Any] = {
    "format": "farthing.flow/1",
    "name": "f",
    "nodes": [
        {"id": "ask", "type": "input"},
        {"id": "bot", "type": "agent", "config": {"temperature": "hot"}},
        {"id": "out", "type": "output"},
    ],
    "edges": [{"source": "ask", "target": "bot"}, {"source": "bot", "target": "out"}],
}


def test_faults_of_the_document_and_of_configs_are_told_at_once() -> None:
    extra = {"id": "1", "type": "agent", "config": {"model": 1}}
    document = {**FLOW, "nmae": "g", "nodes": [extra, *FLOW["nodes"], {"id": "x", "type": "agnet"}]}
    assert wrong(document) == [
        ("flow.bad_id", "$.nodes[0].id"),
        ("flow.unknown_field", "$.nmae"),
        ("flow.bad_value", "$.nodes[2].config.temperature"),
        ("flow.unknown_type", "$.nodes[4].type"),
    ]


def test_two_amounts_of_one_budget_are_told_at_once() -> None:
    nodes = [{"id": "cap", "type": "budget", "config": {"limit": "abc", "threshold_pct": "x"}}]
    document = {**FLOW, "nodes": [*FLOW["nodes"], *nodes]}
    assert [path for _, path in wrong(document) if "cap" not in path and "nodes[3]" in path] == [
        "$.nodes[3].config.limit",
        "$.nodes[3].config.threshold_pct",
    ]


def test_versions_of_nodes_begin_at_one_and_a_format_is_shown_as_json() -> None:
    assert wrong({**FLOW, "nodes": [{"id": "a", "type": "input", "version": 0}]})[0] == (
        "flow.bad_value",
        "$.nodes[0].version",
    )
    with pytest.raises(BadFlow, match="format is null, which"):
        read_plan(b'{"format": null, "name": "f"}', installed())


def test_two_nodes_of_one_id_are_told_beside_a_wrong_edge() -> None:
    document = {**FLOW, "nodes": [{"id": "ask", "type": "input"}] * 2, "edges": [{"source": "ask"}]}
    assert wrong(document) == [
        ("flow.missing_field", "$.edges[0].target"),
        ("flow.duplicate_id", "$.nodes[0].id"),
    ]


def test_nothing_is_said_of_what_the_unread_part_may_hold() -> None:
    """No missing edges and no missing output, while edges or nodes could not be read."""
    sound = [{"id": "bot", "type": "agent"}]
    assert wrong({**FLOW, "nodes": sound, "edges": "none"}) == [("flow.bad_value", "$.edges")]
    assert wrong({**FLOW, "nodes": {"bot": {}}}) == [("flow.bad_value", "$.nodes")]


def test_a_credential_is_found_in_a_document_of_wrong_shape() -> None:
    key = "sk-" + "aB3dE5gH7jK9" * 4
    nodes = [{"id": "bot", "type": "agent", "config": {"instructions": f"Use {key}"}}]
    assert wrong({**FLOW, "nodes": nodes, "edges": None}) == [
        ("flow.bad_value", "$.edges"),
        ("flow.credential", "$.nodes[0].config.instructions"),
    ]


def test_names_of_a_node_that_is_wrong_itself_are_no_second_problem() -> None:
    nodes = [
        {"id": "ask", "type": "input", "config": {"fields": {}}},
        {"id": "way", "type": "router", "config": {"branches": [{"name": "a", "when": "input > 2"}]}},
        {"id": "out", "type": "output", "config": {}},
    ]
    edges = [{"source": "ask", "target": "way"}, {"source": "way", "source_port": "a", "target": "out"}]
    assert wrong({**FLOW, "nodes": nodes, "edges": edges}) == [
        ("flow.unknown_field", "$.nodes[0].config.fields")
    ]


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        ({"shcema": {}}, "Did you mean 'schema'?"),
        ({"fields": {}}, "Remove 'fields' or mend its name; there are: title, schema."),
    ],
    ids=repr,
)
def test_a_field_that_there_is_not_is_answered_with_those_that_there_are(
    config: dict[str, Any], remedy: str
) -> None:
    with pytest.raises(BadFlow) as caught:
        read_plan(
            json.dumps({**FLOW, "nodes": [{"id": "ask", "type": "input", "config": config}]}).encode(),
            installed(),
        )
    assert caught.value.problems[0].remedy == remedy


def test_an_input_where_nothing_leads_asks_for_an_edge() -> None:
    nodes = [{"id": "t", "type": "template", "config": {"text": "{{ input }} {{ inputs.ask.x }}"}}]
    with pytest.raises(BadFlow) as caught:
        read_plan(json.dumps({**FLOW, "nodes": nodes, "edges": []}).encode(), installed())
    told = [p.remedy for p in caught.value.problems if "input" in p.code]
    assert told == ["Draw an edge to it.", "Draw an edge from 'ask'."]

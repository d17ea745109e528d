"""Flow documents: read strictly, told where they are wrong, saved in one spelling."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.clock import SystemClock
from runtime.errors import BadFlow
from runtime.events import Custom, encode
from runtime.plan import compile_flow
from runtime.registry import installed
from runtime.spec import MAX_BYTES, load_flow, save_flow
from runtime.testing import Bench, run_flow
from tests.flows import agent_flow, flow, node, says

SOUND = agent_flow(
    memory={"scope": "user"}, budgets=[{"metric": "spend", "limit": "0.50", "period": "daily"}]
)


def raw(document: Any, **changes: Any) -> bytes:
    return json.dumps({**document, **changes}).encode()


def problems_of(document: bytes) -> list[tuple[str, str | None, str]]:
    with pytest.raises(BadFlow) as found:
        compile_flow(load_flow(document), installed())
    assert all(problem.remedy for problem in found.value.problems)
    return [(p.code, p.node_id, p.path) for p in found.value.problems if p.level == "error"]


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "truncated": (raw(SOUND)[:-7], "line 1, column"),
    "empty": (b"", "is empty"),
    "spaces": (b" \n ", "is empty"),
    "a list": (b"[]", "holds a list"),
    "a number": (b"3", "holds a number"),
    "not UTF-8": (b'{"name": "\xff"}', "not UTF-8"),
    "NUL bytes": (b'{"name": "a\x00"}', "NUL"),
    "UTF-16": ('{"name": "a"}'.encode("utf-16"), "not UTF-8"),
    "too large": (b'{"name": "' + b"x" * MAX_BYTES + b'"}', "bytes, more than"),
    "too deep": (b'{"a":' * 200 + b"1" + b"}" * 200, "nested deeper"),
    "far too deep": (b"[" * 100_000, "nested deeper"),
    "a key twice": (b'{"name": "a", "name": "b"}', "stands twice"),
    "NaN": (b'{"name": NaN}', "NaN is not a JSON number"),
    "another format": (raw(SOUND, format="other/1"), "not a Farthing flow"),
    "a newer format": (raw(SOUND, format="farthing.flow/9"), "format 9 and this Farthing reads up to 1"),
}


@pytest.mark.promise("FLO-6")
@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_document_is_one_sentence(name: str) -> None:
    document, told = UNREADABLE[name]
    with pytest.raises(BadFlow) as found:
        load_flow(document, name="x.json")
    assert told in str(found.value)
    assert found.value.remedy
    assert found.value.exit_code == 2


@pytest.mark.promise("FLO-6")
def test_a_byte_order_mark_is_accepted() -> None:
    assert load_flow(b"\xef\xbb\xbf" + raw(SOUND)).spec.name == "f"


@pytest.mark.promise("FLO-5")
def test_no_format_is_version_one_with_a_warning_and_a_newer_one_names_both() -> None:
    plain = {key: value for key, value in SOUND.items() if key != "format"}
    (warning,) = load_flow(raw(plain)).warnings
    assert (warning.code, warning.level) == ("flow.no_format", "warning")
    with pytest.raises(BadFlow, match=r"format 2 and this Farthing reads up to 1 .*agent, input, memory"):
        load_flow(raw(agent_flow(memory={}), format="farthing.flow/2"))


WRONG: dict[str, tuple[dict[str, Any], tuple[str, str | None, str]]] = {
    "an unknown type": (flow([node("a", "agnt")], []), ("flow.unknown_type", "a", "$.nodes[0].type")),
    "an unknown field": (
        flow([node("a", "agent", colour="red"), node("o", "output")], [("a", "o")]),
        ("flow.unknown_field", "a", "$.nodes[0].config.colour"),
    ),
    "an unknown field of a node": (
        {**SOUND, "nodes": [{**node("a", "input"), "x": 1}]},
        ("flow.unknown_field", "a", "$.nodes[0].x"),
    ),
    "an unknown field of the document": ({**SOUND, "x": 1}, ("flow.unknown_field", None, "$.x")),
    "an id twice": (
        flow(
            [node("a", "template", text="1"), node("a", "template", text="2"), node("o", "output")],
            [("a", "o")],
        ),
        ("flow.duplicate_id", "a", "$.nodes[0].id"),
    ),
    "a bad id": (flow([node("a b", "input")], []), ("flow.bad_id", "a b", "$.nodes[0].id")),
    "an edge to nowhere": (
        flow([node("i", "input"), node("o", "output")], [("i", "o"), ("i", "x")]),
        ("flow.dangling_edge", None, "$.edges[1].target"),
    ),
    "a wrong kind of port": (
        flow([node("m", "memory"), node("o", "output"), node("i", "input")], [("m", "o"), ("i", "o")]),
        ("flow.wrong_kind", "o", "$.edges[0]"),
    ),
    "no such port": (
        flow([node("i", "input"), node("o", "output")], [("i", "o"), ("i", "o", "memory")]),
        ("flow.wrong_port", "o", "$.edges[1].target_port"),
    ),
    "an edge twice": (
        flow([node("i", "input"), node("o", "output")], [("i", "o"), ("i", "o")]),
        ("flow.duplicate_edge", "o", "$.edges[1]"),
    ),
    "two inputs": (
        flow([node("i", "input"), node("j", "input"), node("o", "output")], [("i", "o"), ("j", "o")]),
        ("flow.two_inputs", "j", "$.nodes[1]"),
    ),
    "two memories": (
        flow(
            [node("a", "agent"), node("m", "memory"), node("n", "memory"), node("o", "output")],
            [("a", "o"), ("m", "a", "memory"), ("n", "a", "memory")],
        ),
        ("flow.too_many_edges", "a", "$.edges[2]"),
    ),
    "nothing leads to it": (flow([node("o", "output")], []), ("flow.missing_edge", "o", "$.nodes[0]")),
    "a missing field": ({"format": "farthing.flow/1", "nodes": []}, ("flow.missing_field", None, "$.name")),
    "a template that is none": (
        flow([node("i", "input"), node("o", "output", template="{{ input")], [("i", "o")]),
        ("template.syntax", "o", "$.nodes[1].config.template"),
    ),
    "a name that nothing leads to": (
        flow([node("i", "input"), node("o", "output", template="{{ inputs.other }}")], [("i", "o")]),
        ("flow.unknown_input", "o", "$.nodes[1].config.template"),
    ),
    "a newer node": (
        {**SOUND, "nodes": [{**node("a", "agent"), "version": 7}], "edges": []},
        ("flow.newer_node", "a", "$.nodes[0].version"),
    ),
}


@pytest.mark.promise("FLO-4")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_node_and_path(name: str) -> None:
    document, expected = WRONG[name]
    assert expected in problems_of(raw(document))


@pytest.mark.promise("FLO-3")
def test_all_problems_are_told_at_once() -> None:
    document = flow(
        [node("a", "agnt"), node("b", "budget", limit=-1), node("o", "output", x=1)], [("a", "zz")]
    )
    codes = [code for code, _, _ in problems_of(raw(document))]
    assert codes == ["flow.unknown_type", "flow.bad_value", "flow.unknown_field", "flow.dangling_edge"]


@pytest.mark.promise("FLO-7")
@pytest.mark.parametrize(
    "limit", ["-1", "-0.000000001", "1e400", "NaN", "inf", "0.0000000001", "ten", "1,5", True, [1]]
)
def test_an_amount_that_is_none_is_refused(limit: Any) -> None:
    document = agent_flow(budgets=[{"metric": "spend", "limit": limit}])
    assert ("flow.bad_value", "b0") in [(code, node_id) for code, node_id, _ in problems_of(raw(document))]


@pytest.mark.promise("FLO-7")
@given(st.decimals(min_value=0, max_value=Decimal("9000000000"), places=9))
def test_an_amount_is_exact_however_it_is_written(amount: Decimal) -> None:
    nanos = int(amount * 10**9)
    text = f"{amount:f}"
    for written in (f'"{text}"', text):
        document = raw(agent_flow(budgets=[{"metric": "spend", "limit": "AMOUNT"}])).decode()
        loaded = load_flow(document.replace('"AMOUNT"', written).encode())
        (rule,) = compile_flow(loaded, installed()).nodes[1].rules
        assert rule.limit == nanos


@pytest.mark.promise("FLO-2")
@given(st.permutations(SOUND["nodes"]), st.permutations(SOUND["edges"]))
def test_saving_has_one_spelling_and_saving_again_changes_nothing(nodes: Any, edges: Any) -> None:
    saved = save_flow(load_flow(raw(SOUND, nodes=nodes, edges=edges)).spec)
    assert saved == save_flow(load_flow(raw(SOUND)).spec)
    assert save_flow(load_flow(saved).spec) == saved
    assert saved.endswith(b"}\n")


@pytest.mark.promise("FLO-8")
async def test_ui_changes_nothing_of_a_run() -> None:
    plain = await run_flow(SOUND, "go", script=[says("x", 5)])
    moved = {
        **SOUND,
        "ui": {"viewport": {"zoom": 2}},
        "nodes": [{**n, "ui": {"x": 3, "title": "T"}} for n in SOUND["nodes"]],
    }
    ran = await run_flow(moved, "go", script=[says("x", 5)])
    assert ran.timeline() == plain.timeline()


@pytest.mark.promise("FLO-9")
async def test_one_edge_gives_the_value_and_several_an_object() -> None:
    def joined(*sources: str) -> dict[str, Any]:
        return flow(
            [node("i", "input"), *(node(s, "template", text=s.upper()) for s in "ab"), node("o", "output")],
            [("i", "a"), ("i", "b"), *((s, "o") for s in sources)],
        )

    assert (await run_flow(joined("a"), "x")).outcome.outputs == {"o": "A"}
    assert (await run_flow(joined("a", "b"), "x")).outcome.outputs == {"o": {"a": "A", "b": "B"}}


@pytest.mark.promise("FLO-10")
def test_a_credential_in_a_flow_is_refused_without_being_repeated() -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
    document = agent_flow(agent={"instructions": f"Use {key} for it."})
    with pytest.raises(BadFlow) as found:
        compile_flow(load_flow(raw(document)), installed())
    assert ("flow.credential", "a", "$.nodes[1].config.instructions") in [
        (p.code, p.node_id, p.path) for p in found.value.problems
    ]
    assert key not in str([*found.value.problems, str(found.value)])


@pytest.mark.promise("FLO-11")
@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("budget", {"limit": 5, "on_limit": "pause"}),
        ("tool", {"server": "files", "tools": ["read"]}),
        ("tool", {"http": {"method": "GET", "url": "https://example.org"}}),
        ("tool", {"function": "calculator", "approval": True}),
    ],
)
def test_what_is_not_built_is_refused_and_not_ignored(kind: str, config: dict[str, Any]) -> None:
    document = flow(
        [node("i", "input"), node("a", "agent"), node("x", kind, **config), node("o", "output")],
        [("i", "a"), ("a", "o"), ("x", "a", kind)],
    )
    assert ("config.not_built", "x") in [(code, node_id) for code, node_id, _ in problems_of(raw(document))]


@pytest.mark.promise("RUN-9")
@pytest.mark.parametrize("_time", range(3))
async def test_two_runs_on_one_script_and_clock_give_one_timeline(_time: int) -> None:
    document = flow(
        [node("i", "input"), *(node(s, "agent") for s in "abc"), node("o", "output")],
        [("i", "a"), ("i", "b"), ("i", "c"), ("a", "o"), ("b", "o"), ("c", "o")],
    )

    def script(latencies: list[float]) -> dict[str, list[dict[str, Any]]]:
        return {name: [says(name, 3, latency_s=wait)] for name, wait in zip("abc", latencies, strict=True)}

    one = await run_flow(document, "x", script=script([1, 2, 3]))
    two = await run_flow(document, "x", script=script([3, 1, 2]))
    assert one.timeline() == two.timeline()


@pytest.mark.promise("EVT-8")
async def test_a_timeline_grows_linearly() -> None:
    document = agent_flow(agent={"context": {"mode": "full"}})
    sizes = []
    async with Bench() as bench:
        for _ in range(30):
            ran = await bench.run(
                document, "a question of some length " * 5, script=[says("an answer " * 9, 5)]
            )
            sizes.append(sum(len(str(event)) for event in ran.events))
    assert max(sizes[5:]) < min(sizes[5:]) * 1.2


@pytest.mark.promise("EVT-10")
async def test_nothing_that_is_no_json_number_is_stored() -> None:
    event = Custom(
        at=SystemClock().now(), name="n", data={"a": float("nan"), "b": [float("inf")], "c": "\ud800"}
    )
    body = encode(event)
    assert json.loads(body)["data"] == {"a": None, "b": [None], "c": "\ufffd"}

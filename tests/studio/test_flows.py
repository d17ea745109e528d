"""Flows as files: nobody's change is lost, no path leads out, and what is saved is what will be run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from runtime.errors import BadInput, StoreError
from studio.folder import Folder, Stale
from tests.studio.live import FLOW, A, Answer, Live

TOOL = 'def double(n: int) -> int:\n    """Twice a number."""\n    return 2 * n\n'


@pytest.fixture(scope="module")
def editor(live: Live) -> str:
    return live.token("ed", "editor")


def put(live: Live, token: str, path: str, flow: Any, base: str | None) -> Answer:
    return live.request("PUT", f"{A}/flows/{path}", {"flow": flow, "base_hash": base}, token=token)


def test_saved_flow_is_canonical_and_named_by_its_bytes(live: Live, editor: str) -> None:
    saved = put(live, editor, "deep/er/one.json", {**FLOW, "id": None, "edges": []}, None)
    assert saved.status == 200
    raw = (live.flows / "deep/er/one.json").read_bytes()
    assert saved.json["hash"] == sha256(raw).hexdigest() and saved.json["flow"] == json.loads(raw)
    assert len(saved.json["flow"]["id"]) == 36
    opened = live.request("GET", f"{A}/flows/deep/er/one.json", token=editor).json
    assert (opened["hash"], opened["flow"]) == (saved.json["hash"], saved.json["flow"])
    again = put(live, editor, "deep/er/one.json", opened["flow"], opened["hash"])
    assert (again.json["hash"], (live.flows / "deep/er/one.json").read_bytes()) == (saved.json["hash"], raw)
    listed = {flow["path"]: flow for flow in live.request("GET", f"{A}/flows", token=editor).json["flows"]}
    assert listed["deep/er/one.json"]["hash"] == saved.json["hash"]
    assert listed["deep/er/one.json"]["id"] == saved.json["flow"]["id"]


@pytest.mark.promise("STU-4")
def test_stale_save_never_overwrites(live: Live, editor: str) -> None:
    first = put(live, editor, "stale.json", FLOW, None).json
    place = live.flows / "stale.json"
    outside = place.read_bytes().replace(b"You help.", b"Somebody else's words.")
    place.write_bytes(outside)
    for base in (first["hash"], None, "0" * 64):
        answer = put(live, editor, "stale.json", FLOW, base)
        assert (answer.status, answer.code) == (409, "flow.changed_outside")
        assert answer.json["error"]["current_hash"] == sha256(outside).hexdigest()
    assert place.read_bytes() == outside
    hashed = live.request("GET", f"{A}/flows/stale.json/hash", token=editor).json["hash"]
    assert put(live, editor, "stale.json", FLOW, hashed).status == 200
    place.unlink()
    answer = put(live, editor, "stale.json", FLOW, hashed)
    assert (answer.status, answer.json["error"]["current_hash"]) == (409, None)
    assert not place.exists() and [p for p in live.flows.iterdir() if p.name.endswith(".tmp")] == []


def test_copy_is_a_flow_of_its_own(live: Live, editor: str) -> None:
    put(live, editor, "origin.json", {**FLOW, "id": "origin-id"}, None)
    copied = live.request("POST", f"{A}/flows/origin.json/duplicate", {"to": "copy.json"}, token=editor)
    assert copied.status == 201 and copied.json["flow"]["id"] != "origin-id"
    as_new = put(live, editor, "as-new.json", {**FLOW, "id": "origin-id"}, None).json["flow"]["id"]
    assert as_new != "origin-id", "a first save never takes an id that another file has"
    again = live.request("POST", f"{A}/flows/origin.json/duplicate", {"to": "copy.json"}, token=editor)
    assert again.status == 409
    example = live.request("GET", f"{A}/examples/support", token=editor).json["flow"]
    assert put(live, editor, "mine.json", example, None).json["flow"]["id"] != example["id"]


def test_delete_takes_what_was_seen(live: Live, editor: str) -> None:
    digest = put(live, editor, "gone.json", FLOW, None).json["hash"]
    assert live.request("DELETE", f"{A}/flows/gone.json?base_hash=0", token=editor).status == 409
    assert live.request("DELETE", f"{A}/flows/gone.json?base_hash={digest}", token=editor).status == 204
    assert live.request("DELETE", f"{A}/flows/gone.json?base_hash={digest}", token=editor).status == 404
    assert live.request("GET", f"{A}/flows/gone.json", token=editor).status == 404


PATHS = [
    "../out.json", "a/../../out.json", "%2e%2e/out.json", "..%2fout.json", "%2fetc%2fpasswd.json",
    "a%5c..%5cb.json",
    ".hidden.json", "a/.git/x.json", "x.txt", "x.script.json", ".json", "a%00.json", "a%0a.json", "./x.json",
    "a//x.json", "x.json/", "a%20/x.json", "x" * 600 + ".json",
]  # fmt: skip


@pytest.mark.promise("STU-4")
@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out(live: Live, editor: str, path: str) -> None:
    before = sorted(live.home.rglob("*.json"))
    for answer in (
        put(live, editor, path, FLOW, None),
        live.request("GET", f"{A}/flows/{path}", token=editor),
        live.request("POST", f"{A}/flows/talk.json/duplicate", {"to": unquote(path)}, token=editor),
        live.request("POST", f"{A}/runs", {"path": f"../{path}", "input": ""}, token=editor),
    ):
        assert answer.status in (400, 404, 405), answer
    assert sorted(live.home.rglob("*.json")) == before


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "flows"
    root.mkdir()
    (tmp_path / "secret.json").write_text(json.dumps(FLOW))
    (tmp_path / "elsewhere").mkdir()
    (root / "link.json").symlink_to(tmp_path / "secret.json")
    (root / "there").symlink_to(tmp_path / "elsewhere")
    (root / "circle.json").symlink_to(root / "circle.json")
    (root / "real.json").write_text(json.dumps(FLOW))
    (root / "inside.json").symlink_to(root / "real.json")
    folder = Folder(root)
    for path in ("link.json", "there/x.json", "circle.json"):
        with pytest.raises(BadInput):
            folder.read(path)
        with pytest.raises(BadInput):
            folder.save(path, b"{}", None)
    assert (tmp_path / "secret.json").read_text() == json.dumps(FLOW)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert "link.json" not in {flow.path for flow in folder.flows()}
    assert folder.read("inside.json") == folder.read("real.json")


def test_list_is_of_flows_and_says_which_are_broken(tmp_path: Path) -> None:
    for name, text in {
        "good.json": json.dumps(FLOW),
        "broken.json": '{"format": "farthing.flow/1", "name": "x", "nodes": [',
        "newer.json": '{"format": "farthing.flow/99", "name": "x", "nodes": [], "edges": []}',
        "package.json": '{"name": "something else"}',
        "good.script.json": '{"format": "farthing.script/1"}',
        "node_modules/x.json": json.dumps(FLOW),
        ".git/x.json": json.dumps(FLOW),
        "sub/bom.json": "\ufeff" + json.dumps(FLOW),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    folder = Folder(tmp_path)
    found = {flow.path: flow.error for flow in folder.flows()}
    assert set(found) == {"good.json", "broken.json", "newer.json", "sub/bom.json"}
    assert found["good.json"] is None and found["sub/bom.json"] is None
    assert "line 1" in str(found["broken.json"]) and "99" in str(found["newer.json"])
    (tmp_path / "good.json").write_text(json.dumps({**FLOW, "name": "renamed flow"}))
    assert {flow.name for flow in folder.flows() if flow.path == "good.json"} == {"renamed flow"}


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError):
            Folder(tmp_path).save("x.json", b"{}", None)
    finally:
        tmp_path.chmod(0o700)


def test_save_keeps_the_files_rights(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    digest = folder.save("x.json", b"{}", None)
    (tmp_path / "x.json").chmod(0o640)
    folder.save("x.json", b"{ }", digest)
    assert (tmp_path / "x.json").stat().st_mode & 0o777 == 0o640
    with pytest.raises(Stale):
        folder.save("x.json", b"[]", digest)


KEY = "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"
BAD: list[tuple[Any, str]] = [
    ({**FLOW, "surprise": 1}, "flow.unknown_field"),
    ({**FLOW, "format": "farthing.flow/2"}, "flow.newer"),
    ([], "flow.not_an_object"),
    ({**FLOW, "nodes": [{"id": "a b", "type": "input"}]}, "flow.bad_id"),
    (
        {
            **FLOW,
            "nodes": [{"id": "a", "type": "x", "config": {"k": KEY}}],
        },
        "flow.credential",
    ),
]


@pytest.mark.parametrize(("flow", "code"), BAD)
def test_what_is_no_flow_is_not_saved(live: Live, editor: str, flow: Any, code: str) -> None:
    answer = put(live, editor, "bad.json", flow, None)
    assert answer.status == 422 and answer.json["error"]["problems"][0]["code"] == code
    assert not (live.flows / "bad.json").exists()


def test_flow_with_a_key_twice_is_refused(live: Live, editor: str) -> None:
    body = b'{"base_hash": null, "flow": {"name": "a", "name": "b"}}'
    answer = live.request("PUT", f"{A}/flows/twice.json", body, token=editor)
    assert answer.status == 422 and "stands twice" in answer.json["error"]["message"]


# The validator


def validate(live: Live, token: str, flow: Any, **more: Any) -> Any:
    answer = live.request("POST", f"{A}/validate", {"flow": flow, **more}, token=token)
    assert answer.status == 200
    return answer.json


def test_validation_says_everything_about_a_sound_flow(live: Live, editor: str) -> None:
    found = validate(live, editor, FLOW)
    assert found["problems"] == [] and found["granted"] and found["needs_hash"] is None
    assert found["input"] == {"schema": None, "title": ""}
    agents = [{"node_id": "helper", "model": "scripted:rehearsal", "provider": "scripted", "rehearsal": True,
               "limits": ["daily"]}]  # fmt: skip
    assert found["agents"] == agents
    card = found["cards"]["helper"]
    assert [port["name"] for port in card["inputs"]] == ["in", "memory", "budget", "tool"]
    assert [port["name"] for port in card["outputs"]] == ["out"]


ROUTES = {"branches": [{"name": "a", "when": "true"}], "default": "b"}


def changed(node_id: str, **config: Any) -> dict[str, Any]:
    """The flow with another config of one node."""
    nodes = [{**n, "config": {**n["config"], **config}} if n["id"] == node_id else n for n in FLOW["nodes"]]
    return {**FLOW, "nodes": nodes}


def test_problems_are_the_answer_with_the_cards_of_what_is_sound(live: Live, editor: str) -> None:
    nodes = [
        {
            "id": "route",
            "type": "router",
            "config": {"branches": [{"name": "a", "when": "true"}], "default": "b"},
        },
        {"id": "helper", "type": "agent", "config": {"max_iterations": 0}},
        {"id": "odd", "type": "no-such-type"},
    ]
    found = validate(live, editor, {"name": "x", "nodes": nodes, "edges": []})
    codes = {problem["code"] for problem in found["problems"]}
    assert {"flow.unknown_type", "flow.bad_value", "flow.no_format"} <= codes
    assert set(found["cards"]) == {"route"}
    assert [port["name"] for port in found["cards"]["route"]["outputs"]] == ["a", "b"]
    documents: list[Any] = [{}, {"nodes": 3}, {"nodes": [None, {"id": 3}]}, [], "x", 5, None]
    for broken in documents:
        assert validate(live, editor, broken)["problems"]


def test_model_that_is_not_configured_is_a_problem_at_its_node(live: Live, editor: str) -> None:
    found = validate(live, editor, changed("helper", model="openai:gpt-4.1"))
    at = [node["id"] for node in FLOW["nodes"]].index("helper")
    assert [(p["code"], p["node_id"], p["path"]) for p in found["problems"]] == [
        ("model.not_configured", "helper", f"$.nodes[{at}].config.model")
    ]


def test_needs_are_shown_and_granted_by_an_operator_alone(live: Live, editor: str) -> None:
    flow = {**changed("daily", pot="shared:team"), "id": "needy"}
    found = validate(live, editor, flow)
    assert found["needs"] == ["spend from the shared pot shared:team"] and not found["granted"]
    body = {"flow": flow, "input": "Hi"}
    chief = live.token("chief", "operator")
    refused = live.request("POST", f"{A}/runs", body, token=chief)
    assert (refused.status, refused.code) == (422, "flow.not_granted")
    assert refused.json["error"]["needs_hash"] == found["needs_hash"]
    allowing = {**body, "allow": found["needs_hash"]}
    assert live.request("POST", f"{A}/runs", allowing, token=editor).status == 403
    assert live.request("POST", f"{A}/runs", {**body, "allow": "0" * 40}, token=chief).status == 422
    assert live.request("POST", f"{A}/runs", allowing, token=chief).status == 201
    assert validate(live, editor, flow)["granted"]
    assert live.request("POST", f"{A}/runs", body, token=editor).status == 201


def test_id_that_was_met_elsewhere_is_asked_for(live: Live, editor: str) -> None:
    """A copied file must not read what another flow of that id remembers."""
    body = {"path": "talk.json", "input": "My name is Ada."}
    assert live.request("POST", f"{A}/runs", body, token=editor).status == 201
    (live.flows / "stranger.json").write_text(json.dumps({**FLOW, "name": "stranger"}))
    answer = live.request("POST", f"{A}/runs", {"path": "stranger.json", "input": "Hi"}, token=editor)
    assert (answer.status, answer.code) == (422, "flow.not_granted")
    told = validate(live, editor, FLOW, path="stranger.json")
    assert told["needs"] == ["go by the id of another flow"] and not told["granted"]
    assert str(live.flows) not in answer.raw.decode(), "where other files lie is for operators"
    chief = validate(live, live.token("chief", "operator"), FLOW)
    assert chief["needs"] == [f"go by the id of the flow at {live.flows}/talk.json"]
    assert validate(live, editor, FLOW, path="talk.json")["granted"]
    draft = live.request("POST", f"{A}/runs", {"flow": FLOW, "input": "Hi"}, token=editor)
    assert (draft.status, draft.code) == (422, "flow.not_granted")
    as_draft = {"flow": FLOW, "input": "Hi", "base_path": "talk.json"}
    assert live.request("POST", f"{A}/runs", as_draft, token=editor).status == 201
    for path, status in (("example:support", 201), (None, 201)):
        example = live.request("GET", f"{A}/examples/support", token=editor).json["flow"]
        body = {"flow": example, "input": "Hi", **({} if path is None else {"base_path": path})}
        assert live.request("POST", f"{A}/runs", body, token=editor).status == status
        assert validate(live, editor, example, path="example:support")["granted"]
    (live.flows / "stranger.json").unlink()


# The catalog


def test_catalog_describes_every_node_type(live: Live, editor: str) -> None:
    types = {kind["name"]: kind for kind in live.request("GET", f"{A}/nodes", token=editor).json["types"]}
    assert {"input", "output", "agent", "memory", "budget"} <= set(types)
    assert types["agent"]["schema"]["properties"]["max_iterations"]["default"] == 10
    assert types["agent"]["templates"] == ["prompt"] and not types["agent"]["attachment"]
    assert types["budget"]["attachment"] and types["input"]["entry"] and types["output"]["result"]
    schema = live.request("GET", f"{A}/schema", token=editor).json
    assert set(schema["required"]) == {"format", "name", "nodes", "edges"}
    examples = live.request("GET", f"{A}/examples", token=editor).json["examples"]
    for example in examples:
        flow = live.request("GET", f"{A}/examples/{example['name']}", token=editor).json["flow"]
        assert validate(live, editor, flow)["problems"] == [] and len(flow["nodes"]) == example["nodes"]


def test_validator_finds_the_users_own_tools(own_live: Callable[..., Live]) -> None:
    """As a run does: what the settings name, not what lies in the folder of flows."""
    live = own_live('[tools]\nfiles = ["mine.py"]\n')
    (live.home / "mine.py").write_text(TOOL)
    token = live.token("ed", "editor")
    nodes = [*FLOW["nodes"], {"id": "t", "type": "tool", "config": {"function": "double"}}]
    edges = [*FLOW["edges"], {"source": "t", "target": "helper", "target_port": "tool"}]
    found = validate(live, token, {**FLOW, "nodes": nodes, "edges": edges})
    assert found["problems"] == [] and len(found["needs"]) == 1 and "double" in found["needs"][0]
    (live.home / "mine.py").write_text("this is no Python")
    nodes[-1] = {"id": "t", "type": "tool", "config": {"function": "nobodys"}}
    assert validate(live, token, {**FLOW, "nodes": nodes, "edges": edges})["problems"]

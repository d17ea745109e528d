"""Flows written and checked, and what is installed and configured: new, validate, schema, nodes, doctor."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest

from runtime.cli.files import examples_folder
from runtime.cli.flow_schema import flow_schema
from runtime.registry import installed
from tests.runtime.cli.conftest import Farthing, flow

Write = Callable[..., str]


# -- new


def test_new_writes_a_flow_that_runs(farthing: Farthing) -> None:
    said = farthing("new", "shop helper")
    assert (said.code, said.out) == (0, "")
    assert "Wrote shop-helper.json" in said.err
    assert farthing("validate", "shop-helper.json").code == 0
    assert farthing("run", "shop-helper.json", "Hello").code == 0


def test_new_gives_each_flow_an_id_of_its_own(farthing: Farthing, folder: Path) -> None:
    ids = {json.loads(farthing("new", "a", "--to", "-").out)["id"] for _ in range(3)}
    assert len(ids) == 3


def test_new_from_an_example_is_that_flow_under_another_name(farthing: Farthing, folder: Path) -> None:
    farthing("new", "shop", "--from", "example:support", "--to", "mine.json")
    made = json.loads((folder / "mine.json").read_text("utf-8"))
    assert (made["name"], made["id"] == "example-support") == ("shop", False)
    assert {node["type"] for node in made["nodes"]} >= {"agent", "memory", "budget"}


def test_new_copies_the_script_too(farthing: Farthing, write_flow: Write, folder: Path) -> None:
    farthing("new", "copy", "--from", write_flow({"text": "As scripted."}))
    assert farthing("run", "copy.json", "hi").out == "As scripted.\n"


def test_new_overwrites_only_when_told(farthing: Farthing, folder: Path) -> None:
    (folder / "a.json").write_text("mine", encoding="utf-8")
    said = farthing("new", "a")
    assert said.code == 2
    assert "--force" in said.err
    assert (folder / "a.json").read_text("utf-8") == "mine"
    assert farthing("new", "a", "--force").code == 0


def test_new_in_a_folder_that_is_not_there_is_refused(farthing: Farthing) -> None:
    said = farthing("new", "a", "--to", "none/a.json")
    assert said.code == 2
    assert "cannot be written" in said.err


# -- validate


@pytest.mark.promise("FLO-3")
def test_validate_tells_every_problem_with_node_place_and_remedy(farthing: Farthing, folder: Path) -> None:
    document = flow(max_iterations=0, colour="red")
    document["nodes"].append({"id": "x", "type": "agnt"})
    document["edges"].append({"source": "helper", "target": "nowhere"})
    (folder / "bad.json").write_text(json.dumps(document), encoding="utf-8")
    said = farthing("validate", "bad.json", "--json")
    assert said.code == 2
    (found,) = said.json["flows"]
    assert not found["ok"]
    places = {problem["path"]: problem for problem in found["problems"] if problem["level"] == "error"}
    assert {
        "$.nodes[1].config.max_iterations",
        "$.nodes[1].config.colour",
        "$.nodes[5].type",
        "$.edges[4].target",
    } <= set(places)
    assert all(problem["remedy"] for problem in places.values())
    assert places["$.nodes[5].type"]["node_id"] == "x"
    text = farthing("validate", "bad.json")
    assert text.code == 2
    assert "cannot run" in text.out
    assert text.out.count("do:") >= 4


def test_validate_takes_several_and_fails_if_one_does(farthing: Farthing, write_flow: Write) -> None:
    said = farthing("validate", write_flow(), "example:support", "missing.json")
    assert said.code == 2
    assert "greeter.json (greeter): sound" in said.out
    assert "example:support (support): sound" in said.out
    assert "missing.json: cannot run, 1 error" in said.out


def test_validate_prints_what_a_flow_needs_and_the_hash(farthing: Farthing, folder: Path) -> None:
    document = flow()
    document["nodes"][3]["config"]["pot"] = "shared:team"
    (folder / "shared.json").write_text(json.dumps(document), encoding="utf-8")
    said = farthing("validate", "shared.json", "--json")
    (found,) = said.json["flows"]
    assert said.code == 0
    assert "team" in " ".join(found["needs"])
    assert found["allow"] in farthing("validate", "shared.json").out


# -- schema and nodes


@pytest.mark.promise("FLO-1")
def test_schema_is_sound_and_takes_the_flows_that_there_are(farthing: Farthing) -> None:
    schema = farthing("schema").json
    assert schema == json.loads(json.dumps(flow_schema(installed().all())))
    assert jsonschema_rs.meta.is_valid(schema)
    jsonschema_rs.validate(schema, flow())
    for path in examples_folder().glob("*.json"):
        if not path.name.endswith(".script.json"):
            jsonschema_rs.validate(schema, json.loads(path.read_text("utf-8")))


@pytest.mark.promise("FLO-4")
@pytest.mark.parametrize("change", ["type", "field", "shape"])
def test_schema_refuses_what_no_flow_may_have(change: str) -> None:
    document = flow()
    if change == "type":
        document["nodes"][1]["type"] = "agnt"
    elif change == "field":
        document["nodes"][1]["config"]["colour"] = "red"
    else:
        document["edges"] = "none"
    assert not jsonschema_rs.is_valid(flow_schema(installed().all()), document)


def test_nodes_lists_every_type(farthing: Farthing) -> None:
    assert [line.split()[0] for line in farthing("nodes").out.splitlines()[1:]] == installed().names()
    assert [each["type"] for each in farthing("nodes", "--json").json] == installed().names()


def test_nodes_of_one_type_tells_ports_and_fields(farthing: Farthing) -> None:
    out = farthing("nodes", "budget").out
    assert "out  budget (budget" in out
    assert "metric  tokens | spend" in out
    assert "whole tokens, or dollars" in out


# -- doctor


def test_doctor_of_a_fresh_machine_has_no_problem(farthing: Farthing) -> None:
    said = farthing("doctor", "--json")
    assert said.code == 0
    found = said.json
    assert found["model"]["model"] == "scripted:rehearsal"
    assert found["model"]["rehearsal"] is True
    assert [limit["name"] for limit in found["limits"]] == ["default-daily"]
    assert found["database"]["exists"] is False
    assert "default-daily: $5.00 a day for each user" in farthing("doctor").out


def test_doctor_says_where_a_key_is_from_and_never_the_key(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setenv("FARTHING_MODEL", "openai")
    for said in (farthing("doctor"), farthing("doctor", "--json")):
        assert said.code == 0
        assert key not in said.out + said.err
        assert "OPENAI_API_KEY" in said.out
    found = farthing("doctor", "--json").json
    assert found["model"]["model"].startswith("openai:")
    assert found["model"]["why"] == "FARTHING_MODEL says so"


def test_doctor_puts_problems_first(farthing: Farthing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FARTHING_MODEL", "openai:gpt-4.1-mini")
    said = farthing("doctor")
    assert said.code == 1
    assert said.out.startswith("problem  ")
    assert "OPENAI_API_KEY" in said.out.splitlines()[1]


def test_doctor_tells_broken_settings(farthing: Farthing) -> None:
    path = Path(os.environ["FARTHING_CONFIG"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("default_model = [", encoding="utf-8")
    said = farthing("doctor")
    assert said.code == 1
    assert str(path) in said.out.splitlines()[0]


def test_doctor_looks_at_the_database(farthing: Farthing, write_flow: Write) -> None:
    farthing("run", write_flow({"text": "Hello."}), "hi")
    found = farthing("doctor", "--json").json["database"]
    assert (found["exists"], found["sessions"], found["rehearsals"], found["others"]) == (True, "0", 1, 0)
    assert found["version"] >= 1
    assert found["bytes"] > 0


def test_doctor_tells_a_database_that_is_none(farthing: Farthing, folder: Path) -> None:
    (folder / "x.db").write_text("This is a letter, not a database. " * 9, encoding="utf-8")
    said = farthing("doctor", "--db", "x.db")
    assert said.code == 1
    assert said.out.startswith("problem  ")
    assert (folder / "x.db").read_text("utf-8").startswith("This is a letter")


def test_doctor_hears_whether_a_local_server_answers(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FARTHING_MODEL", "m")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        monkeypatch.setenv("FARTHING_BASE_URL", address)
        found = farthing("doctor", "--json")
        assert found.code == 0
        assert {p["name"]: p["state"] for p in found.json["providers"]}["env"] == "answers"
    said = farthing("doctor")
    assert said.code == 1
    assert said.out.startswith(f"problem  Nothing answers at {address}")

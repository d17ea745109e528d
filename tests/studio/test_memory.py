"""Memory over HTTP: as of a time, by pages, conflicts, moves, what a model would be given, consolidation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from runtime.facts import FactWrite, Shelf
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.conftest import settings_for
from tests.studio.live import A, Live


def ask(live: Live, token: str, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answered = live.request(method, A + path, body, token=token)
    assert answered.status == status, answered
    return answered.json


def put(live: Live, token: str, owner: str, key: str, value: Any, **more: Any) -> Any:
    shelf = {"namespace": "talk", "scope": "user", "owner": owner, "rehearsal": True}
    return ask(live, token, "PUT", "/facts", {**shelf, "key": key, "value": value, **more})["fact"]


def write(live: Live, owner: str, wish: FactWrite) -> None:
    """A fact as a run would leave it."""
    import asyncio

    record, shelf = live.studio.record, Shelf("rehearsal", "talk", "user", owner)
    now = live.studio.services.clock.now()
    writing = record.write_fact(shelf, wish, now, lambda _: [], run_id=None)
    asyncio.run_coroutine_threadsafe(writing, live.loop).result(10)


def listed(live: Live, token: str, more: str = "") -> Any:
    return ask(live, token, "GET", "/facts?rehearsal=1&namespace=talk&scope=user" + more)


def test_facts_are_listed_as_of_a_time(live: Live) -> None:
    token = live.token("tess", "runner")
    first = put(live, token, "tess", "town", "Bern")
    put(live, token, "tess", "town", "Basel")
    put(live, token, "tess", "colour", "teal")
    then = quote(first["recorded_at"])
    assert [(f["key"], f["value"]) for f in listed(live, token, f"&as_of={then}")["facts"]] == [
        ("town", "Bern")
    ]
    before = datetime.fromisoformat(first["recorded_at"]) - timedelta(seconds=1)
    assert listed(live, token, f"&as_of={quote(before.isoformat())}")["facts"] == []
    assert [f["value"] for f in listed(live, token, "&text=TEAL")["facts"]] == ["teal"]
    ask(live, token, "GET", "/facts?as_of=yesterday", status=400)


def test_facts_come_page_by_page(live: Live) -> None:
    token = live.token("page", "runner")
    for number in range(7):
        put(live, token, "page", f"k{number}", number)
    seen: list[str] = []
    after = ""
    while True:
        told = listed(live, token, "&limit=3" + (f"&after={quote(after)}" if after else ""))
        seen += [fact["key"] for fact in told["facts"]]
        if told["next"] is None:
            break
        assert len(told["facts"]) == 3
        after = told["next"]
    assert seen == [f"k{number}" for number in range(7)]
    shelves = listed(live, token, "&limit=0")
    assert shelves["facts"] == [] and [shelf["count"] for shelf in shelves["shelves"]] == [7]
    ask(live, token, "GET", "/facts?after=x", status=400)


def test_conflict_stands_apart_until_it_is_settled(live: Live) -> None:
    token = live.token("cleo", "runner")
    put(live, token, "cleo", "town", "Bern")
    put(live, token, "cleo", "gone", "x")
    write(live, "cleo", FactWrite(key="town", value="Paris", origin="tainted"))
    shelf = {"namespace": "talk", "scope": "user", "owner": "cleo", "rehearsal": True}
    ask(live, token, "POST", "/facts/forget", {**shelf, "keys": ["gone"]}, 204)
    told = listed(live, token)
    assert [(f["key"], f["value"], f["state"]) for f in told["apart"]] == [
        ("town", "Paris", "conflict"),
        ("gone", "x", "forgotten"),
    ]
    taken = told["apart"][0]["version"]
    ask(live, token, "POST", "/facts/settle", {**shelf, "key": "town", "keep": taken})
    told = listed(live, token)
    assert [(f["key"], f["value"]) for f in told["facts"]] == [("town", "Paris")]
    assert [f["state"] for f in told["apart"]] == ["forgotten"]


def test_facts_move_after_a_preview(live: Live) -> None:
    token = live.token("mo", "runner")
    put(live, token, "mo", "a", 1)
    put(live, token, "mo", "a", 2)
    put(live, token, "mo", "b", 1)
    shelf = {"namespace": "talk", "scope": "user", "owner": "mo", "rehearsal": True}
    to = {**shelf, "namespace": "shop"}
    preview = ask(live, token, "POST", "/facts/move", {**shelf, "to": to})
    assert (preview["moved"], preview["keys"], preview["versions"], preview["there"]) == (
        False,
        ["a", "b"],
        3,
        [],
    )
    assert len(listed(live, token)["facts"]) == 2
    done = ask(live, token, "POST", "/facts/move", {**shelf, "to": to, "keys": ["a"], "preview": False})
    assert done["moved"] and done["keys"] == ["a"]
    assert [f["key"] for f in listed(live, token)["facts"]] == ["b"]
    put(live, token, "mo", "a", 9)
    again = ask(live, token, "POST", "/facts/move", {**shelf, "to": to})
    assert again["there"] == ["a"]
    ask(live, token, "POST", "/facts/move", {**shelf, "to": to, "preview": False}, 409)
    ask(live, token, "POST", "/facts/move", {**shelf, "to": shelf}, 400)
    ask(live, token, "POST", "/facts/move", {**shelf, "to": to, "keys": ["no"]}, 404)


@pytest.mark.promise("STU-10")
def test_recall_is_what_the_next_run_is_given(live: Live) -> None:
    """What it says that a model would be given, a run's bill says that it was given."""
    token = live.token("rae", "runner")
    put(live, token, "rae", "town", "Rae lives in Bern")
    put(live, token, "rae", "pet", "a cat named Mog")
    where = "namespace=talk&scope=user&owner=rae&rehearsal=1"
    body = {"path": "talk.json", "input": "What is my cat called?", "session": "one"}
    started = ask(live, token, "POST", "/runs", body, 201)
    live.wait(token, started["run_id"])
    told = ask(live, token, "GET", f"/memory/recall?{where}&q={quote('What is my cat called?')}")
    assert told["known"] and "Mog" in told["stable"] and told["tokens"] <= told["allowance"] + 400
    bill = ask(live, token, "GET", f"/sessions/{started['session_uid']}/context")
    given = [
        (i["ref"], i["tokens"])
        for part in bill["parts"]
        if part["name"] == "known_facts"
        for i in part["items"]
    ]
    assert [(i["ref"], i["tokens"]) for i in told["items"] if i["section"] == "known_facts"] == given
    tight = ask(live, token, "GET", f"/memory/recall?{where}&q=cat&tokens={told['tokens'] - 5}")
    refs = [item["ref"] for item in (*tight["items"], *tight["left_out"]) if item["ref"].startswith("fact/")]
    assert sorted(refs) == ["fact/pet", "fact/town"]
    assert tight["left_out"] and all(item["why"] for item in tight["left_out"])
    assert ask(live, token, "GET", f"/memory/recall?{where}&q=cat&tokens=0")["items"] == []
    ask(live, token, "GET", f"/memory/recall?{where}&tokens=-1", status=400)
    bob = live.token("bob", "runner")
    # What others ran stays theirs.
    own = where.replace("owner=rae", "owner=bob")
    assert (
        ask(live, bob, "GET", f"/memory/recall?{own}&q=cat")["known"] is False
    )  # what others ran stays theirs
    ask(live, bob, "GET", f"/memory/recall?{where}&q=cat", status=404)


def test_recall_goes_by_the_memories_that_share_a_namespace(live: Live) -> None:
    token, chief = live.token("pia", "runner"), live.token("local", "operator")
    for name, tokens in (("larder", 900), ("garden", 700)):
        document = json.loads((live.flows / "talk.json").read_text())
        memory = {"scope": "user", "namespace": "household", "injection": {"tokens": tokens}}
        document |= {"id": f"id-{name}", "name": name.title()}
        document["nodes"][2]["config"] = memory
        (live.flows / f"{name}.json").write_text(json.dumps(document))
        needs = ask(live, token, "POST", "/validate", {"flow": document, "path": f"{name}.json"})
        body = {"path": f"{name}.json", "input": "Hello", "session": name, "allow": needs["needs_hash"]}
        started = ask(live, chief, "POST", "/runs", {**body, "user": "pia"}, 201)
        live.wait(chief, started["run_id"])
    where = "namespace=household&scope=user&owner=pia&rehearsal=1"
    told = ask(live, token, "GET", f"/memory/recall?{where}")
    assert told["flows"] == [{"id": "id-garden", "name": "Garden"}, {"id": "id-larder", "name": "Larder"}]
    assert (told["flow"], told["allowance"], told["known"]) == ("id-garden", 700, True)
    other = ask(live, token, "GET", f"/memory/recall?{where}&flow=id-larder")
    assert (other["flow"], other["allowance"], other["known"]) == ("id-larder", 900, True)


def test_shelves_and_counters_say_what_people_call_them(live: Live) -> None:
    document = json.loads((live.flows / "talk.json").read_text())
    document |= {"id": "id-shop", "name": "The shop"}
    document["nodes"][2]["config"] = {"scope": "session"}
    document["nodes"][3]["config"] |= {"period": "session"}
    (live.flows / "shop.json").write_text(json.dumps(document))
    token = live.token("lou", "runner")
    body = {"path": "shop.json", "input": "Hello", "session": "Monday morning"}
    started = ask(live, token, "POST", "/runs", body, 201)
    live.wait(token, started["run_id"])
    uid = started["session_uid"]
    fact = {"namespace": "id-shop", "scope": "session", "owner": uid, "rehearsal": True}
    ask(live, token, "PUT", "/facts", {**fact, "key": "a", "value": 1})
    told = ask(live, token, "GET", f"/facts?rehearsal=1&limit=0&owner={uid}")
    assert [(line["session"], line["flow"]) for line in told["shelves"]] == [("Monday morning", "The shop")]
    assert len(ask(live, token, "GET", "/facts?rehearsal=1&limit=0&find=monday")["shelves"]) == 1
    assert len(ask(live, token, "GET", "/facts?rehearsal=1&limit=0&find=the%20shop")["shelves"]) == 1
    assert ask(live, token, "GET", "/facts?rehearsal=1&limit=0&find=tuesday")["shelves"] == []
    (counter,) = [
        each
        for each in ask(live, token, "GET", "/budgets?rehearsal=1")["budgets"]
        if each["key"]["owner"] == uid
    ]
    assert (counter["session"], counter["flow"]) == ("Monday morning", "The shop")
    found = [
        ask(live, token, "GET", f"/sessions?rehearsal=1&flow={flow}") for flow in ("the%20SHOP", "id-shop")
    ]
    assert [[line["uid"] for line in page["sessions"]] for page in found] == [[uid], [uid]]
    rows = ask(live, token, "GET", f"/ledger?rehearsal=1&session={uid}")
    assert rows["rows"] and rows["flows"] == {"id-shop": "The shop"}


def test_consolidation_is_previewed_done_and_taken_back(live: Live) -> None:
    token, chief = live.token("con", "runner"), live.token("chief", "operator")
    soon = live.studio.services.clock.now() + timedelta(milliseconds=30)
    put(live, token, "con", "note", "over soon", valid_to=soon.isoformat())
    put(live, token, "con", "name", "Con")
    time.sleep(0.05)
    told = ask(live, token, "GET", "/memory/consolidation?rehearsal=1")
    assert [(change["key"], change["action"]) for change in told["shelves"][0]["changes"]] == [
        ("note", "expire")
    ]
    assert told["user"] == "con" and told["last"] is None
    body = {"user": "con", "rehearsal": True}
    ask(live, token, "POST", "/memory/consolidate", body, 403)
    begun = ask(live, chief, "POST", "/memory/consolidate", body, 202)
    last = ended(live, token)
    assert (last["what"], last["state"], last["done"], last["made"]) == ("changes", "done", 1, 1)
    assert ask(live, token, "GET", "/memory/consolidation?rehearsal=1")["shelves"] == []
    copies = list(Path(live.env["FARTHING_DB"]).parent.glob(f"*{begun['batch']}*"))
    assert len(copies) == 1
    undone = ask(live, token, "POST", "/memory/undo", body)
    assert (undone["batch"], undone["keys"]) == (begun["batch"], ["note"])
    ask(live, token, "POST", "/memory/undo", body, 404)


def ended(live: Live, token: str) -> Any:
    """The user's last judgement or consolidation once it has ended."""
    until = time.monotonic() + 10
    while True:
        last = ask(live, token, "GET", "/memory/consolidation/progress?rehearsal=1")["last"]
        if last["state"] != "running":
            return last
        assert time.monotonic() < until
        time.sleep(0.02)


def looked(live: Live, token: str) -> tuple[Any, list[Any]]:
    """What would be changed, and the changes of its one shelf."""
    told = ask(live, token, "GET", "/memory/consolidation?rehearsal=1")
    return told, told["shelves"][0]["changes"] if told["shelves"] else []


def alike(live: Live, token: str, owner: str) -> None:
    """Two facts that contradict each other, and two that say the same."""
    put(live, token, owner, "bikes", "has 2 bicycles in the shed")
    put(live, token, owner, "bicycles", "has 3 bicycles in the shed")
    put(live, token, owner, "home", "lives in Ghent")
    write(live, owner, FactWrite(key="place", value="lives in Ghent near the canal", origin="model"))


@pytest.mark.promise("STU-11")
def test_model_judges_after_its_cost_was_said_and_what_is_chosen_is_done(live: Live) -> None:
    token, chief = live.token("jo", "runner"), live.token("chief", "operator")
    alike(live, token, "jo")
    asked = ask(live, token, "GET", "/memory/judging?rehearsal=1")
    assert (asked["model"], asked["pairs"]) == ("scripted:rehearsal", 2)
    assert asked["tokens"] > 0 and float(asked["cost"]) > 0, "a rehearsal has its price too"
    body = {"user": "jo", "rehearsal": True}
    ask(live, token, "POST", "/memory/judge", body, 403)
    ask(live, chief, "POST", "/memory/judge", {**body, "limits": [f"tokens={asked['tokens']}"]}, 202)
    last = ended(live, token)
    assert (last["what"], last["state"], last["done"], last["of"]) == ("judging", "done", 2, 2)
    assert 0 < last["tokens"] <= asked["tokens"]
    assert ask(live, token, "GET", "/memory/judging?rehearsal=1")["pairs"] == 0, "not to be paid again"
    told, changes = looked(live, token)
    assert told["previewed"] is not None and told["stale"] == [] and not told["undoable"]
    mark, merge = sorted(changes, key=lambda change: change["action"])
    assert (mark["action"], mark["fact"]["value"], mark["other"]["value"]) == (
        "conflict", "has 2 bicycles in the shed", "has 3 bicycles in the shed",
    )  # fmt: skip
    assert (merge["action"], merge["key"], merge["by"]) == ("merge", "place", "home")
    assert merge["judged_in"] and merge["fact"]["value"] == "lives in Ghent near the canal"
    ask(live, chief, "POST", "/memory/consolidate", {**body, "plan": "another"}, 202)
    assert ended(live, token)["error"] == "What would be changed is no longer what you were shown."
    choice = {**body, "plan": told["plan"], "leave": [merge["id"]]}
    ask(live, chief, "POST", "/memory/consolidate", choice, 202)
    assert ended(live, token)["made"] == 1
    listing = listed(live, token, "&owner=jo")
    assert {fact["key"] for fact in listing["facts"]} == {"bikes", "bicycles", "home", "place"}
    assert [(m["key"], m["other"], m["why"]) for m in listing["marks"]] == [
        ("bikes", "bicycles", "the same words with other numbers")
    ]
    told, changes = looked(live, token)
    assert [change["id"] for change in changes] == [merge["id"]], "left out, and proposed again"
    assert told["undoable"]


@pytest.mark.promise("MEM-25")
def test_mark_is_settled_by_the_person_whose_facts_they_are(live: Live) -> None:
    token, chief = live.token("sal", "runner"), live.token("chief", "operator")
    alike(live, token, "sal")
    body = {"user": "sal", "rehearsal": True}
    for path in ("/memory/judge", "/memory/consolidate"):
        ask(live, chief, "POST", path, body, 202)
        assert ended(live, token)["state"] == "done"
    shelf = {"namespace": "talk", "scope": "user", "owner": "sal", "rehearsal": True}
    ask(live, token, "POST", "/memory/settle", {**shelf, "right": "bikes", "other": "home"}, 404)
    ask(live, token, "POST", "/memory/settle", {**shelf, "right": "bikes", "other": "bicycles"})
    listing = listed(live, token, "&owner=sal")
    assert listing["marks"] == [] and {f["key"] for f in listing["facts"]} == {"bikes", "home"}
    assert ask(live, token, "POST", "/memory/undo", body)["keys"] == ["bicycles"]
    assert looked(live, token)[1] == []


def test_preview_says_what_of_it_was_written_since(live: Live) -> None:
    token, chief = live.token("sten", "runner"), live.token("chief", "operator")
    alike(live, token, "sten")
    ask(live, chief, "POST", "/memory/judge", {"user": "sten", "rehearsal": True}, 202)
    assert ended(live, token)["state"] == "done"
    put(live, token, "sten", "bikes", "has no bicycle at all")
    told, changes = looked(live, token)
    assert [(stale["key"], stale["by"], stale["action"]) for stale in told["stale"]] == [
        ("bikes", "bicycles", "conflict")
    ]
    assert [change["key"] for change in changes] == ["place"]


def test_no_model_is_said_and_nothing_is_to_be_cancelled(live: Live) -> None:
    chief = live.token("chief", "operator")
    asked = ask(live, chief, "GET", "/memory/judging")
    assert (asked["model"], asked["why"], asked["calls"]) == (None, None, 0)
    ask(live, chief, "POST", "/memory/judge", {}, 409)
    ask(live, chief, "POST", "/memory/judge/cancel", {}, 409)
    ask(live, chief, "POST", "/memory/judge", {"rehearsal": True, "limits": ["much"]}, 400)


@pytest.mark.promise("STU-11")
def test_judgement_is_cancelled_and_charged_for_what_it_asked(
    own_live: Callable[..., Live], fake_model: FakeModel
) -> None:
    live = own_live(settings_for(fake_model))
    chief = live.token("chief", "operator")
    for number in range(20):
        body = {"namespace": "talk", "scope": "user", "owner": "chief", "key": f"k{number}"}
        ask(live, chief, "PUT", "/facts", {**body, "value": f"likes tea with milk and honey {number}"})
    asked = ask(live, chief, "GET", "/memory/judging")
    assert asked["calls"] > 2 and float(asked["cost"]) > 0
    verdicts = [{"pair": number, "relation": "different"} for number in range(1, 9)]
    fake_model.play(answer(json.dumps({"verdicts": verdicts})))
    fake_model.play(answer("{}", delay_s=30))
    ask(live, chief, "POST", "/memory/judge", {}, 202)
    until = time.monotonic() + 10
    while (last := ask(live, chief, "GET", "/memory/consolidation/progress")["last"])["done"] < 8:
        assert time.monotonic() < until and last["state"] == "running", last
        time.sleep(0.02)
    assert last["tokens"] > 0 and last["of"] == asked["pairs"]
    ask(live, chief, "POST", "/memory/consolidate", {}, 409)
    ask(live, chief, "POST", "/memory/judge/cancel", {}, 202)
    while (last := ask(live, chief, "GET", "/memory/consolidation/progress")["last"])["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert (last["state"], last["done"]) == ("cancelled", 8)
    found = ask(live, chief, "GET", "/sessions?flow=@admin")["sessions"]
    (uid,) = [session["uid"] for session in found if session["name"] == "@maintenance"]
    events = ask(live, chief, "GET", f"/sessions/{uid}/events")["events"]
    (said,) = [event for event in events if event["type"] == "memory.judged"]
    assert (len(said["verdicts"]), said["model"], said["tokens"]) == (8, "fake:ok", last["tokens"])
    assert events[-1]["state"] == "cancelled"


@pytest.mark.promise("MEM-22")
def test_one_process_at_a_time_asks_a_model_about_a_users_facts(
    fake_model: FakeModel, own_live: Callable[..., Live]
) -> None:
    """The studio and the command line at the same moment: whoever is second pays nothing and is told why."""
    live = own_live(settings_for(fake_model))
    chief = live.token("chief", "operator")
    for number in range(3):
        body = {"namespace": "talk", "scope": "user", "owner": "chief", "key": f"k{number}"}
        ask(live, chief, "PUT", "/facts", {**body, "value": f"likes tea with milk and honey {number}"})
    command = [
        sys.executable,
        "-m",
        "runtime.cli",
        "memory",
        "consolidate",
        "--user",
        "chief",
        "--with-model",
    ]
    env = {**os.environ, **live.env}
    until = time.monotonic() + 60

    fake_model.play(answer("{}", delay_s=60))
    ask(live, chief, "POST", "/memory/judge", {}, 202)
    while fake_model.count < 1:
        assert time.monotonic() < until
        time.sleep(0.02)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "asked about facts of 'chief' already" in done.stderr, done.stderr
    ask(live, chief, "POST", "/memory/judge/cancel", {}, 202)
    fake_model.play(answer("{}", delay_s=60))
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as other:
        while fake_model.count < 2:
            assert other.poll() is None, other.communicate()
            assert time.monotonic() < until
            time.sleep(0.02)
        assert (
            ask(live, chief, "POST", "/memory/judge", {}, 409)["error"]["code"] == "consolidation.under_way"
        )
        (line,) = ask(live, chief, "GET", "/sessions?flow=@admin&state=running")["sessions"]
        (*_, run) = ask(live, chief, "GET", f"/sessions/{line['uid']}")["runs"]
        ask(live, chief, "POST", f"/runs/{run['run_id']}/cancel", {}, 202)
        _, err = other.communicate(timeout=30)
    assert other.returncode == 1 and "Cancelled by chief." in err, err
    verdicts = [{"pair": number, "relation": "different"} for number in range(1, 4)]
    fake_model.play(answer(json.dumps({"verdicts": verdicts})))
    ask(live, chief, "POST", "/memory/judge", {}, 202)
    while ask(live, chief, "GET", "/memory/consolidation/progress")["last"]["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert fake_model.count == 3


def test_consolidation_waits_for_runs_to_end(live: Live) -> None:
    chief = live.token("chief", "operator")
    flow = json.loads((live.flows / "talk.json").read_text())
    (live.flows / "slow.json").write_text(json.dumps({**flow, "id": "slow", "name": "slow"}))
    script = {"format": "farthing.script/1", "replies": {"helper": [{"text": "Slow.", "latency_s": 5}]}}
    (live.flows / "slow.script.json").write_text(json.dumps(script))
    body = {"path": "slow.json", "input": "Hi", "user": "busy"}
    started = ask(live, chief, "POST", "/runs", body, 201)
    refused = live.request(
        "POST", f"{A}/memory/consolidate", {"user": "busy", "rehearsal": True}, token=chief
    )
    assert refused.status == 409 and started["run_id"] in refused.json["error"]["message"]
    ask(live, chief, "POST", f"/runs/{started['run_id']}/cancel", {}, 202)
    live.wait(chief, started["run_id"])
    ask(live, chief, "POST", "/memory/consolidate", {"user": "busy", "rehearsal": True}, 202)

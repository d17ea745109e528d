"""One step looked at closely: the facts as they were, the bill of a call, and a session as one file."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.client import Client
from runtime.record import SessionFilter
from studio.api.exports import _named
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.live import A, Live


def ask(live: Live, token: str, path: str, status: int = 200) -> Any:
    answered = live.request("GET", A + path, token=token)
    assert answered.status == status, answered
    return answered.json


def run(live: Live, token: str, text: str, session: str) -> dict[str, Any]:
    body = {"path": "talk.json", "input": text, "session": session}
    started = live.request("POST", f"{A}/runs", body, token=token).json
    ended: dict[str, Any] = live.wait(token, started["run_id"])
    assert ended["state"] == "completed"
    return ended


def events_of(live: Live, token: str, uid: str, kind: str) -> list[dict[str, Any]]:
    return [e for e in ask(live, token, f"/sessions/{uid}/events")["events"] if e["type"] == kind]


def marked(told: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    found = {}
    for each in told["facts"]:
        fact, before = each["fact"], each["before"] or {}
        found[fact["key"]] = (fact["value"], each["sent"], each["wrote"], before.get("value"))
    return found


@pytest.mark.promise("STU-9")
def test_facts_are_told_as_they_were_at_a_step(live: Live) -> None:
    token = live.token("iris", "runner")
    uid = run(live, token, "My name is Iris.", "steps")["session_uid"]
    run(live, token, "My name is Irina.", "steps")
    write, second = events_of(live, token, uid, "memory.write")
    calls = events_of(live, token, uid, "model.called")
    first = ask(live, token, f"/sessions/{uid}/facts?seq={calls[0]['seq']}")
    assert (first["part"], marked(first)) == ("step", {"name": ("Iris", False, "created", None)})
    assert first["shelves"] == [{"namespace": "talk", "scope": "user", "owner": "iris"}]
    later = [call for call in calls if call["run_id"] == second["run_id"]]
    replaced = ask(live, token, f"/sessions/{uid}/facts?seq={later[0]['seq']}")
    assert marked(replaced) == {"name": ("Irina", True, "replaced", "Iris")}
    answered = ask(live, token, f"/sessions/{uid}/facts?seq={later[-1]['seq']}")
    assert marked(answered) == {"name": ("Irina", True, None, None)}
    moment = ask(live, token, f"/sessions/{uid}/facts?seq={write['seq']}")
    assert (moment["part"], marked(moment)) == ("event", {"name": ("Iris", False, "created", None)})
    starts = events_of(live, token, uid, "run.started")
    whole = ask(live, token, f"/sessions/{uid}/facts?seq={starts[0]['seq']}")
    assert (whole["part"], marked(whole)["name"][0]) == ("run", "Iris")
    opened = ask(live, token, f"/sessions/{uid}/facts?seq=1")
    assert marked(opened) == {}
    assert marked(ask(live, token, f"/sessions/{uid}/facts"))["name"][0] == "Irina"


@pytest.mark.parametrize("seq", ["0", "-4", "999999", "9223372036854775808", "1" + "0" * 40])
def test_event_that_is_not_there_is_not_found(live: Live, seq: str) -> None:
    token = live.token("nobody", "runner")
    uid = run(live, token, "Hello", "none")["session_uid"]
    for part in ("facts", "context"):
        ask(live, token, f"/sessions/{uid}/{part}?seq={seq}", 404)
    ask(live, token, f"/sessions/{uid}/context?seq=1", 404)


@pytest.mark.promise("STU-9")
def test_bill_tells_parts_in_the_order_sent_with_money(paid: Live, fake_model: FakeModel) -> None:
    token = paid.token("ada", "runner")
    shelf = {"namespace": "talk", "scope": "user", "owner": "ada", "key": "town", "value": "Bern"}
    assert paid.request("PUT", f"{A}/facts", shelf, token=token).status == 200
    usage: dict[str, Any] = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
    usage |= {"prompt_tokens_details": {"cached_tokens": 250}}
    fake_model.play(answer("Yes.", usage=usage))
    uid = run(paid, token, "Where do I live?", "bill")["session_uid"]
    [called] = events_of(paid, token, uid, "model.called")
    told = ask(paid, token, f"/sessions/{uid}/context?seq={called['seq']}")
    names = [part["name"] for part in told["parts"]]
    assert names.index("known_facts") > names.index("instructions" if "instructions" in names else names[0])
    [facts] = [part for part in told["parts"] if part["name"] == "known_facts"]
    assert [item["ref"] for item in facts["items"]] == ["fact/town"]
    assert sum(part["share"] for part in told["parts"]) == pytest.approx(1)
    assert told["parts"][0]["cached"] > 0 and told["parts"][-1]["cached"] < 1
    assert told["gave_way"] == []
    assert told["priced"] and told["complete"] and told["usage"]["cached"] == 250
    assert float(told["answer_cost"]) == pytest.approx(10 * 4 / 1e6)
    whole = sum(float(part["cost"]) for part in told["parts"]) + float(told["answer_cost"])
    assert whole == pytest.approx(float(told["cost"]), abs=1e-7)
    assert ask(paid, token, f"/sessions/{uid}/context")["seq"] == called["seq"]


def test_session_is_exported_whole(live: Live) -> None:
    token = live.token("ex", "runner")
    ended = run(live, token, "My name is <b>Ex</b>.", 'wörld/"x')
    uid = ended["session_uid"]
    answered = live.request("GET", f"{A}/sessions/{uid}/export", token=token)
    told = answered.json
    assert told["format"] == "farthing.session/1" and told["session"]["uid"] == uid
    assert told["events"] == ask(live, token, f"/sessions/{uid}/events")["events"]
    named = answered.headers["content-disposition"]
    assert named.startswith(
        "attachment; filename=\"session-w_rld_x.json\"; filename*=UTF-8''session-w%C3%B6rld"
    )
    page = live.request("GET", f"{A}/sessions/{uid}/export?form=html", token=token)
    text = page.raw.decode()
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "&lt;b&gt;Ex" in text and "<b>Ex" not in text and uid in text
    other = live.request("GET", f"{A}/sessions/{uid}/export?run=no-such", token=token).json
    assert other["events"] == []
    assert live.request("GET", f"{A}/sessions/{uid}/export?form=pdf", token=token).status == 400
    assert json.loads(answered.raw)["session"]["name"] == ended["session"]


def test_file_of_an_older_session_with_any_name_breaks_no_header(live: Live) -> None:
    run(live, live.token("ex", "runner"), "Hello", "older")
    reading = live.studio.services.record.sessions(SessionFilter(partition="rehearsal"))
    line = asyncio.run_coroutine_threadsafe(reading, live.loop).result(10)[0]
    plain, full = "session-w_rld_x.json", "session-w%C3%B6rld%2F%22x%0D%0A.json"
    named = _named(line._replace(name='wörld/"x\r\n'), "json")
    assert named == f"attachment; filename=\"{plain}\"; filename*=UTF-8''{full}"


def test_client_reads_steps_facts_and_files(live: Live) -> None:
    token = live.token("cli", "runner")
    ended = run(live, token, "My name is Clio.", "client")
    client = Client(f"http://127.0.0.1:{live.port}", token)
    uid = ended["session_uid"]
    assert [each["fact"]["value"] for each in client.facts_at(uid)["facts"]] == ["Clio"]
    assert client.bill(uid)["run_id"] == ended["run_id"]
    given = client.recall("talk", "user", "cli", "Who am I?", rehearsal=True)
    assert "Clio" in given["stable"]
    assert (
        b"Clio" in client.export(uid, "html")
        and json.loads(client.export(uid, run=ended["run_id"]))["events"]
    )
    facts = list(client.facts(namespace="talk", rehearsal=True, limit=1, as_of=datetime.now(UTC)))
    assert [fact["key"] for fact in facts] == ["name"]

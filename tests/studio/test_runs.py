"""Runs over HTTP: started once, cancelled at once, seen through whatever the page does; their sessions."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from runtime.clock import SystemClock
from runtime.store.opening import open_record
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.conftest import settings_for
from tests.studio.live import FLOW, A, Live


def begin(live: Live, token: str, **body: Any) -> Any:
    asked = {"path": "talk.json", "input": "Hello", **body}
    started = live.request("POST", f"{A}/runs", asked, token=token)
    assert started.status == 201, started
    return started.json


def test_run_tells_what_it_gave_and_used(live: Live) -> None:
    token = live.token("ada", "runner")
    started = begin(live, token, input="My name is Ada.", session="first", limits=["tokens=5000"])
    assert started["rehearsal"] and started["session"] == "first"
    run = live.wait(token, started["run_id"])
    assert run["state"] == "completed" and run["rehearsal"] and not run["here"]
    assert (run["input"], list(run["outputs"])) == ("My name is Ada.", ["answer"])
    assert run["usage"]["tokens"] == run["usage"]["input"] + run["usage"]["output"] > 0
    assert isinstance(run["cost"], str) and run["unknown_cost"] == 0 and run["error"] is None
    assert [(gauge["budget"], gauge["limit"]) for gauge in run["budgets"]] == [("daily", "0.5")]
    assert run["budgets"][0]["used"] == run["cost"] and run["budgets"][0]["text"].startswith("$")
    document = live.request("GET", f"{A}/runs/{started['run_id']}/flow", token=token)
    assert document.raw == (live.flows / "talk.json").read_bytes()


def test_user_comes_from_the_credential(live: Live) -> None:
    chief, ada = live.token("chief", "operator"), live.token("ada", "runner")
    own = begin(live, ada)
    assert live.request("GET", f"{A}/runs/{own['run_id']}", token=ada).json["user_id"] == "ada"
    for_other = begin(live, chief, user="someone")
    assert live.request("GET", f"{A}/runs/{for_other['run_id']}", token=chief).json["user_id"] == "someone"


def test_draft_runs_as_it_was_sent(live: Live) -> None:
    token = live.token("ed", "editor")
    draft = json.dumps({**FLOW, "id": "draft", "name": "a draft"})
    body = b'{"input": "Hi", "flow": ' + draft.encode() + b"}"
    started = live.request("POST", f"{A}/runs", body, token=token).json
    run = live.wait(token, started["run_id"])
    assert (run["flow_id"], run["flow_name"], run["state"]) == ("draft", "a draft", "completed")
    document = live.request("GET", f"{A}/runs/{started['run_id']}/flow", token=token)
    assert document.raw == draft.encode()


def test_example_runs_without_any_setting_up(live: Live) -> None:
    token = live.token("new", "runner")
    run = live.wait(token, begin(live, token, path="example:support", input="I ride a Brompton.")["run_id"])
    assert run["state"] == "completed" and run["outputs"]


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"path": "none.json"}, 404, "not_found"),
    ({"path": "example:none"}, 404, "not_found"),
    ({"path": "talk.json", "flow": FLOW}, 400, "input.invalid"),
    ({"path": None}, 400, "input.invalid"),
    ({"input": None}, 400, "input.invalid"),
    ({"input": {"a": 1}}, 400, "input.invalid"),
    ({"model": "openai:gpt-4.1"}, 422, "model.not_configured"),
    ({"model": "nobody:x"}, 422, "model.unknown_provider"),
    ({"limits": ["spend=lots"]}, 400, "config.invalid"),
    ({"path": None, "flow": {"name": "x", "nodes": []}}, 422, "flow.invalid"),
    ({"path": 5}, 400, "input.invalid"),
]


@pytest.mark.parametrize(("body", "status", "code"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_begin_is_told(live: Live, body: dict[str, Any], status: int, code: str) -> None:
    token = live.token("ed", "editor")
    asked = {"path": "talk.json", "input": "Hello", **body}
    answered = live.request("POST", f"{A}/runs", asked, token=token)
    assert (answered.status, answered.code) == (status, code), answered


def test_one_key_starts_one_run(live: Live) -> None:
    token = live.token("ada", "runner")
    body = {"path": "talk.json", "input": "Once", "session": "once"}
    found: list[Any] = []

    def send() -> None:
        found.append(
            live.request("POST", f"{A}/runs", body, token=token, headers={"idempotency-key": "k1"}).json
        )

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    send()
    assert len({each["run_id"] for each in found}) == 1
    headers = {"idempotency-key": "k1"}
    other = live.request("POST", f"{A}/runs", {**body, "input": "Twice"}, token=token, headers=headers)
    assert (other.status, other.code) == (409, "run.key_reused")
    foreign = live.token("bob", "runner")
    theirs = live.request("POST", f"{A}/runs", body, token=foreign, headers=headers)
    assert theirs.status == 201 and theirs.json["run_id"] != found[0]["run_id"]
    failing = {"path": "none.json"}
    for _ in range(2):  # what could not begin may be tried again
        again = live.request("POST", f"{A}/runs", failing, token=token, headers={"idempotency-key": "k2"})
        assert again.status == 404
    fixed = live.request("POST", f"{A}/runs", body, token=token, headers={"idempotency-key": "k2"})
    assert fixed.status == 201


def test_cancel_is_quick_and_twice_is_harmless(paid: Live, fake_model: FakeModel) -> None:
    token = paid.token("ada", "runner")
    fake_model.play(answer("never to be heard", delay_s=60))
    started = begin(paid, token)
    until = time.monotonic() + 5
    while not fake_model.calls and time.monotonic() < until:
        time.sleep(0.01)
    began = time.monotonic()
    path = f"{A}/runs/{started['run_id']}/cancel"
    assert paid.request("POST", path, token=token).status == 202
    assert time.monotonic() - began < 0.5, "cancelling is acknowledged at once"
    run = paid.wait(token, started["run_id"], seconds=2)
    assert time.monotonic() - began < 1.5
    assert run["state"] == "cancelled" and run["budgets"][0]["held"] == "0"
    assert paid.request("POST", path, token=token).status == 202
    assert len(fake_model.calls) == 1 and not run["here"]


@pytest.mark.promise("STU-7")
def test_server_that_stops_cancels_runs_and_closes_streams(
    own_live: Callable[..., Live], fake_model: FakeModel
) -> None:
    live = own_live(settings_for(fake_model))
    token = live.token("ada", "runner")
    fake_model.play(answer("slow", delay_s=60), answer("slow", delay_s=60))
    runs = [begin(live, token, session=f"s{n}") for n in range(2)]
    with live.stream(f"{A}/sessions/{runs[0]['session_uid']}/events?stream=1", token) as response:
        response.readline()
        took = live.stop()
        rest = response.read()
    assert took < 2, "everything is over within two seconds"
    assert b"event: end" not in rest, "the page is to come again when the server is back"
    assert not live.studio.feeds.watchers

    async def states() -> list[tuple[str, bytes]]:
        record = open_record(live.settings().db, SystemClock())
        await record.open()
        try:
            found = []
            for run in runs:
                line = await record.run(run["run_id"])
                assert line is not None
                found.append((line.state, (await record.events_json(line.session_uid))[-1]))
            return found
        finally:
            await record.close()

    for state, last in asyncio.run(states()):
        assert state == "cancelled" and b'"type":"run.finished"' in last


# Sessions


@pytest.fixture(scope="module")
def many(live: Live) -> str:
    """Seven sessions of one user, the newest last."""
    token = live.token("lister", "runner")
    for n in range(7):
        begin_and_end = begin(live, token, session=f"list {n}", input=f"Note {n}")
        live.wait(token, begin_and_end["run_id"])
    return token


def test_sessions_page_without_a_gap_or_a_repeat(live: Live, many: str) -> None:
    seen: list[str] = []
    url, pages = f"{A}/sessions?rehearsal=1&limit=3", 0
    following: str | None = ""
    while following is not None:
        more = f"&before={following}" if following else ""
        page = live.request("GET", url + more, token=many).json
        seen += [session["name"] for session in page["sessions"]]
        following, pages = page["next"], pages + 1
    assert seen == [f"list {n}" for n in reversed(range(7))] and pages == 3


def test_sessions_are_filtered(live: Live, many: str) -> None:
    def names(query: str) -> list[str]:
        answered = live.request("GET", f"{A}/sessions?rehearsal=1&{query}", token=many)
        assert answered.status == 200, answered
        return [session["name"] for session in answered.json["sessions"]]

    assert names("text=list%203") == ["list 3"]
    assert len(names("state=completed")) == 7 and names("state=failed") == []
    assert len(names("flow=talk")) == 7 and names("flow=other") == []
    assert names("user=ada") == names(""), "whom one may not see is not asked about"
    assert names("min_cost=1000") == [] and len(names("min_cost=0")) == 7
    assert names("since=2999-01-01") == [] and len(names("since=2020-01-01&until=2999-01-01")) == 7
    assert names("until=2020-01-01") == []
    real = live.request("GET", f"{A}/sessions", token=many).json
    assert real == {"sessions": [], "next": None, "hidden_rehearsals": 7}


def test_session_has_its_runs(live: Live, many: str) -> None:
    first = live.request("GET", f"{A}/sessions?rehearsal=1&limit=1", token=many).json["sessions"][0]
    begin_more = begin(live, many, session=first["name"], input="Again")
    live.wait(many, begin_more["run_id"])
    session = live.request("GET", f"{A}/sessions/{first['uid']}", token=many).json
    assert session["run_count"] == 2 and session["runs"][1]["run_id"] == begin_more["run_id"]
    assert session["usage"]["tokens"] == sum(run["usage"]["tokens"] for run in session["runs"])


PAYLOADS = [
    "<img src=x onerror=window.__p=1>", "</script><script>alert(1)</script>", "<svg onload=alert(1)>",
    "[x](javascript:alert(1))", "line\n\ndata: forged\n\n", "\u202e\u0000 odd",
]  # fmt: skip


@pytest.mark.promise("STU-5")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_strangers_text_comes_back_as_json_alone(live: Live, payload: str) -> None:
    name = payload.replace("\n", " ").replace("\0", "")  # a name has no control characters
    token = live.token(f"x{name}", "editor")
    flow = {**FLOW, "id": "xss", "name": name, "description": payload}
    body = {"flow": flow, "input": payload, "session": name}
    started = live.request("POST", f"{A}/runs", body, token=token)
    assert started.status == 201, started
    run = live.wait(token, started.json["run_id"])
    uid = started.json["session_uid"]
    urls = [f"/runs/{run['run_id']}", f"/sessions/{uid}", f"/sessions/{uid}/events", "/sessions?rehearsal=1",
            f"/runs/{run['run_id']}/flow", "/facts?rehearsal=1", "/me"]  # fmt: skip
    for url in urls:
        answered = live.request("GET", A + url, token=token)
        assert answered.status == 200 and answered.headers["content-type"] == "application/json"
        assert answered.headers["x-content-type-options"] == "nosniff"
        json.loads(answered.raw)
    assert run["input"] == payload and run["session"] == name


def test_a_base_path_of_a_saved_flow_is_refused(live: Live) -> None:
    body = {"path": "talk.json", "base_path": "talk.json", "input": "Hi"}
    told = live.request("POST", f"{A}/runs", body, token=live.token("me", "editor"))
    assert told.status == 400 and "`base_path`" in told.json["error"]["message"]

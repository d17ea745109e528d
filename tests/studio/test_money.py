"""Facts, budgets, ledger and spending over HTTP; settings, a model's test call, keys that never come back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.fake_model.plays import PLAYS, answer
from tests.fake_model.server import FakeModel
from tests.studio.conftest import settings_for
from tests.studio.live import A, Live


def ask(live: Live, token: str, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answered = live.request(method, A + path, body, token=token)
    assert answered.status == status, answered
    return answered.json


def run(live: Live, token: str, text: str = "Hello", **more: Any) -> Any:
    started = ask(live, token, "POST", "/runs", {"path": "talk.json", "input": text, **more}, 201)
    return live.wait(token, started["run_id"])


SHELF = {"namespace": "talk", "scope": "user", "owner": "ada", "rehearsal": True}


def test_fact_is_written_versioned_and_forgotten(live: Live) -> None:
    token = live.token("ada", "runner")
    first = ask(live, token, "PUT", "/facts", {**SHELF, "key": "colour", "value": "red"})
    assert (first["outcome"], first["fact"]["version"], first["fact"]["origin"]) == ("created", 1, "user")
    again = ask(
        live, token, "PUT", "/facts", {**SHELF, "key": "colour", "value": ["a", 1], "expect_version": 1}
    )
    assert (again["outcome"], again["fact"]["version"], again["fact"]["actor"]) == ("replaced", 2, "ada")
    stale = {**SHELF, "key": "colour", "value": "blue", "expect_version": 1}
    ask(live, token, "PUT", "/facts", stale, 409)
    listed = ask(live, token, "GET", "/facts?rehearsal=1&namespace=talk")
    assert [(f["key"], f["value"], f["shelf"]["owner"]) for f in listed["facts"]] == [
        ("colour", ["a", 1], "ada")
    ]
    where = "namespace=talk&scope=user&owner=ada&key=colour&rehearsal=1"
    versions = ask(live, token, "GET", f"/facts/versions?{where}")["versions"]
    assert [(v["version"], v["value"], v["state"]) for v in versions] == [
        (1, "red", "superseded"), (2, ["a", 1], "current"),
    ]  # fmt: skip
    ask(live, token, "POST", "/facts/forget", {**SHELF, "keys": ["colour"]}, 204)
    assert ask(live, token, "GET", "/facts?rehearsal=1&namespace=talk")["facts"] == []
    ask(live, token, "POST", "/facts/forget", {**SHELF, "keys": ["colour"]}, 404)
    admin = ask(live, token, "GET", "/sessions?rehearsal=1&internal=1&text=@admin")["sessions"][0]
    events = ask(live, token, "GET", f"/sessions/{admin['uid']}/events")["events"]
    assert [event["type"] for event in events[1:]] == ["memory.write", "memory.write", "memory.forgotten"]


def test_fact_is_put_back_and_erased_everywhere(live: Live) -> None:
    token = live.token("mara", "runner")
    run(live, token, "My name is Wilhelmina.")
    shelf = {**SHELF, "owner": "mara"}
    ask(live, token, "PUT", "/facts", {**shelf, "key": "name", "value": "Somebody"})
    back = ask(live, token, "POST", "/facts/undo", {**shelf, "key": "name"})
    assert (back["fact"]["value"], back["fact"]["actor"]) == ("Wilhelmina", "mara")
    uid = ask(live, token, "GET", "/sessions?rehearsal=1&flow=talk")["sessions"][0]["uid"]
    preview = ask(live, token, "POST", "/facts/erase", {**shelf, "keys": ["name"]})
    assert not preview["erased"] and preview["places"]["events"] > 0 and preview["not_reached"]
    assert "Wilhelmina" in json.dumps(ask(live, token, "GET", f"/sessions/{uid}/events"))
    receipt = ask(live, token, "POST", "/facts/erase", {**shelf, "keys": ["name"], "preview": False})
    assert receipt["erased"] and receipt["places"] == preview["places"]
    for path in (f"/sessions/{uid}/events", f"/sessions/{uid}", "/facts?rehearsal=1"):
        assert "Wilhelmina" not in json.dumps(ask(live, token, "GET", path))
    ask(live, token, "POST", "/facts/undo", {**shelf, "key": "name"}, 409)


def test_ledger_is_asked_for_some_kinds_of_rows(live: Live) -> None:
    token = live.token("local", "operator")
    (budget, *_) = live.request("GET", f"{A}/budgets?rehearsal=1&user=kim", token=token).json["budgets"]
    change = {"key": {**budget["key"], "owner": "kim"}, "amount": "7", "reason": "kinds", "rehearsal": True}
    raised = live.request("POST", f"{A}/budgets/raise", change, token=token)
    assert raised.status == 200 and raised.json["own_limit"] == budget["own_limit"] != raised.json["limit"]
    rows = live.request("GET", f"{A}/ledger?rehearsal=1&user=kim&kinds=raise,%20reset", token=token).json
    assert [(row["kind"], row["reason"]) for row in rows["rows"]] == [("raise", "kinds")]
    assert (
        live.request("GET", f"{A}/ledger?rehearsal=1&user=kim&kinds=settle", token=token).json["rows"] == []
    )
    assert live.request("GET", f"{A}/ledger?kinds=spend", token=token).status == 400


@pytest.mark.parametrize(
    ("key", "value"),
    [("__own", 1), ("", 1), ("k" * 121, 1), ("k", "x" * 5000), ("password", "hunter2hunter2")],
)
def test_fact_that_must_not_be_is_refused(live: Live, key: str, value: Any) -> None:
    ask(live, live.token("ada", "runner"), "PUT", "/facts", {**SHELF, "key": key, "value": value}, 400)


def test_operator_writes_for_others_and_it_says_so(live: Live) -> None:
    chief = live.token("chief", "operator")
    written = ask(live, chief, "PUT", "/facts", {**SHELF, "owner": "eve", "key": "vip", "value": True})
    assert (written["fact"]["origin"], written["fact"]["actor"]) == ("operator", "chief")


# Budgets


def test_budget_stops_is_raised_and_lets_run_again(paid: Live, fake_model: FakeModel) -> None:
    """The numbers are those of the stop, the raise is on the ledger with who and why, and it lasts."""
    token, chief = paid.token("ada", "runner"), paid.token("chief", "operator")
    usage = {"prompt_tokens": 500_000, "completion_tokens": 0, "total_tokens": 500_000}
    fake_model.play(answer("Dear.", usage=usage))
    assert run(paid, token)["state"] == "completed"
    stopped = run(paid, token)
    assert (stopped["state"], stopped["error"]["code"]) == ("failed", "budget.exceeded")
    assert len(fake_model.calls) == 1
    budgets = ask(paid, token, "GET", "/budgets")["budgets"]
    daily = next(b for b in budgets if b["key"]["pot"] == "talk/daily")
    assert (daily["used"], daily["limit"], daily["current"], daily["raised"]) == ("0.5", "0.5", True, False)
    assert (
        daily["name"] == "daily"
        and daily["flow"] == "talk"
        and daily["resets_at"]
        and daily["threshold_pct"] == 80
    )
    raising = {"key": daily["key"], "amount": "2.50", "reason": "end of month"}
    ask(paid, token, "POST", "/budgets/raise", raising, 403)
    raised = ask(paid, chief, "POST", "/budgets/raise", raising)
    assert (raised["limit"], raised["raised"], raised["used"]) == ("2.5", True, "0.5")
    assert run(paid, token)["state"] == "completed"
    rows = ask(paid, token, "GET", "/ledger")["rows"]
    found = next(row for row in rows if row["kind"] == "raise")
    assert (found["actor"], found["reason"], found["amount"]) == ("chief", "end of month", "2.5")
    settled = [row for row in rows if row["kind"] == "settle"]
    assert [row["cost"] for row in settled] == ["0.5", "0.000024"]
    assert settled[0]["usage"]["input"] == 500_000 and settled[0]["user_id"] == "ada"
    spend = ask(paid, token, "GET", "/spend?by=user,flow,purpose")
    assert spend["lines"][0]["group"] == {"user": "ada", "flow": "talk", "purpose": "main"}
    assert spend["totals"]["cost"] == "0.500024" and spend["totals"]["calls"] == 2
    assert ask(paid, paid.token("bob", "viewer"), "GET", "/spend")["totals"]["calls"] == 0


BAD_RAISES: list[tuple[dict[str, Any], int]] = [
    ({"amount": "lots"}, 400),
    ({"amount": "-1"}, 400),
    ({"amount": "0.0000000001"}, 400),
    ({"reason": "  "}, 400),
    ({"key": {"pot": "talk/none", "metric": "spend", "period": "daily", "owner": "ada", "start": ""}}, 404),
    ({"key": {"pot": "talk/daily", "metric": "euros", "period": "daily", "owner": "ada", "start": ""}}, 400),
]


@pytest.mark.parametrize(("change", "status"), BAD_RAISES, ids=lambda value: str(value)[:50])
def test_raise_that_makes_no_sense_is_refused(live: Live, change: dict[str, Any], status: int) -> None:
    token = live.token("ada", "operator")
    run(live, token)
    budgets = ask(live, token, "GET", "/budgets?rehearsal=1&user=ada")["budgets"]
    key = next(b["key"] for b in budgets if b["key"]["pot"] == "talk/daily")
    body = {"key": key, "amount": "1", "reason": "test", "rehearsal": True, **change}
    ask(live, token, "POST", "/budgets/raise", body, status)


def test_own_limits_that_counted_nothing_yet_are_listed_and_raised(live: Live) -> None:
    token = live.token("fresh", "operator")
    found = ask(live, token, "GET", "/budgets?user=fresh")["budgets"]
    (own,) = [budget for budget in found if budget["name"] == "default-daily"]
    assert (own["used"], own["limit"], own["key"]["owner"]) == ("0", "5", "fresh")
    raised = ask(live, token, "POST", "/budgets/raise", {"key": own["key"], "amount": 7, "reason": "more"})
    assert raised["limit"] == "7"


def test_ledger_pages(live: Live) -> None:
    token = live.token("pager", "runner")
    for _ in range(3):
        run(live, token)
    whole = ask(live, token, "GET", "/ledger?rehearsal=1")
    assert whole["next"] is None and len(whole["rows"]) >= 6
    seen: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = ask(live, token, "GET", f"/ledger?rehearsal=1&limit=2&after={after}")
        seen += page["rows"]
        after = page["next"]
    assert seen == whole["rows"]
    back = ask(live, token, "GET", "/ledger?rehearsal=1&order=newest&limit=2")
    run(live, token)  # what comes meanwhile changes no page
    seen = [*back["rows"]]
    while back["next"] is not None:
        back = ask(live, token, "GET", f"/ledger?rehearsal=1&order=newest&limit=2&before={back['next']}")
        seen += back["rows"]
    assert seen == whole["rows"][::-1]
    ask(live, token, "GET", "/ledger?before=3", status=400)
    ask(live, token, "GET", "/ledger?order=newest&before=-1", status=400)
    ask(live, token, "GET", "/ledger?limit=0", status=400)
    ask(live, token, "GET", "/spend?by=colour", status=400)


# Settings


@pytest.mark.promise("STU-6")
def test_settings_never_hold_a_key(own_live: Callable[..., Live]) -> None:
    live = own_live()
    chief, viewer = live.token("chief", "operator"), live.token("ada", "viewer")
    before = {p["name"]: p for p in ask(live, chief, "GET", "/settings")["providers"]}
    assert not before["openai"]["configured"] and "OPENAI_API_KEY" in before["openai"]["needs"]
    assert before["ollama"]["configured"] and before["ollama"]["free"]
    key = "sk-test-Zq9XvB7wLm3KdTr8"
    ask(live, viewer, "PUT", "/models/key", {"provider": "openai", "key": key}, 403)
    ask(live, chief, "PUT", "/models/key", {"provider": "openai", "key": key}, 204)
    for token in (chief, viewer):
        answered = live.request("GET", f"{A}/settings", token=token)
        assert key.encode() not in answered.raw
        found = {p["name"]: p for p in answered.json["providers"]}
        assert found["openai"]["configured"] and found["openai"]["needs"] is None
    assert live.settings().providers["openai"].key == key
    assert (live.home / "keys.toml").stat().st_mode & 0o777 == 0o600
    assert ask(live, viewer, "GET", "/settings")["paths"] == {}
    assert ask(live, chief, "GET", "/settings")["paths"]["keys"] == str(live.home / "keys.toml")


@pytest.mark.parametrize(
    ("provider", "key", "status"), [("none", "x", 404), ("scripted", "x", 400), ("openai", "a b", 422)]
)
def test_key_that_is_none_is_refused(live: Live, provider: str, key: str, status: int) -> None:
    answered = live.request(
        "PUT", f"{A}/models/key", {"provider": provider, "key": key}, token=live.token("chief", "operator")
    )
    assert answered.status == status


def test_model_is_tried_with_one_recorded_call(paid: Live, fake_model: FakeModel) -> None:
    chief = paid.token("chief", "operator")
    fake_model.play(answer("ready"))
    tried = ask(paid, chief, "POST", "/models/test", {"model": "fake:ok"})
    assert tried["ok"] and tried["text"] == "ready" and tried["error"] is None
    assert (tried["usage"]["tokens"], tried["cost"], len(fake_model.calls)) == (15, "0.000024", 1)
    rows = ask(paid, chief, "GET", "/ledger?purpose=test")["rows"]
    assert [row["kind"] for row in rows] == ["hold", "settle"] and rows[0]["user_id"] == "chief"
    assert ask(paid, chief, "GET", "/sessions")["sessions"] == [], "tests are no sessions of anybody's"
    fake_model.play(PLAYS["unauthorized"])
    failed = ask(paid, chief, "POST", "/models/test", {"model": "fake"})
    assert not failed["ok"] and failed["error"]["code"] == "model.auth" and failed["error"]["remedy"]
    unknown = ask(paid, chief, "POST", "/models/test", {"model": "openai:gpt-4.1"})
    assert not unknown["ok"] and unknown["error"]["code"] == "model.not_configured"
    assert len(fake_model.calls) == 2


def test_model_test_obeys_the_users_budgets(own_live: Callable[..., Live], fake_model: FakeModel) -> None:
    own = '[[budget]]\nname = "default-daily"\nfor = "each_user"\n'
    own += 'metric = "spend"\nperiod = "daily"\nlimit = "0"\n'
    live = own_live(settings_for(fake_model) + own)
    try:
        tried = ask(live, live.token("chief", "operator"), "POST", "/models/test", {"model": "fake:ok"})
        assert (tried["ok"], tried["error"]["code"], fake_model.calls) == (False, "budget.exceeded", [])
    finally:
        live.stop()


def test_me_says_model_and_limits(paid: Live) -> None:
    me = ask(paid, paid.token("ada", "viewer"), "GET", "/me")
    assert (me["user"], me["role"], me["rehearsal_default"], me["db"]) == ("ada", "viewer", False, "")
    assert me["model"]["name"] == "fake:ok" and "settings" in me["model"]["why"]
    assert [(limit["name"], limit["gauge"]["limit"]) for limit in me["limits"]] == [("default-daily", "5")]


def test_settings_that_change_are_read_again(own_live: Callable[..., Live]) -> None:
    live = own_live()
    chief = live.token("chief", "operator")
    assert ask(live, chief, "GET", "/me")["model"]["rehearsal"]
    (live.home / "config.toml").write_text('default_model = "ollama:tiny"\n')
    assert ask(live, chief, "GET", "/me")["model"]["name"] == "ollama:tiny"


def test_settings_that_break_leave_the_old_ones_in_force(own_live: Callable[..., Live]) -> None:
    live = own_live('default_model = "ollama:tiny"\n')
    chief = live.token("chief", "operator")
    (live.home / "config.toml").write_text("default_model = 5")
    assert ask(live, chief, "GET", "/me")["model"]["name"] == "ollama:tiny"
    assert "default_model" in ask(live, chief, "GET", "/settings")["warnings"][0]
    (live.home / "config.toml").write_text("")
    assert ask(live, chief, "GET", "/settings")["warnings"] == []

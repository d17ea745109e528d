"""Who gets in and what they may do: every route without a credential, by role, and as somebody else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.clock import VirtualClock
from runtime.errors import BadInput, BadSettings, NotFound
from studio.api.route import Endpoint
from studio.api.table import endpoints
from studio.roles import ROLES, Credential
from studio.tokens import Tokens
from tests.studio.live import A, Live

PARTS = {"path": "talk.json", "name": "support", "run_id": "no-such", "uid": "no-such"}
QUERIES = {
    "base_hash": "0",
    "namespace": "talk",
    "scope": "user",
    "owner": "other",
    "key": "name",
    "q": "Who?",
}
TABLE = endpoints()
CLOSED = [e for e in TABLE if e.role is not None]


def address(endpoint: Endpoint) -> str:
    """A route's address with its parts and needed parameters filled in."""
    path = re.sub(r"\{(\w+)(?::path)?\}", lambda found: PARTS[found[1]], endpoint.path)
    needed = [name for name in endpoint.query.__struct_fields__ if name in QUERIES]
    return A + path + ("?" + "&".join(f"{name}={QUERIES[name]}" for name in needed) if needed else "")


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


@pytest.mark.promise("STU-1")
@pytest.mark.parametrize("endpoint", CLOSED, ids=named)
def test_route_is_closed_without_a_credential(live: Live, endpoint: Endpoint) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": f"farthing_{live.port}=wrong"}):
        answer = live.request(endpoint.method, address(endpoint), headers=headers)
        assert (answer.status, answer.code) == (401, "auth.missing")


@pytest.mark.promise("STU-1")
def test_only_shell_health_and_exchange_are_open(live: Live) -> None:
    opened = [named(e) for e in TABLE if e.role is None]
    assert opened == ["POST /auth/exchange", "POST /auth/link"]
    assert live.request("POST", f"{A}/auth/link").status == 401  # it takes the server's own secret
    assert live.request("GET", "/health").json == {"status": "ok"}
    assert live.request("GET", "/sessions/anything").raw == live.request("GET", "/").raw


@pytest.mark.promise("STU-1")
@pytest.mark.parametrize("endpoint", CLOSED, ids=named)
def test_route_asks_for_its_role(live: Live, endpoint: Endpoint) -> None:
    assert endpoint.role is not None
    for role in ROLES:
        token = live.token("walker", role)
        answer = live.request(endpoint.method, address(endpoint), token=token)
        enough = ROLES.index(role) >= ROLES.index(endpoint.role)
        assert (answer.status == 403) == (not enough), (role, answer)


# Somebody else's things


@pytest.fixture(scope="module")
def owned(live: Live) -> dict[str, str]:
    """What another user has: a run, a session, facts."""
    token = live.token("other", "runner")
    body = {"path": "talk.json", "input": "My name is Heron.", "session": "heron-session"}
    started = live.request("POST", f"{A}/runs", body, token=token).json
    live.wait(token, started["run_id"])
    return {"run_id": started["run_id"], "uid": started["session_uid"]}


FOREIGN_READS = [e for e in CLOSED if e.method == "GET" and e.tag not in ("catalog", "flows")]


@pytest.mark.promise("STU-2")
@pytest.mark.parametrize("endpoint", FOREIGN_READS, ids=named)
def test_nothing_of_others_is_read(live: Live, owned: dict[str, str], endpoint: Endpoint) -> None:
    """No role but operator sees another user's name, session, facts, spending or even that they are there."""
    path = re.sub(r"\{(\w+)\}", lambda found: owned.get(found[1], "other"), A + endpoint.path)
    hidden = ("eron", '"other"', '"run_id":"' + owned["run_id"])
    fields: tuple[str, ...] = endpoint.query.__struct_fields__
    asked = {name: "other" for name in fields if name in ("user", "owner")}
    more = {**QUERIES, "session": owned["uid"], "rehearsal": "1", "by": "user,session"}
    asked |= {n: v for n, v in more.items() if n in fields and n not in asked}
    url = path + "?" + "&".join(f"{name}={value}" for name, value in asked.items())
    for role in ("viewer", "runner", "editor"):
        answer = live.request("GET", url, token=live.token("me", role))
        text = answer.raw.decode()
        assert answer.status in (200, 404), text
        assert [word for word in hidden if word in text] == []


def test_operator_sees_all(live: Live, owned: dict[str, str]) -> None:
    token = live.token("chief", "operator")
    assert live.request("GET", f"{A}/runs/{owned['run_id']}", token=token).json["user_id"] == "other"
    found = live.request("GET", f"{A}/sessions?rehearsal=1&user=other", token=token).json["sessions"]
    assert [session["name"] for session in found] == ["heron-session"]
    facts = live.request("GET", f"{A}/facts?rehearsal=1&user=other", token=token).json["facts"]
    assert [(fact["key"], fact["value"]) for fact in facts] == [("name", "Heron")]


@pytest.mark.promise("STU-2")
@pytest.mark.parametrize("role", ["runner", "editor"])
def test_nothing_of_others_is_changed(live: Live, owned: dict[str, str], role: Any) -> None:
    token = live.token("me", role)
    shelf = {"namespace": "talk", "scope": "user", "owner": "other", "rehearsal": True}
    there = {"namespace": "talk", "scope": "session", "owner": owned["uid"], "rehearsal": True}
    tries = [
        ("POST", f"/runs/{owned['run_id']}/cancel", {}, 404),
        ("PUT", "/facts", {**shelf, "key": "name", "value": "x"}, 404),
        ("PUT", "/facts", {**there, "key": "name", "value": "x"}, 404),
        ("POST", "/facts/forget", {**shelf, "keys": ["name"]}, 404),
        ("POST", "/facts/undo", {**shelf, "key": "name"}, 404),
        ("POST", "/facts/settle", {**shelf, "key": "name", "keep": 1}, 404),
        ("POST", "/facts/erase", {**shelf, "keys": ["name"], "preview": False}, 404),
        ("POST", "/facts/move", {**shelf, "to": {**shelf, "owner": "me"}, "preview": False}, 404),
        ("POST", "/facts/move", {**shelf, "owner": "me", "to": shelf, "preview": False}, 404),
        ("POST", "/memory/consolidate", {"user": "other", "rehearsal": True}, 403),
        ("POST", "/memory/judge", {"user": "other", "rehearsal": True}, 403),
        ("POST", "/memory/judge/cancel", {"user": "other", "rehearsal": True}, 403),
        ("POST", "/memory/settle", {**shelf, "right": "name", "other": "pet"}, 404),
        ("POST", "/memory/undo", {"user": "other", "rehearsal": True}, 403),
        ("POST", "/runs", {"path": "talk.json", "input": "Hi", "user": "other"}, 403),
    ]
    for method, path, body, status in tries:
        answer = live.request(method, A + path, body, token=token)
        assert answer.status == status, (path, answer)
    chief = live.token("chief", "operator")
    facts = live.request("GET", f"{A}/facts?rehearsal=1&user=other", token=chief).json["facts"]
    assert [(fact["value"], fact["version"]) for fact in facts] == [("Heron", 1)]


def test_runner_runs_no_unsaved_flow(live: Live) -> None:
    flow = live.request("GET", f"{A}/flows/talk.json", token=live.token("me", "runner")).json["flow"]
    for role, status in (("runner", 403), ("editor", 201)):
        body = {"flow": flow, "base_path": "talk.json", "input": "Hello"}
        assert live.request("POST", f"{A}/runs", body, token=live.token("me", role)).status == status  # type: ignore[arg-type]


# Links and cookies


def cookie_of(live: Live, token: str) -> tuple[int, str]:
    answer = live.request("POST", f"{A}/auth/exchange", {"token": token})
    return answer.status, answer.headers.get("set-cookie", "")


def test_link_opens_once(live: Live) -> None:
    token = live.studio.doors.new_link()
    status, cookie = cookie_of(live, token)
    assert status == 204
    assert cookie.startswith(f"farthing_{live.port}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert cookie_of(live, token)[0] == 401
    headers = {"cookie": cookie.partition(";")[0]}
    me = live.request("GET", f"{A}/me", headers=headers).json
    assert (me["user"], me["role"]) == ("local", "operator")
    assert live.request("POST", f"{A}/auth/logout", headers=headers).status == 204
    assert live.request("GET", f"{A}/me", headers=headers).status == 401


def test_fresh_link_takes_the_servers_own_secret(live: Live) -> None:
    answer = live.request("POST", f"{A}/auth/link", token=live.studio.doors.control)
    assert cookie_of(live, answer.json["token"])[0] == 204
    assert live.request("POST", f"{A}/auth/link", token=live.token("chief", "operator")).status == 401


def test_link_ends_after_ten_minutes(tmp_path: Path) -> None:
    from starlette.responses import Response

    from studio.doors import Doors

    clock = VirtualClock()
    doors = Doors(clock, Tokens(tmp_path / "tokens.toml", clock), lambda: 1)
    early, late = doors.new_link(), doors.new_link()
    clock.advance(599)
    assert doors.exchange(early, Response(), secure=False)
    clock.advance(2)
    assert not doors.exchange(late, Response(), secure=False)


# Tokens


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "data" / "tokens.toml", VirtualClock())


def test_token_is_kept_as_a_hash_and_works_until_revoked(tokens: Tokens) -> None:
    token, text = tokens.create("ada", "runner", None)
    assert text not in tokens.path.read_text() and tokens.path.stat().st_mode & 0o777 == 0o600
    other = Tokens(tokens.path, VirtualClock())
    assert other.who(text) == Credential("ada", "runner")
    assert other.who(text[:-1]) is None and other.who("") is None
    tokens.revoke(token.id)
    assert other.who(text) is None
    with pytest.raises(NotFound):
        tokens.revoke(token.id)


def test_token_ends_when_it_expires(tmp_path: Path) -> None:
    clock = VirtualClock()
    tokens = Tokens(tmp_path / "tokens.toml", clock)
    from datetime import timedelta

    _, text = tokens.create('a "quoted" name', "viewer", clock.now() + timedelta(hours=1))
    assert tokens.who(text) == Credential('a "quoted" name', "viewer")
    clock.advance(3600)
    assert tokens.who(text) is None
    with pytest.raises(BadInput):
        tokens.create("ada", "viewer", clock.now())


@pytest.mark.parametrize("user", ["", "  ", "a\nb", "x" * 257])
def test_token_needs_a_user(tokens: Tokens, user: str) -> None:
    with pytest.raises(BadInput):
        tokens.create(user, "viewer", None)


BROKEN: list[Callable[[Path], object]] = [
    lambda path: path.write_text("[[token]]\nid = 1\n"),
    lambda path: path.write_text("no toml"),
    lambda path: path.chmod(0o666),
]


@pytest.mark.parametrize("spoil", BROKEN)
def test_spoilt_file_of_tokens_lets_nobody_in(tokens: Tokens, spoil: Callable[[Path], object]) -> None:
    _, text = tokens.create("ada", "operator", None)
    spoil(tokens.path)
    fresh = Tokens(tokens.path, VirtualClock())
    assert fresh.who(text) is None
    with pytest.raises(BadSettings):
        fresh.all()

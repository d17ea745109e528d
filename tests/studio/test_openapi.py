"""The OpenAPI document: it is sound, names every route, and whatever it allows gets a proper answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec import inspect as kinds

from studio.api.route import BASE, Endpoint, names_of
from studio.api.table import endpoints
from tests.studio.live import A, Live

TABLE = endpoints()


@pytest.fixture(scope="module")
def document(live: Live) -> dict[str, Any]:
    found: dict[str, Any] = live.request("GET", f"{A}/openapi.json", token=live.token("me", "viewer")).json
    return found


@pytest.mark.promise("STU-8")
def test_document_names_every_route_and_nothing_else(document: dict[str, Any]) -> None:
    written = {(m.upper(), path) for path, item in document["paths"].items() for m in item}
    known = {(e.method, BASE + re.sub(r":path\}", "}", e.path)) for e in TABLE}
    assert written == known


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.extend([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(document)
    names = {ref.removeprefix("#/components/schemas/") for ref in found}
    assert names and names <= set(document["components"]["schemas"])


def test_every_operation_is_told(document: dict[str, Any]) -> None:
    ids = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert operation["summary"].endswith((".", "`)")), (path, method)
            assert set(re.findall(r"\{(\w+)\}", path)) == {
                p["name"] for p in operation["parameters"] if p["in"] == "path"
            }
            ids.append(operation["operationId"])
            if operation.get("security") != []:
                assert {"401", "403"} <= set(operation["responses"])
    assert len(ids) == len(set(ids))


def test_answers_have_the_shape_that_is_written(live: Live, document: dict[str, Any]) -> None:
    """Every plain read, against its schema."""
    from runtime.schema_check import Schema

    token = live.token("me", "operator")
    started = live.request("POST", f"{A}/runs", {"path": "talk.json", "input": "Hi"}, token=token).json
    live.wait(token, started["run_id"])
    parts = {
        "name": "support",
        "path": "talk.json",
        "run_id": started["run_id"],
        "uid": started["session_uid"],
    }
    for endpoint in TABLE:
        if endpoint.method != "GET" or "versions" in endpoint.path:
            continue
        path = re.sub(r"\{(\w+)(:path)?\}", lambda found: parts[found[1]], endpoint.path)
        known = names_of(endpoint.query)
        asked = {"rehearsal": "1", "namespace": "talk", "scope": "user", "owner": "me"}
        asked = {name: value for name, value in asked.items() if name in known}
        answer = live.request("GET", f"{A}{path}?{urlencode(asked)}", token=token)
        assert answer.status == 200, (path, answer)
        operation = document["paths"][BASE + re.sub(r":path\}", "}", endpoint.path)]["get"]
        shape = operation["responses"]["200"]["content"]["application/json"]["schema"]
        shape = {**shape, "$defs": document["components"]["schemas"]}
        Schema(_local(shape)).require(answer.json)


def _local(value: Any) -> Any:
    """References as the checker takes them."""
    if isinstance(value, dict):
        return {key: _local(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_local(item) for item in value]
    return value.replace("#/components/schemas/", "#/$defs/") if isinstance(value, str) else value


@pytest.mark.promise("STU-8")
@pytest.mark.slow
def test_whatever_is_sent_gets_a_proper_answer(live: Live, document: dict[str, Any]) -> None:
    """Requests made up from the document, sound ones and broken ones: never a fault of the server, always an
    error of the one form, always JSON where JSON is promised."""
    schemathesis = pytest.importorskip("schemathesis", reason="the fuzzer is not installed")
    from hypothesis import HealthCheck, given, settings

    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=f"http://127.0.0.1:{live.port}")
    headers = {"Authorization": f"Bearer {live.token('fuzz', 'operator')}"}
    checked = []
    for operation in schema.get_all_operations():
        found = operation.ok()
        if found.path.endswith(("/auth/logout", "/models/key", "/models/test")):
            continue

        @given(case=found.as_strategy())
        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        def check(case: Any) -> None:
            response = case.call(headers=headers, timeout=20)
            assert response.status_code < 500, response.text
            if response.status_code >= 400:
                assert set(response.json()["error"]) >= {"code", "message", "node_id", "hint"}
            elif response.status_code != 204:
                kind = response.headers["content-type"][0]
                assert kind.startswith(("application/json", "text/event-stream", "text/html"))

        check()
        checked.append(found.label)
    assert len(checked) > 25


@pytest.mark.promise("STU-8")
@pytest.mark.parametrize("endpoint", TABLE, ids=lambda e: f"{e.method} {e.path}")
def test_a_name_that_a_route_does_not_have_is_refused_and_never_dropped(
    live: Live, endpoint: Endpoint
) -> None:
    token = live.token("me", "operator")
    path = A + re.sub(r"\{\w+(:path)?\}", "x", endpoint.path)
    answer = live.request(endpoint.method, f"{path}?nosuch=1", token=token)
    assert answer.status == 400 and answer.code == "input.unknown_name"
    if endpoint.body is not None:
        told = live.request(endpoint.method, path, {"nosuch": 1}, token=token)
        assert told.status == 400 and told.code == "input.unknown_name"


def structs_in(kind: kinds.Type) -> Iterator[kinds.StructType]:
    """Every struct within a type, itself first."""
    if isinstance(kind, kinds.StructType):
        yield kind
        for field in kind.fields:
            yield from structs_in(field.type)
    inner = [getattr(kind, name, None) for name in ("type", "item_type", "key_type", "value_type")]
    for each in (*inner, *getattr(kind, "types", ()), *getattr(kind, "item_types", ())):
        if isinstance(each, kinds.Type):
            yield from structs_in(each)


@pytest.mark.promise("STU-8")
def test_no_object_within_a_body_drops_what_it_does_not_know(live: Live) -> None:
    token, nested = live.token("me", "operator"), 0
    for endpoint in TABLE:
        if endpoint.body is None:
            continue
        _, *inner = structs_in(kinds.type_info(endpoint.body))
        nested += len(inner)
        assert all(each.cls.__struct_config__.forbid_unknown_fields for each in inner), endpoint.path
    assert nested >= 2
    shelf = {"namespace": "n", "scope": "user", "owner": "me"}
    move = {**shelf, "keys": ["k"], "to": {**shelf, "rehersal": True}}
    told = live.request("POST", f"{A}/facts/move", move, token=token)
    assert (told.status, told.code) == (400, "input.unknown_name")
    error = told.json["error"]
    assert error["message"] == "There is no field of the body `to.rehersal`."
    assert error["hint"] == "Did you mean `rehearsal`?"
    key = {"pot": "p", "metric": "spend", "period": "daily", "owner": "me", "start": "", "limit": 5}
    told = live.request("POST", f"{A}/budgets/raise", {"key": key, "amount": "5", "reason": "r"}, token=token)
    assert told.json["error"]["message"] == "There is no field of the body `key.limit`."


@pytest.mark.promise("CLI-15")
@pytest.mark.parametrize("name", ["x" * 60_000, "a\nb", "\x1b[2J", " "], ids=lambda name: repr(name[:5]))
def test_what_cannot_be_a_name_is_refused_over_http_too(live: Live, name: str) -> None:
    token = live.token("me", "operator")
    shelf = {"namespace": "n", "scope": "user", "owner": "me"}
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/runs", {"path": "example:support", "input": "Hi", "user": name}),
        ("POST", "/runs", {"path": "example:support", "input": "Hi", "session": name}),
        ("PUT", "/facts", {**shelf, "owner": name, "key": "k", "value": 1}),
        ("PUT", "/facts", {**shelf, "namespace": name, "key": "k", "value": 1}),
        ("POST", "/facts/move", {**shelf, "to": {**shelf, "owner": name}}),
    ]
    for method, path, body in asked:
        told = live.request(method, A + path, body, token=token)
        assert told.status == 400 and told.json["error"]["hint"], (path, body)
        assert len(told.raw) < 1000


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(live: Live) -> None:
    token = live.token("me", "operator")
    told = live.request("GET", f"{A}/ledger?sesion=x", token=token).json["error"]
    assert told["message"] == "There is no query parameter `sesion`."
    assert told["hint"] == "Did you mean `session`?"
    body = {"path": "talk.json", "input": "Hi", "limit": ["tokens=1"]}
    told = live.request("POST", f"{A}/runs", body, token=token).json["error"]
    assert (told["message"], told["hint"]) == (
        "There is no field of the body `limit`.",
        "Did you mean `limits`?",
    )
    twice = live.request("GET", f"{A}/ledger?user=a&user=b", token=token)
    assert twice.status == 400 and "more than once" in twice.json["error"]["message"]

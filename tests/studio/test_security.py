"""What stands before every route: hosts, origins, headers, sizes, and one form of error."""

from __future__ import annotations

import http.client
import json

import pytest

from tests.studio.live import A, Live

HOSTS = {"127.0.0.1": 200, "localhost": 200, "[::1]": 200, "evil.example": 400, "127.0.0.1.evil.example": 400}


@pytest.mark.promise("STU-5")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("path", ["/health", "/", f"{A}/me"])
def test_other_host_names_are_refused(live: Live, host: str, path: str) -> None:
    for name in (host, f"{host}:{live.port}"):
        answer = live.request("GET", path, headers={"host": name}, token=live.token("me", "viewer"))
        assert answer.status == HOSTS[host]
        assert HOSTS[host] == 200 or answer.code == "host.refused"


ORIGINS = [
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://["}, 403),
    ({"origin": ""}, 403),
    ({"origin": "http://127.0.0.1:1"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
    ({"sec-fetch-site": "same-origin"}, 200),
    ({"sec-fetch-site": "none"}, 200),
    ({}, 200),
]


@pytest.mark.promise("STU-5")
@pytest.mark.parametrize(("headers", "status"), ORIGINS)
def test_other_sites_pages_are_refused(live: Live, headers: dict[str, str], status: int) -> None:
    token = live.token("me", "viewer")
    for method, path, body in (("POST", f"{A}/validate", {"flow": {}}), ("GET", f"{A}/me", None)):
        assert live.request(method, path, body, token=token, headers=headers).status == status


def test_own_page_may_send(live: Live) -> None:
    headers = {"origin": f"http://127.0.0.1:{live.port}", "sec-fetch-site": "same-origin"}
    token = live.token("me", "viewer")
    assert live.request("POST", f"{A}/validate", {"flow": {}}, token=token, headers=headers).status == 200


def test_pages_may_be_opened_from_anywhere(live: Live) -> None:
    assert live.request("GET", "/", headers={"sec-fetch-site": "cross-site"}).status == 200


@pytest.mark.parametrize("path", ["/", "/health", f"{A}/me", "/static/none.js", f"{A}/none", "/favicon.ico"])
def test_every_answer_has_the_headers(live: Live, path: str) -> None:
    headers = live.request("GET", path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_shell_has_no_inline_script_and_no_user_data(live: Live) -> None:
    page = live.request("GET", "/").raw.decode()
    assert '<div id="root"></div>' in page and '<script type="module" src="/static/studio.js">' in page
    assert "<style" not in page and page.count("<script") == 1 and str(live.home) not in page


ERRORS = [
    ("GET", f"{A}/none", 404, "http.404"),
    ("DELETE", f"{A}/me", 405, "http.405"),
    ("GET", f"{A}/auth/logout", 405, "http.405"),
    ("GET", "/static/none.js", 404, "http.404"),
    ("GET", "/static/../app.py", 404, "http.404"),
    ("POST", "/", 405, "http.405"),
    ("GET", f"{A}/flows/none.json", 404, "not_found"),
    ("GET", f"{A}/sessions?limit=x", 400, "input.invalid"),
    ("GET", f"{A}/sessions?since=soon", 400, "input.invalid"),
    ("GET", f"{A}/sessions?before=soon", 400, "input.invalid"),
]


@pytest.mark.parametrize(("method", "path", "status", "code"), ERRORS)
def test_errors_have_one_form(live: Live, method: str, path: str, status: int, code: str) -> None:
    answer = live.request(method, path, token=live.token("me", "operator"))
    assert (answer.status, answer.code) == (status, code)
    assert set(answer.json["error"]) == {"code", "message", "node_id", "hint"}
    assert answer.headers["content-type"] == "application/json"


BODIES = [
    b"",
    b"[]",
    b"null",
    b"{",
    b'{"token": 1}',
    b"\xff\xfe",
    b'{"token": "\xed\xa0\x80"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:12]))
def test_broken_bodies_are_told(live: Live, body: bytes) -> None:
    answer = live.request("POST", f"{A}/auth/exchange", body)
    assert answer.status in (400, 413) and answer.json["error"]["message"]


def test_large_bodies_are_refused_before_they_are_kept(live: Live) -> None:
    token = live.token("me", "editor")
    answer = live.request("POST", f"{A}/facts/forget", b" " * 70_000, token=token)
    assert (answer.status, answer.code) == (413, "http.413")
    answer = live.request("POST", f"{A}/validate", b" " * 10_000_000, token=token)
    assert (answer.status, answer.code) == (413, "http.413")


def test_large_body_without_a_length_is_refused_too(live: Live) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)
    headers = {"authorization": f"Bearer {live.token('me', 'editor')}"}
    pieces = (b" " * 10_000 for _ in range(20))
    try:
        connection.request("POST", f"{A}/facts/forget", pieces, headers, encode_chunked=True)
        answer = connection.getresponse()
        assert answer.status == 413 and json.loads(answer.read())["error"]["code"] == "http.413"
    finally:
        connection.close()

"""The page and its assets: stable names that are asked for anew, and no file beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.testclient import TestClient

from studio.pages import page_routes
from tests.studio.live import Live


def test_assets_are_served_and_asked_for_anew(tmp_path: Path) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    for name in ("studio.js", "vendor.js", "studio.css", "icon.svg"):
        (tmp_path / "static" / name).write_text(f"/* {name} */")
    client = TestClient(Starlette(routes=page_routes(tmp_path / "static")))
    page = client.get("/budgets/daily").text
    assert '<link rel="modulepreload" href="/static/vendor.js">' in page and "/static/icon.svg" in page
    script = client.get("/static/studio.js")
    assert script.text == "/* studio.js */" and script.headers["cache-control"] == "no-cache"
    assert "javascript" in script.headers["content-type"]
    assert (
        client.get("/static/studio.js", headers={"if-none-match": script.headers["etag"]}).status_code == 304
    )
    for path in ("/static/../secret.txt", "/static/%2e%2e/secret.txt", "/static/none.js", "/static/"):
        assert "secret" not in client.get(path).text.replace("/static/../secret.txt", "")


def test_shell_stands_without_built_assets(tmp_path: Path) -> None:
    client = TestClient(Starlette(routes=page_routes(tmp_path / "none")))
    assert "vendor.js" not in client.get("/").text
    assert client.get("/static/studio.js").status_code == 404
    assert client.get("/favicon.ico").status_code == 204
    assert client.get("/api/v1/anything").status_code == 404


def test_page_starts_with_the_theme_of_the_settings(tmp_path: Path) -> None:
    for theme, head in (("system", '<html lang="en">'), ("dark", '<html lang="en" data-theme="dark">')):
        client = TestClient(Starlette(routes=page_routes(tmp_path, str(theme).lower)))
        assert head in client.get("/sessions").text


def test_studio_hands_its_theme_to_the_page(own_live: Callable[..., Live]) -> None:
    live = own_live("[display]\ntheme = 'light'\n")
    assert b'<html lang="en" data-theme="light">' in live.request("GET", "/").raw

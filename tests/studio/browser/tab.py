"""A page of the studio that watches itself: an error on the console or in a script, a request to anywhere
but the studio, or a broken content policy fails the test. And the words in which journeys are told."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from tests.studio.live import A, Live

SHOTS = Path(__file__).parents[2] / "shots"
HARMLESS_SCHEMES = ("data", "blob", "about")
TOLD_ON_CONSOLE = re.compile(r"the server responded with a status of (\d+)")


class Tab:
    """One page. `status_expected`: answers by which the browser itself writes an error on the console."""

    def __init__(self, page: Page, live: Live) -> None:
        self.page, self.live = page, live
        self.troubles: list[str] = []
        self.status_expected: set[int] = set()
        self._open: set[Request] = set()
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.troubles.append(f"page error: {error}"))
        page.on("request", self._request)
        page.on("requestfinished", self._answered)
        page.on("requestfailed", self._answered)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        told = TOLD_ON_CONSOLE.search(message.text)
        if told and int(told[1]) in self.status_expected:
            return
        self.troubles.append(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        where = urlsplit(request.url)
        if where.scheme not in HARMLESS_SCHEMES and where.netloc != f"127.0.0.1:{self.live.port}":
            self.troubles.append(f"foreign request: {request.url}")
        if request.is_navigation_request():
            self._open.clear()  # what the page before it asked for is answered to nobody
        elif not where.path.endswith("/events"):  # streams stay open
            self._open.add(request)

    def _answered(self, request: Request) -> None:
        self._open.discard(request)

    # -- where

    def go(self, path: str) -> Tab:
        """Open an address of the studio."""
        self.page.goto(f"http://127.0.0.1:{self.live.port}{path}")
        return self

    def flow(self, path: str) -> Tab:
        """Open a flow of the folder and wait until it stands still on the canvas."""
        self.go(f"/flows/{path}")
        expect(self.page.locator(".react-flow__node").first).to_be_visible()
        self.still()
        return self

    # -- parts of the page

    @property
    def top(self) -> Locator:
        return self.page.locator(".topbar")

    @property
    def log(self) -> Locator:
        """The conversation."""
        return self.page.get_by_role("log", name="Conversation")

    @property
    def inspector(self) -> Locator:
        return self.page.get_by_role("complementary", name="Inspector")

    @property
    def dialog(self) -> Locator:
        return self.page.locator("dialog[open]")

    @property
    def composer(self) -> Locator:
        return self.page.locator(".composer textarea")

    def node(self, name: str) -> Locator:
        return self.page.get_by_test_id(f"node-{name}")

    def port(self, node: str, port: str) -> Locator:
        return self.page.get_by_test_id(f"port-{node}-{port}")

    def field(self, path: str) -> Locator:
        """The control of a field in the inspector."""
        return self.inspector.locator(f'[data-field="{path}"]').locator("input, textarea, select").first

    # -- acts

    def run(self, text: str | None = None) -> None:
        """Press Run, with a text typed first."""
        if text is not None:
            self.composer.fill(text)
        self.top.get_by_role("button", name="Run").click()

    def more(self, entry: str) -> None:
        """Choose from the menu of the top bar."""
        self.top.get_by_role("button", name="More").click()
        self.page.get_by_role("menuitem", name=entry).click()

    def wire(self, source: str, out: str, target: str, into: str) -> None:
        """Drag an edge from port to port with the mouse."""
        start, end = middle(self.port(source, out)), middle(self.port(target, into))
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
        self.page.mouse.move(*end, steps=4)
        self.page.mouse.up()

    def tab_to(self, target: Locator, most: int = 120) -> None:
        """Reach something with the Tab key alone."""
        for _ in range(most):
            if target.count() and target.first.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{target} is not reached by {most} presses of Tab")

    def settle(self) -> None:
        """Wait until nothing was asked of the server for a moment."""
        quiet = 0
        while quiet < 3:
            self.page.wait_for_timeout(50)
            quiet = 0 if self._open else quiet + 1

    def still(self) -> None:
        """Wait until the canvas is laid out and fitted."""
        self.settle()
        before, now = None, self._places()
        while before != now:
            self.page.wait_for_timeout(60)
            before, now = now, self._places()

    def _places(self) -> list[str]:
        moving = self.page.locator(".react-flow__viewport, .react-flow__node").all()
        return [each.get_attribute("style") or "" for each in moving[:8]]

    def shot(self, name: str) -> None:
        """Keep a picture, to be looked at."""
        SHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def check(self) -> None:
        """Nothing went wrong on the page."""
        assert not self.troubles, "\n".join(self.troubles)


def middle(part: Locator) -> tuple[float, float]:
    """Where to press the mouse."""
    box = part.bounding_box()
    assert box is not None, f"{part} is not on the page"
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def sign_in(context: BrowserContext, live: Live) -> None:
    """The cookie for which a page exchanges the token of its link."""
    given = live.request("POST", f"{A}/auth/exchange", {"token": live.studio.doors.new_link()})
    assert given.status == 204, given
    for name, morsel in SimpleCookie(given.headers["set-cookie"]).items():
        context.add_cookies(
            [{"name": name, "value": morsel.value, "domain": "127.0.0.1", "path": "/", "sameSite": "Strict"}]
        )


def doc(
    name: str, nodes: Iterable[dict[str, Any]], edges: Iterable[tuple[str, ...]], **more: Any
) -> dict[str, Any]:
    """A flow document. An edge: source, target, and the target's port where it is not the main one."""
    joined = [
        {"source": edge[0], "target": edge[1], **({"target_port": edge[2]} if len(edge) > 2 else {})}
        for edge in edges
    ]
    return {
        "format": "farthing.flow/1",
        "id": name,
        "name": name,
        "nodes": list(nodes),
        "edges": joined,
        **more,
    }


def node(name: str, type_: str, **config: Any) -> dict[str, Any]:
    """A node of a document."""
    return {"id": name, "type": type_, "config": config}

"""Pictures of every page, to be looked at: wide and narrow, light and dark, empty, usual and extreme."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.studio.browser.conftest import Person, put, talk
from tests.studio.browser.long import large_flow, long_session
from tests.studio.browser.tab import Tab
from tests.studio.browser.test_text import LONG, languages
from tests.studio.live import Live

LOOKS: tuple[tuple[int, int, Literal["light", "dark"]], ...] = (
    (1024, 768, "dark"),
    (1440, 900, "light"),
    (1440, 900, "dark"),
    (1024, 768, "light"),
)
FEW = 2
"""So many of them, unless `STUDIO_SHOTS=all`: each takes its time."""


@pytest.mark.slow
def test_pages_are_pictured(person: Callable[..., Person], own_live: Callable[..., Live]) -> None:
    live = own_live()
    (live.flows / "talk.json").unlink()
    tab = person(live).tab()
    page = tab.page
    looks = LOOKS if os.environ.get("STUDIO_SHOTS") == "all" else LOOKS[:FEW]

    def shoot(name: str) -> None:
        tab.settle()
        for width, height, scheme in looks:
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(150)  # the canvas takes its new size
            tab.shot(f"{name}-{width}-{scheme}")

    empty(tab, shoot)
    usual(tab, live, shoot)
    extreme(tab, live, shoot)


def titled(tab: Tab, path: str) -> None:
    tab.go(path)
    expect(tab.page.get_by_role("heading", level=1)).to_be_visible()


def empty(tab: Tab, shoot: Callable[[str], None]) -> None:
    """Before anything was done."""
    for path in ("/", "/sessions", "/memory", "/budgets", "/settings"):
        titled(tab, path)
        shoot(f"empty{path.replace('/', '-').rstrip('-')}")
    tab.go("/new")
    expect(tab.page.get_by_text("An empty flow.")).to_be_visible()
    shoot("empty-canvas")


def usual(tab: Tab, live: Live, shoot: Callable[[str], None]) -> None:
    """A conversation with a fact, a warning and a stop, and what the other pages then show."""
    call = {"name": "memory_write", "arguments": {"key": "bicycle", "value": "Rides a Brompton in Bern."}}
    replies = [
        {"tool_calls": [call], "cost": "0.31"},
        {"text": "Noted: you ride a Brompton.", "cost": "0.12"},
    ]
    document = {
        **talk("bicycles"),
        "name": "Bicycle shop",
        "description": "Answers riders of a bicycle shop.",
    }
    tab.flow(put(live, document, {"helper": replies}))
    page = tab.page
    for text in ("I ride a Brompton.", "And again.", "Once more."):
        tab.run(text)
        expect(tab.log.locator(".turn-foot").last).to_be_visible()
        expect(tab.log.locator(".bubble.mine", has_text=text)).to_be_visible()
        expect(tab.top.get_by_role("button", name="Run")).to_be_visible()
    expect(page.get_by_test_id("stop-card").last).to_be_visible()
    shoot("flow-stopped")
    tab.node("helper").click()
    shoot("flow-selected")
    page.get_by_role("tab", name="Timeline").click()
    shoot("flow-timeline")
    for path in ("/", "/sessions", "/memory", "/budgets"):
        titled(tab, path)
        if page.get_by_role("checkbox", name="Rehearsals").count():
            page.get_by_role("checkbox", name="Rehearsals").check()
        shoot(f"usual{path.replace('/', '-').rstrip('-')}")
        if path == "/memory":
            page.get_by_role("button", name="As a model sees it").click()
            shoot("usual-memory-recall")
            page.get_by_role("button", name="Consolidate", exact=True).click()
            shoot("usual-memory-consolidate")
    page.get_by_role("button", name="Rows").first.click()
    shoot("usual-budget-rows")
    titled(tab, "/sessions")
    page.get_by_role("region", name="Sessions").get_by_role("link").first.click()
    page.locator('[role="row"][data-row="call"]').first.click()
    shoot("usual-session")
    page.get_by_role("group", name="View").get_by_role("button", name="Facts").click()
    shoot("usual-session-facts")
    page.get_by_role("button", name="Flow", exact=True).click()
    shoot("usual-session-flow")


def extreme(tab: Tab, live: Live, shoot: Callable[[str], None]) -> None:
    """Long names, other scripts, hundreds of nodes, thousands of events."""
    tab.flow(languages(live))
    tab.run("你好 مرحبا " + "z" * 200)
    expect(tab.log.locator(".turn-foot")).to_be_visible()
    tab.node(LONG).click()
    shoot("extreme-names")
    tab.flow(put(live, large_flow("large", 400)))
    expect(tab.page.locator(".react-flow__node").first).to_be_visible()
    shoot("extreme-flow")
    put(live, talk("talk"))
    tab.go(f"/sessions/{long_session(live, 'long', 10_001)}")
    expect(tab.page.locator("[data-row]").first).to_be_visible()
    shoot("extreme-session")
    titled(tab, "/sessions")
    shoot("extreme-sessions")

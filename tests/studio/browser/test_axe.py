"""Each page, light and dark, has nothing that axe-core finds to shut anybody out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from tests.studio.browser.conftest import put, talk
from tests.studio.browser.tab import Tab
from tests.studio.live import Live

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LOOK = """async () => {
  const found = await axe.run(document, { resultTypes: ['violations'] })
  const why = node => node.any[0]?.message ?? node.failureSummary
  const where = node => `${node.target.join(' ')}: ${why(node)}`
  return found.violations.map(each => [each.id, each.help, each.nodes.slice(0, 4).map(where)])
}"""


def findings(tab: Tab, axe_source: str) -> list[Any]:
    """What axe finds, in short."""
    tab.page.evaluate(axe_source)
    found: list[Any] = tab.page.evaluate(LOOK)
    return found


@pytest.mark.slow
def test_pages_have_no_findings(tab: Tab, live: Live, axe_source: str) -> None:
    page = tab.page
    found: dict[str, list[Any]] = {}

    def look(name: str) -> None:
        tab.settle()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(200)  # the canvas follows a moment later
            if wrong := findings(tab, axe_source):
                found[f"{name}, {scheme}"] = wrong

    tab.go("/")
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    look("flows")
    tab.go("/new")
    expect(page.get_by_text("An empty flow.")).to_be_visible()
    look("empty canvas")
    walk_flow(tab, live, look)
    for path in ("/sessions", "/memory", "/budgets"):
        tab.go(path)
        page.get_by_role("checkbox", name="Rehearsals").check()
        look(path)
        if path == "/memory":
            look_at_memory(tab, look)
    page.get_by_test_id("budget-purse").first.get_by_role("button", name="Rows").click()
    look("budget rows")
    tab.go("/sessions").page.get_by_role("region", name="Sessions").get_by_role("link").first.click()
    expect(page.locator("[data-row]").first).to_be_visible()
    page.locator('[role="row"][data-row="call"]').first.click()
    page.get_by_role("button", name="Flow", exact=True).click()
    look("session")
    page.get_by_role("group", name="View").get_by_role("button", name="Facts").click()
    expect(page.get_by_role("region", name="Facts then")).to_be_visible()
    look("facts of a step")
    tab.go("/settings")
    page.get_by_role("button", name="Connect openai").click()
    look("settings")
    assert found == {}


def look_at_memory(tab: Tab, look: Callable[[str], None]) -> None:
    """Each view of a shelf, a fact with its former values, and what asks before it acts."""
    page = tab.page
    page.get_by_test_id("fact-name").get_by_role("button", name="Edit name").click()
    page.get_by_label("New value of name").fill("Ada Lovelace")
    page.get_by_role("button", name="Save").click()
    page.get_by_test_id("fact-name").get_by_role("button", name="former value").click()
    look("former values")
    for button in ("Move name", "Erase name"):
        page.get_by_role("button", name=button).click()
        look(button)
        page.keyboard.press("Escape")
    for view in ("As a model sees it", "Consolidate"):
        page.get_by_role("button", name=view, exact=True).click()
        look(view)


def walk_flow(tab: Tab, live: Live, look: Callable[[str], None]) -> None:
    """A flow with a run, a stop, a selection, each tab of the drawer, a dialog and the palette of nodes."""
    page = tab.page
    call = {"name": "memory_write", "arguments": {"key": "name", "value": "Ada"}}
    replies = [{"tool_calls": [call], "cost": "0.45"}, {"text": "Done.", "cost": "0.12"}]
    tab.flow(put(live, talk("axe"), {"helper": replies}))
    tab.node("helper").click()
    look("flow")
    for text in ("First", "Second"):
        tab.run(text)
        expect(tab.top.get_by_role("button", name="Run")).to_be_visible()
        expect(tab.log.locator(".bubble.mine", has_text=text)).to_be_visible()
        expect(tab.log.locator(".turn-foot").last).to_be_visible()
    expect(page.get_by_test_id("stop-card")).to_be_visible()
    look("stopped")
    page.get_by_test_id("stop-card").get_by_role("button", name="Raise and run again").click()
    look("raising")
    for name in ("Timeline", "Problems", "Events"):
        page.get_by_role("tab", name=name).click()
        look(name)
    page.locator(".react-flow__pane").click(position={"x": 8, "y": 8})
    page.keyboard.press("/")
    expect(page.get_by_role("dialog", name="Add a node")).to_be_visible()
    look("quick add")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(tab.dialog).to_be_visible()
    look("help")
    page.keyboard.press("Escape")
    tab.more("Save as…")
    look("save as")
    page.keyboard.press("Escape")

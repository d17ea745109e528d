"""Text of models and people is text: it runs nothing, and whatever its script or length it has its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.studio.browser.conftest import Person, put, talk
from tests.studio.browser.tab import Tab
from tests.studio.live import Live

IMAGE = "<img src=x onerror=window.__p=1>"
PAYLOADS = (
    IMAGE,
    "<svg onload=window.__p=1>",
    "[x](javascript:window.__p=1)",
    "</script><script>window.__p=1</script>",
    "[y](data:text/html,<script>window.__p=1</script>)",
    '<div><b onmouseover=window.__p=1>raw</b></div>\n\ndata: {"type": "forged"}\n\n',
)
ALL = " ".join(PAYLOADS)
NAME = f"{IMAGE} <svg onload=window.__p=1> </script><script>window.__p=1</script>"
ARABIC, CHINESE = "ميزانية اليوم للمساعد الذي يجيب عن الأسئلة", "每日预算与长期记忆的助手"
LONG = "a_very_long_name_" + "x" * 47


def harmless(tab: Tab) -> None:
    """Nothing of what was planted ran, and no link leads anywhere but to pages and the web."""
    assert tab.page.evaluate("window.__p === undefined")
    hrefs = tab.page.locator("a").evaluate_all("all => all.map(a => a.protocol)")
    assert set(hrefs) <= {"http:", "https:"}
    assert tab.page.locator("#root img, #root script, #root b[onmouseover]").count() == 0


def planted(live: Live) -> str:
    """A flow with payloads wherever text may stand."""
    document = talk("planted")
    document |= {"name": NAME, "description": ALL}
    document["ui"] = {"notes": [{"id": "n1", "text": ALL, "x": 0, "y": -200}]}
    document["nodes"][0]["config"]["title"] = IMAGE
    document["nodes"][1]["config"]["instructions"] = ALL
    path = f"{IMAGE}.json"
    call = {"name": "memory_write", "arguments": {"key": IMAGE, "value": ALL}}
    odd = {"name": IMAGE, "arguments": {"a": ALL}}
    replies = [{"tool_calls": [call]}, {"tool_calls": [odd]}, {"text": ALL, "latency_s": 0.3}]
    put(live, {**document, "id": IMAGE}, {"helper": replies})
    return path


def test_planted_scripts_never_run(tab: Tab, live: Live) -> None:
    planted(live)
    page = tab.go("/").page
    expect(page.get_by_text(IMAGE).first).to_be_visible()
    harmless(tab)
    page.locator(".flow-card", has_text="<svg onload").click()
    expect(tab.node("helper")).to_be_visible()
    harmless(tab)
    page.get_by_label("Session").fill(IMAGE)
    tab.run(ALL)
    expect(tab.log.locator(".turn-foot")).to_contain_text("tokens")
    expect(tab.log.locator(".bubble.mine")).to_contain_text(IMAGE)
    expect(tab.log.locator(".bubble").last).to_contain_text("</script><script>window.__p=1</script>")
    harmless(tab)
    for name in ("Timeline", "Problems", "Events"):
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tabpanel")).to_be_visible()
        harmless(tab)
    page.get_by_role("link", name="Sessions", exact=True).click()
    page.get_by_role("checkbox", name="Rehearsals").check()
    page.get_by_role("link", name=IMAGE).first.click()
    rows = page.get_by_role("treegrid", name="Timeline")
    expect(rows).to_be_visible()
    for kind in ("run", "call", "tool", "memory"):
        rows.locator(f'[data-row="{kind}"]').last.click()
        expect(page.get_by_role("complementary", name="Details of the step")).to_be_visible()
        page.get_by_role("button", name="Raw").click()
        harmless(tab)
        page.get_by_role("button", name="Rendered").click()
        harmless(tab)
    for path in ("/memory", "/budgets", "/settings"):
        tab.go(path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        tab.settle()
        harmless(tab)
    tab.go("/memory")
    expect(page.get_by_text(IMAGE).first).to_be_visible()


def test_planted_error_runs_nothing(tab: Tab, live: Live) -> None:
    tab.flow(
        put(live, talk("planted-error"), {"helper": [{"error": {"kind": "bad_request", "message": ALL}}]})
    )
    tab.run("Go")
    expect(tab.log).to_contain_text(IMAGE)
    tab.node("helper").click()
    expect(tab.inspector.locator(".run-note")).to_contain_text("</script>")
    harmless(tab)


def languages(live: Live) -> str:
    """Names and texts in other scripts, and as long as they may be."""
    document = talk("languages")
    ids = {"question": "السؤال", "helper": LONG, "notes": "长期记忆", "purse": "预算", "answer": "الجواب"}
    for each in document["nodes"]:
        each["id"] = ids[each["id"]]
    for edge in document["edges"]:
        edge |= {"source": ids[edge["source"]], "target": ids[edge["target"]]}
    document |= {"name": f"{ARABIC} {CHINESE} " + "W" * 120, "description": f"{CHINESE}。{ARABIC}"}
    document["nodes"][1]["config"]["instructions"] = f"{ARABIC}\n{CHINESE}"
    return put(live, document, {LONG: [{"text": f"{ARABIC}. {CHINESE}。" * 6 + "W" * 300}]})


@pytest.mark.parametrize("width", [1440, 1024])
def test_other_scripts_and_long_names_have_their_place(
    person: Callable[..., Person], live: Live, width: int
) -> None:
    tab = person(live, width=width, height=768).tab()
    tab.flow(languages(live))
    tab.run(f"{CHINESE} {ARABIC} " + "y" * 300)
    expect(tab.log.locator(".turn-foot").last).to_contain_text("tokens")
    tab.node(LONG).click()
    page = tab.page
    for path in (None, "/", "/sessions", "/memory", "/budgets"):
        if path is not None:
            tab.go(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            if page.get_by_role("checkbox", name="Rehearsals").count():
                page.get_by_role("checkbox", name="Rehearsals").check()
            tab.settle()
        assert sideways(tab) == [False], path


SIDEWAYS = """() => {
  const page = document.documentElement
  const held = part => {
    for (let up = part.parentElement; up && up !== document.body; up = up.parentElement)
      if (getComputedStyle(up).overflowX !== 'visible') return true
    return false
  }
  const out = part => part.getBoundingClientRect().right > innerWidth + 1 && !held(part)
  const parts = [...document.querySelectorAll('#root *')].filter(out).slice(0, 3)
  return [page.scrollWidth > innerWidth, ...parts.map(part => part.outerHTML.slice(0, 120))]
}"""


def sideways(tab: Tab) -> Any:
    """Whether the page scrolls sideways, and what sticks out of it; the canvas and boxes that scroll may."""
    return tab.page.evaluate(SIDEWAYS)

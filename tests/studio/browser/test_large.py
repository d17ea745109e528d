"""400 nodes, 10,001 events: measured, told, and held to bounds that a busy machine keeps too."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.studio.browser.conftest import Person, put
from tests.studio.browser.long import large_flow, long_session
from tests.studio.browser.tab import SHOTS, Tab, middle
from tests.studio.live import Live

NODES, EVENTS = 400, 10_001
FIRST_MS, FRAME_MS = 4_000, 250
"""The aims are 1,000 and 33 on a machine of its own; these bounds only catch what is badly wrong."""
WATCH = """
addEventListener('DOMContentLoaded', () => {
  const see = () => {
    if (window.firstSeen === undefined && document.querySelector('%s')) window.firstSeen = performance.now()
  }
  new MutationObserver(see).observe(document, { childList: true, subtree: true })
})
"""

COUNT_FRAMES = """() => {
  window.frames_ = []
  window.counting = true
  let last = performance.now()
  const tick = now => {
    window.frames_.push(now - last)
    last = now
    if (window.counting) requestAnimationFrame(tick)
  }
  requestAnimationFrame(tick)
}"""


def told(**figures: float) -> None:
    """Keep figures beside the pictures, and print them."""
    SHOTS.mkdir(exist_ok=True)
    place = SHOTS / "figures.json"
    known = json.loads(place.read_text()) if place.is_file() else {}
    place.write_text(json.dumps({**known, **figures}, indent=1))
    print({name: round(value, 1) for name, value in figures.items()})


def opened(tab: Tab, path: str, part: str) -> float:
    """Milliseconds from going to an address until a part of the page is there; the best of three."""
    tab.page.add_init_script(WATCH % part.replace("'", '"'))
    times = []
    for _ in range(3):
        tab.go(path)
        tab.page.wait_for_function("() => window.firstSeen !== undefined", timeout=30_000)
        times.append(float(tab.page.evaluate("() => window.firstSeen")))
    return min(times)


@pytest.mark.slow
def test_large_flow_opens_and_drags(person: Callable[..., Person], live: Live) -> None:
    tab = person(live).tab()
    path = put(live, large_flow("large", NODES))
    first = opened(tab, f"/flows/{path}", ".react-flow__node")
    page = tab.page
    expect(page.locator(".minimap, .react-flow__minimap")).to_be_visible()
    tab.settle()
    tab.shot("large")
    frames = sorted(drag(tab, "part_209"))
    p95 = frames[int(len(frames) * 0.95)]
    told(
        large_first_node_ms=first,
        large_drag_p95_ms=p95,
        large_drag_median_ms=frames[len(frames) // 2],
        large_drag_frames=len(frames),
    )
    expect(tab.top.locator(".saved-state")).to_have_text("unsaved changes")
    page.keyboard.press("Control+z")
    expect(tab.top.locator(".saved-state")).to_have_text(path)
    assert first < FIRST_MS and p95 < FRAME_MS


def drag(tab: Tab, name: str) -> list[float]:
    """Milliseconds of each frame while a node is dragged about."""
    page = tab.page
    x, y = middle(tab.node(name))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 5, y + 5)
    page.evaluate(COUNT_FRAMES)
    for step in range(80):
        page.mouse.move(x + 3 * (step % 40), y + 2 * (step % 30))
    page.evaluate("() => { window.counting = false }")
    page.mouse.up()
    frames: list[float] = page.evaluate("() => window.frames_.slice(1)")
    assert len(frames) > 10
    return frames


@pytest.mark.slow
def test_long_timeline_shows_its_first_row_and_scrolls(person: Callable[..., Person], live: Live) -> None:
    tab = person(live).tab()
    uid = long_session(live, "long", EVENTS)
    first = opened(tab, f"/sessions/{uid}", "[role=treegrid] [data-row]")
    page = tab.page
    expect(page.get_by_role("button", name="Events").locator(".badge")).to_have_text(
        f"{EVENTS:,}", timeout=30_000
    )
    drawn = page.locator("[data-row]").count()
    rows = page.get_by_role("treegrid", name="Timeline")
    rows.focus()
    page.keyboard.press("End")
    expect(rows.locator(f'[id="row-{EVENTS - 3}"], [id="row-{EVENTS - 2}"]').first).to_be_visible()
    frames = sorted(wheel(tab, rows))
    p95 = frames[int(len(frames) * 0.95)]
    told(
        long_first_row_ms=first,
        long_rows_drawn=drawn,
        long_scroll_p95_ms=p95,
        long_scroll_median_ms=frames[len(frames) // 2],
        long_scroll_frames=len(frames),
    )
    tab.shot("long")
    assert first < FIRST_MS and drawn < 200 and p95 < FRAME_MS


def wheel(tab: Tab, rows: Locator) -> list[float]:
    """Milliseconds of each frame while a list is scrolled from its end upwards."""
    page = tab.page
    page.mouse.move(*middle(rows))
    page.evaluate(COUNT_FRAMES)
    for _ in range(80):
        page.mouse.wheel(0, -900)
    page.evaluate("() => { window.counting = false }")
    frames: list[float] = page.evaluate("() => window.frames_.slice(1)")
    assert len(frames) > 10
    return frames

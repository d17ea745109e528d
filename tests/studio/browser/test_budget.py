"""A budget that stops a run, is raised where it stopped, and lets the run begin again."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.studio.browser.conftest import put, talk
from tests.studio.browser.tab import Tab
from tests.studio.live import Live


def test_budget_stop_is_raised_and_run_again(tab: Tab, live: Live) -> None:
    path = put(live, talk("stopped", limit="0.10"), {"helper": [{"text": "Done.", "cost": "0.12"}]})
    tab.flow(path)
    tab.run("First")
    expect(tab.log.locator(".turn-foot")).to_contain_text("$0.12")
    expect(tab.node("purse")).to_have_class(re.compile("stop"))
    tab.run("Second")
    card = tab.page.get_by_test_id("stop-card")
    expect(card).to_contain_text("Stopped by the budget purse")
    expect(card).to_contain_text("$0.12 of $0.10 today, resets 00:00 UTC")
    expect(tab.node("helper")).to_have_attribute("data-state", "stopped")
    expect(card).not_to_contain_text("farthing budget raise")
    tab.shot("budget-stop")
    card.get_by_role("button", name="Open limit of purse").click()
    expect(tab.field("limit")).to_be_focused()
    card.get_by_role("button", name="Raise and run again").click()
    card.get_by_label("New limit").fill("0.05")
    expect(card.get_by_role("button", name="Raise and run again")).to_be_disabled()
    card.get_by_label("New limit").fill("0.40")
    card.get_by_role("button", name="Raise and run again").click()
    expect(tab.log.locator(".turn")).to_have_count(3)
    expect(tab.log.locator(".turn").last).to_contain_text("Done.")
    expect(tab.log.locator(".turn").last.locator(".bubble.mine")).to_have_text("Second")
    expect(tab.node("purse")).to_contain_text("$0.24 of $0.40")
    tab.go("/budgets").page.get_by_role("checkbox", name="Rehearsals").check()
    purse = tab.page.get_by_test_id("budget-purse").filter(has_text="0.24")
    expect(purse).to_contain_text("$0.24 of $0.40 today")
    purse.get_by_role("button", name="Rows").click()
    expect(purse.get_by_role("region", name="Ledger rows")).to_contain_text(
        "raised in the studio to run again"
    )
    # The limit's line stands at 0.10 first and steps up to 0.40 where it was raised.
    line = purse.locator(".burn-rule.limit path").get_attribute("d") or ""
    heights = [float(point.split()[1]) for point in re.findall(r"[ML]([\d.]+ [\d.]+)", line)]
    assert len(heights) == 4 and heights[0] == heights[1] > heights[2] == heights[3], line


def test_budget_warning_names_numbers_and_lets_the_run_go_on(tab: Tab, live: Live) -> None:
    script = {
        "helper": [
            {"tool_calls": [{"name": "memory_search", "arguments": {"query": "x"}}], "cost": "0.41"},
            {"text": "Fine."},
        ]
    }
    tab.flow(put(live, talk("warned"), script))
    tab.run("Go")
    expect(tab.page.get_by_test_id("warning-card").first).to_contain_text("The budget purse is nearly used")
    expect(tab.log.locator(".bubble").last).to_have_text("Fine.")
    expect(tab.page.get_by_test_id("warning-card").first).to_contain_text("$0.41 of $0.50 today")


def test_budget_of_a_run_is_raised_in_the_flow(tab: Tab, live: Live) -> None:
    script = {
        "helper": [
            {"tool_calls": [{"name": "memory_search", "arguments": {"query": "x"}}], "cost": "0.12"},
            {"text": "Fine.", "cost": "0.01"},
        ]
    }
    tab.flow(put(live, talk("each-run", limit="0.10", period="run"), script))
    tab.run("Go")
    card = tab.page.get_by_test_id("stop-card")
    card.get_by_role("button", name="Raise and run again").click()
    expect(card.get_by_label("For how long")).to_have_text("in the flow")
    card.get_by_label("New limit").fill("0.3")
    card.get_by_role("button", name="Raise and run again").click()
    expect(tab.log.locator(".turn").last.locator(".bubble").last).to_have_text("Fine.")
    expect(tab.top.locator(".saved-state")).to_have_text("unsaved changes")


def test_budgets_page_tells_two_of_one_name_apart_and_shows_a_raise_at_once(tab: Tab, live: Live) -> None:
    for name in ("north", "south"):
        tab.flow(put(live, talk(name), {"helper": [{"text": "Done.", "cost": "0.12"}]}))
        tab.run("Go")
        expect(tab.log.locator(".turn-foot")).to_contain_text("$0.12")
    page = tab.go("/budgets").page
    page.get_by_role("checkbox", name="Rehearsals").check()
    north = page.get_by_test_id("budget-purse").filter(has_text="in north")
    expect(page.get_by_test_id("budget-purse").filter(has_text="in south")).to_have_count(1)
    north.get_by_role("button", name="Rows").click()
    rows = north.get_by_role("region", name="Ledger rows").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("settled")
    chart = north.locator("svg.burn")
    for words in ("dollars", "limit $0.50", "warns at 80 %", "resets", "$0.20", "12:00"):
        expect(chart).to_contain_text(words)
    north.get_by_role("button", name="Raise").click()
    north.get_by_label("New limit").fill("0.75")
    north.get_by_label("Reason").fill("busy week")
    north.locator("form").get_by_role("button", name="Raise").click()
    expect(north).to_contain_text("$0.12 of $0.75 today")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("busy week")
    expect(chart).to_contain_text("limit $0.75")
    expect(chart.locator(".burn-mark.raise")).to_have_count(1)
    tab.shot("budget-rows")

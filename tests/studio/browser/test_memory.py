"""Facts: seen where they are remembered, changed by hand, and forgotten."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.studio.browser.conftest import put, talk
from tests.studio.browser.tab import Tab
from tests.studio.live import Live


def test_fact_is_written_by_a_run_edited_and_forgotten(tab: Tab, live: Live) -> None:
    call = {"name": "memory_write", "arguments": {"key": "name", "value": "Ada"}}
    tab.flow(put(live, talk("facts"), {"helper": [{"tool_calls": [call]}, {"text": "Noted."}]}))
    tab.run("I am Ada.")
    expect(tab.log.locator(".bubble").last).to_have_text("Noted.")
    page = tab.go("/memory").page
    expect(page.get_by_role("heading", name="Memory", level=1)).to_be_visible()
    page.get_by_role("checkbox", name="Rehearsals").check()
    shelf = page.get_by_role("navigation", name="Shelves").get_by_role("button", name="facts")
    shelf.click()
    fact = page.get_by_test_id("fact-name")
    expect(fact).to_contain_text("Ada")
    fact.get_by_role("button", name="Edit name").click()
    fact.get_by_label("New value of name").fill("Ada Lovelace")
    fact.get_by_role("button", name="Save").click()
    expect(fact.locator(".fact-value")).to_have_text("Ada Lovelace")
    fact.get_by_role("button", name="Show 1 former value").click()
    expect(fact.locator("s")).to_have_text("Ada")
    tab.shot("memory")
    fact.get_by_role("button", name="Forget name").click()
    expect(tab.dialog).to_contain_text("Ada Lovelace")
    expect(tab.dialog.get_by_role("button", name="Keep it")).to_be_focused()
    tab.dialog.get_by_role("button", name="Forget it").click()
    expect(fact.locator(".fact-value", has_text="Ada Lovelace")).to_have_count(0)
    chief = live.token("chief", "operator")
    told = live.request("GET", "/api/v1/facts?rehearsal=true&user=local", token=chief).json
    assert not [
        each for each in told["facts"] if each["key"] == "name" and each.get("state", "current") == "current"
    ]


def test_fact_added_by_hand_is_what_the_next_run_sees(tab: Tab, live: Live) -> None:
    call = {"name": "memory_write", "arguments": {"key": "town", "value": "Bern"}}
    path = put(live, talk("by-hand"), {"helper": [{"tool_calls": [call]}, {"text": "Noted."}]})
    tab.flow(path)
    tab.run("I live in Bern.")
    expect(tab.log.locator(".bubble").last).to_have_text("Noted.")
    page = tab.go("/memory").page
    page.get_by_role("checkbox", name="Rehearsals").check()
    page.get_by_role("navigation", name="Shelves").get_by_role("button", name="by-hand").click()
    page.get_by_role("button", name="Add a fact").click()
    page.get_by_label("Key").fill("colour")
    page.get_by_label("Value").fill("teal")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_test_id("fact-colour")).to_contain_text("teal")
    tab.flow(path)
    tab.run("And now?")
    expect(tab.log.locator(".bubble").last).to_have_text("Noted.")
    tab.page.get_by_role("tab", name="Timeline").click()
    rows = tab.page.get_by_role("treegrid", name="Timeline")
    expect(rows.locator('[data-row="call"]')).to_have_count(4)
    rows.locator('[data-row="call"]').nth(2).click()
    expect(tab.page.get_by_role("region", name="Step")).to_contain_text("teal")

"""A step looked at closely: the facts as they were, the bill of its call, and the session as one file."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.studio.browser.conftest import put, talk
from tests.studio.browser.tab import Tab, doc, node
from tests.studio.live import Live


def remembered(tab: Tab, live: Live, name: str) -> None:
    """Two runs: the first stores a fact, the second another value."""
    for town, said in (("Bern", "Noted."), ("Basel", "Noted too.")):
        call = {"name": "memory_write", "arguments": {"key": "town", "value": town}}
        path = put(live, talk(name), {"helper": [{"tool_calls": [call]}, {"text": said}]})
        if town == "Bern":
            tab.flow(path)
        tab.run(f"I live in {town}.")
        expect(tab.log.locator(".bubble").last).to_have_text(said)
        expect(tab.top.get_by_role("button", name="Run")).to_be_visible()


def open_session(tab: Tab) -> None:
    page = tab.go("/sessions").page
    page.get_by_role("checkbox", name="Rehearsals").check()
    page.get_by_role("region", name="Sessions").get_by_role("link").first.click()
    expect(page.locator('[role="row"][data-row="call"]').first).to_be_visible()


def test_facts_follow_the_selected_step(tab: Tab, live: Live) -> None:
    remembered(tab, live, "steps")
    open_session(tab)
    page = tab.page
    calls = page.locator('[role="row"][data-row="call"]')
    expect(calls).to_have_count(4)
    calls.nth(0).click()
    page.get_by_role("group", name="View").get_by_role("button", name="Facts").click()
    then = page.get_by_role("region", name="Facts then")
    expect(then).to_contain_text("Bern")
    expect(then).to_contain_text("written here")
    calls.nth(1).click()
    expect(then).to_contain_text("in the prompt")
    calls.nth(2).click()
    expect(then).to_contain_text("replaced here")
    expect(then.locator("s")).to_have_text("Bern")
    expect(then).to_contain_text("Basel")
    tab.shot("step-facts")


def test_fact_leads_to_the_step_that_wrote_it(tab: Tab, live: Live) -> None:
    remembered(tab, live, "whence")
    page = tab.go("/memory").page
    page.get_by_role("checkbox", name="Rehearsals").check()
    page.get_by_role("navigation", name="Shelves").get_by_role("button", name="whence").click()
    page.get_by_test_id("fact-town").get_by_role("link", name="step 1 of its run").click()
    expect(page.locator('[role="row"][data-row="call"][aria-selected="true"]')).to_have_count(1)
    expect(page.get_by_role("region", name="Step", exact=True)).to_contain_text("memory_write")


def test_bill_of_a_call_has_parts_and_items(tab: Tab, live: Live) -> None:
    remembered(tab, live, "bills")
    open_session(tab)
    page = tab.page
    page.locator('[role="row"][data-row="call"]').nth(2).click()
    bill = page.get_by_role("region", name="The context")
    expect(bill.get_by_role("img")).to_be_visible()
    expect(bill).to_contain_text("fact/town")
    expect(bill).to_contain_text("The provider counted")
    tab.shot("bill")


def test_session_is_saved_as_a_page_and_as_json(tab: Tab, live: Live, tmp_path: Path) -> None:
    remembered(tab, live, "files")
    open_session(tab)
    for form in ("HTML", "JSON"):
        with tab.page.expect_download() as download:
            tab.page.get_by_role("link", name=form).click()
        path = tmp_path / form
        download.value.save_as(path)
        assert download.value.suggested_filename.endswith(f".{form.lower()}")
    assert json.loads((tmp_path / "JSON").read_bytes())["format"] == "farthing.session/1"
    text = (tmp_path / "HTML").read_text()
    assert text.startswith("<!doctype html>") and "I live in Basel." in text


def test_flow_of_a_run_has_its_branches_and_says_what_its_nodes_do(tab: Tab, live: Live) -> None:
    branches = [{"name": "short", "when": "input | length < 5"}]
    nodes = [
        node("question", "input"),
        node("fork", "router", branches=branches, default="long"),
        node("brief", "template", text="Brief."),
        node("whole", "template", text="Whole."),
        node("answer", "output"),
    ]
    document = doc("forks", nodes, [("question", "fork"), ("brief", "answer"), ("whole", "answer")])
    document["edges"] += [
        {"source": "fork", "source_port": "short", "target": "brief"},
        {"source": "fork", "source_port": "long", "target": "whole"},
    ]
    tab.flow(put(live, document))
    tab.run("Hi")
    expect(tab.log.locator(".bubble").last).to_have_text("Brief.")
    tab.log.get_by_role("link", name="Timeline").click()
    tab.page.get_by_role("button", name="Flow", exact=True).click()
    expect(tab.page.locator(".react-flow__edge")).to_have_count(5)
    expect(tab.node("fork")).to_contain_text("short / long")
    expect(tab.node("whole")).to_have_attribute("data-state", "skipped")
    boxes = [tab.node(name).bounding_box() for name in ("question", "fork", "answer")]
    lefts = [box["x"] for box in boxes if box is not None]
    assert lefts == sorted(set(lefts)) and len(lefts) == 3

"""Facts: seen where they are remembered, changed by hand, and forgotten."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from playwright.sync_api import Page, expect

from runtime.facts import FactWrite, Shelf
from tests.studio.browser.conftest import put, talk
from tests.studio.browser.tab import Tab
from tests.studio.live import A, Live


def test_fact_is_written_by_a_run_edited_and_forgotten(tab: Tab, live: Live) -> None:
    call = {"name": "memory_write", "arguments": {"key": "name", "value": "Ada"}}
    tab.flow(put(live, talk("facts"), {"helper": [{"tool_calls": [call]}, {"text": "Noted."}]}))
    tab.run("I am Ada.")
    expect(tab.log.locator(".bubble").last).to_have_text("Noted.")
    page = tab.go("/memory").page
    expect(page.get_by_role("heading", name="Memory", level=1)).to_be_visible()
    expect(page.get_by_text("1 fact of rehearsals is hidden.")).to_be_visible()
    page.get_by_role("button", name="Show rehearsals").click()
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


def shelf_of(live: Live, owner: str, namespace: str = "talk") -> tuple[dict[str, object], str]:
    return {"namespace": namespace, "scope": "user", "owner": owner}, live.token("chief", "operator")


def put_fact(live: Live, owner: str, key: str, value: object, **more: object) -> None:
    shelf, chief = shelf_of(live, owner)
    body = {**shelf, "key": key, "value": value, **more}
    assert live.request("PUT", "/api/v1/facts", body, token=chief).status == 200


def conflict(live: Live, owner: str, key: str, value: object) -> None:
    """What a run leaves that had a tool's output before it."""
    write = FactWrite(key=key, value=value, origin="tainted")
    record, now = live.studio.record, live.studio.services.clock.now()
    shelf = Shelf("real", "talk", "user", owner)
    writing = record.write_fact(shelf, write, now, lambda _: [], run_id=None)
    asyncio.run_coroutine_threadsafe(writing, live.loop).result(10)


def opened(tab: Tab, owner: str) -> Page:
    page = tab.go("/memory").page
    page.get_by_role("searchbox", name="Find a shelf").fill(owner)
    page.get_by_role("navigation", name="Shelves").get_by_role("button", name=owner).first.click()
    return page


def test_fact_is_forgotten_put_back_and_erased_with_a_preview(tab: Tab, live: Live) -> None:
    put_fact(live, "erika", "phone", "0791234567")
    put_fact(live, "erika", "phone", "0797654321")
    page = opened(tab, "erika")
    fact = page.get_by_test_id("fact-phone")
    fact.get_by_role("button", name="Forget phone").click()
    tab.dialog.get_by_role("button", name="Forget it").click()
    expect(fact).to_have_count(0)
    page.get_by_role("button", name="Undo forgetting phone").first.click()
    expect(fact.locator(".fact-value")).to_have_text("0797654321")
    fact.get_by_role("button", name="former value").click()
    expect(fact.get_by_role("list", name="Former values of phone")).to_contain_text("0791234567")
    fact.get_by_role("button", name="Undo the last change of phone").click()
    expect(fact.locator(".fact-value")).to_have_text("0791234567")
    fact.get_by_role("button", name="Erase phone").click()
    expect(tab.dialog.get_by_role("table")).to_contain_text("versions of the fact itself")
    tab.settle()
    tab.shot("memory-erase")
    tab.dialog.get_by_role("button", name="Erase for good").click()
    expect(tab.dialog.get_by_role("heading", name="phone is erased")).to_be_visible()
    tab.dialog.get_by_role("button", name="Done").click()
    expect(fact).to_have_count(0)
    _, chief = shelf_of(live, "erika")
    told = live.request("GET", "/api/v1/facts?user=erika", token=chief)
    assert b"0791234567" not in told.raw and b"0797654321" not in told.raw


def test_conflict_is_settled_beside_the_fact(tab: Tab, live: Live) -> None:
    for key in ("town", "pet", "job"):
        put_fact(live, "coco", key, f"{key} by hand")
        conflict(live, "coco", key, f"{key} by a tool")
    page = opened(tab, "coco")
    for key, answer in (("town", "Take this"), ("pet", "Keep what it is")):
        beside = page.get_by_role("group", name=f"Conflict of {key}")
        expect(beside).to_contain_text(f"{key} by a tool")
        beside.get_by_role("button", name=answer).click()
        expect(beside).to_have_count(0)
    tab.shot("memory-conflict")
    expect(page.get_by_test_id("fact-town").locator(".fact-value")).to_have_text("town by a tool")
    expect(page.get_by_test_id("fact-pet").locator(".fact-value")).to_have_text("pet by hand")
    page.get_by_role("group", name="Conflict of job").get_by_role("button", name="Neither").click()
    tab.dialog.get_by_role("button", name="Forget it").click()
    expect(page.get_by_test_id("fact-job")).to_have_count(0)
    page.get_by_text("no longer current").click()
    expect(page.get_by_test_id("gone-job")).to_contain_text("forgotten")


def test_facts_of_another_time_are_seen_and_not_changed(tab: Tab, live: Live) -> None:
    put_fact(live, "olga", "town", "Bern")
    page = opened(tab, "olga")
    expect(page.get_by_test_id("fact-town")).to_be_visible()
    page.get_by_label("As of (UTC)").fill("2001-01-01T10:00")
    expect(page.get_by_text("Nothing was remembered then.")).to_be_visible()
    page.get_by_label("As of (UTC)").fill("2100-01-01T10:00")
    expect(page.get_by_test_id("fact-town")).to_contain_text("Bern")
    expect(page.get_by_role("button", name="Edit town")).to_have_count(0)
    page.get_by_role("button", name="Now", exact=True).click()
    expect(page.get_by_role("button", name="Edit town")).to_be_visible()


def test_facts_move_after_their_preview(tab: Tab, live: Live) -> None:
    put_fact(live, "mona", "town", "Bern")
    page = opened(tab, "mona")
    page.get_by_role("button", name="Move town").click()
    tab.dialog.get_by_label("Namespace").fill("shop")
    tab.dialog.get_by_role("button", name="Show what moves").click()
    expect(tab.dialog.get_by_role("status")).to_contain_text("1 fact with 1 version")
    tab.dialog.get_by_role("button", name="Move 1 fact").click()
    shelves = page.get_by_role("navigation", name="Shelves")
    expect(shelves.get_by_role("button")).to_contain_text("shop · user")
    expect(page.get_by_test_id("fact-town")).to_contain_text("Bern")


def test_memory_is_asked_as_a_model_sees_it(tab: Tab, live: Live) -> None:
    put_fact(live, "rita", "pet", "a cat called Mog")
    put_fact(live, "rita", "town", "lives in Bern")
    page = opened(tab, "rita")
    page.get_by_role("button", name="As a model sees it").click()
    page.get_by_label("What the user would say").fill("What is my cat called?")
    expect(page.get_by_text("tokens would be sent")).to_be_visible()
    expect(page.get_by_role("cell", name="fact/pet")).to_be_visible()
    page.get_by_text("The text, as it is sent").click()
    expect(page.locator(".recall pre")).to_contain_text("Mog")
    tab.shot("memory-recall")
    page.get_by_label("Allowance, tokens").fill("0")
    expect(page.get_by_text("Nothing would be sent.")).to_be_visible()


def test_memory_is_consolidated_and_taken_back(tab: Tab, live: Live) -> None:
    now = live.studio.services.clock.now()
    put_fact(live, "kim", "note", "over", valid_to=(now - timedelta(days=1)).isoformat())
    put_fact(live, "kim", "name", "Kim")
    page = opened(tab, "kim")
    page.get_by_role("button", name="Consolidate", exact=True).click()
    expect(page.locator(".changes")).to_contain_text("note")
    page.get_by_role("button", name="Consolidate…").click()
    tab.dialog.get_by_role("button", name="Consolidate", exact=True).click()
    expect(page.get_by_text("There is nothing to consolidate.")).to_be_visible()
    expect(page.locator(".care .good")).to_contain_text("Consolidated")
    page.get_by_role("button", name="Undo the last one").click()
    expect(page.get_by_text("1 fact is current again")).to_be_visible()
    tab.shot("memory-consolidate")


def test_recall_asks_the_memory_of_one_of_the_flows_that_share_a_shelf(tab: Tab, live: Live) -> None:
    chief = live.token("local", "operator")
    for name, tokens in (("larder", 900), ("garden", 700)):
        document = {**talk(name), "id": f"id-{name}", "name": name.title()}
        config = {"scope": "user", "namespace": "household", "injection": {"tokens": tokens}}
        document["nodes"][2]["config"] = config
        body = {"flow": document, "path": put(live, document)}
        needs = live.request("POST", f"{A}/validate", body, token=chief).json["needs_hash"]
        asked = {"path": body["path"], "input": "Hello", "user": "pia", "allow": needs}
        live.wait(chief, live.request("POST", f"{A}/runs", asked, token=chief).json["run_id"])
    put_fact(live, "pia", "town", "Bern", namespace="household", rehearsal=True)
    tab.go("/memory").page.get_by_role("checkbox", name="Rehearsals").check()
    page = opened(tab, "pia")
    page.get_by_role("button", name="As a model sees it").click()
    expect(page.get_by_label("By the Memory of")).to_have_value("id-garden")
    expect(page.get_by_text("recalled memory may take 700")).to_be_visible()
    page.get_by_label("By the Memory of").select_option(label="Larder")
    expect(page.get_by_text("recalled memory may take 900")).to_be_visible()

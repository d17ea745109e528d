"""Consolidation judged by a model: its cost, the judgement, the choice, the change, marks, the way back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from playwright.sync_api import Page, expect

from runtime.facts import FactWrite, Origin, Shelf
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.browser.conftest import Person
from tests.studio.browser.tab import Tab
from tests.studio.browser.test_axe import findings
from tests.studio.live import Live


def write(live: Live, owner: str, key: str, value: str, origin: Origin = "model", **more: Any) -> None:
    """A fact as a run leaves it."""
    shelf = Shelf(more.pop("partition", "rehearsal"), "shop", "user", owner)
    now = live.studio.services.clock.now()
    wish = FactWrite(key=key, value=value, origin=origin, **more)
    writing = live.studio.record.write_fact(shelf, wish, now, lambda _: [], run_id=None)
    asyncio.run_coroutine_threadsafe(writing, live.loop).result(10)


def alike(live: Live, owner: str) -> None:
    """Two facts that contradict each other, and two that say the same."""
    write(live, owner, "bikes", "has 2 bicycles in the shed", "user")
    write(live, owner, "bicycles", "has 3 bicycles in the shed")
    write(live, owner, "home", "lives in Ghent", "user")
    write(live, owner, "place", "lives in Ghent near the canal")


def opened(tab: Tab, owner: str, view: str = "Consolidate", *, rehearsal: bool = True) -> Page:
    page = tab.go("/memory").page
    page.get_by_role("checkbox", name="Rehearsals").set_checked(rehearsal)
    page.get_by_role("searchbox", name="Find a shelf").fill(owner)
    page.get_by_role("navigation", name="Shelves").get_by_role("button", name=owner).first.click()
    page.get_by_role("group", name="View").get_by_role("button", name=view, exact=True).click()
    return page


def looks(tab: Tab, name: str) -> None:
    """Pictures, wide and narrow, light and dark."""
    for width in (1440, 1024):
        for scheme in ("light", "dark"):
            tab.page.set_viewport_size({"width": width, "height": 900 if width == 1440 else 768})
            tab.page.emulate_media(color_scheme=scheme)
            tab.page.wait_for_timeout(100)
            tab.shot(f"{name}-{width}-{scheme}")


def test_model_judges_what_is_chosen_is_done_and_it_is_taken_back(
    tab: Tab, live: Live, axe_source: str
) -> None:
    alike(live, "jan")
    write(live, "eva", "home", "lives in Ghent")
    page = opened(tab, "jan")
    judge = page.get_by_role("region", name="Judged by a model")
    expect(judge).to_contain_text("2 pairs of facts are alike")
    expect(judge.get_by_role("row", name="scripted:rehearsal")).to_contain_text("2 calls")
    judge.get_by_role("button", name="Ask the model…").click()
    expect(tab.dialog.get_by_role("row", name="Tokens")).to_be_visible()
    expect(tab.dialog.get_by_role("button", name="Not now")).to_be_focused()
    looks(tab, "care-cost")
    tab.dialog.get_by_role("button", name="Ask it").click()
    expect(page.get_by_text("Judged 2 pairs")).to_be_visible()
    expect(judge).to_contain_text("No facts are alike that the rehearsal was not asked about.")
    merge, mark = page.get_by_test_id("change-place"), page.get_by_test_id("change-bicycles")
    expect(merge).to_contain_text("lives in Ghent near the canal")
    expect(merge.locator("s")).to_have_text("lives in Ghent near the canal")
    expect(mark).to_contain_text("has 2 bicycles in the shed")
    expect(mark).to_contain_text("The same words with other numbers.")
    assert findings(tab, axe_source) == []

    # A page that is opened anew has the judgement, and asks for no other payment.
    page = opened(tab, "jan")
    expect(page.get_by_text("not carried out. What the model said is kept")).to_be_visible()
    page.get_by_role("checkbox", name="retire place and home").uncheck()
    expect(page.get_by_text("1 of 2 changes chosen")).to_be_visible()
    looks(tab, "care-chosen")
    page.get_by_role("button", name="Consolidate 1 of 2…").click()
    expect(tab.dialog).to_contain_text("1 change as shown; 1 other left out.")
    tab.dialog.get_by_role("button", name="Consolidate", exact=True).click()
    expect(page.get_by_text("1 change.")).to_be_visible()
    expect(page.get_by_text("contradict each other: to be settled under Facts.")).to_be_visible()
    expect(page.get_by_test_id("change-place")).to_be_visible()
    page.get_by_role("group", name="View").get_by_role("button", name="Facts", exact=True).click()
    expect(page.get_by_role("group", name="bikes and bicycles contradict each other")).to_be_visible()
    expect(page.get_by_test_id("fact-place")).to_be_visible()
    page.get_by_role("group", name="View").get_by_role("button", name="Consolidate", exact=True).click()
    page.get_by_role("button", name="Undo the last one").click()
    expect(page.get_by_text("Taken back; no fact had been changed by it.")).to_be_visible()
    expect(page.get_by_test_id("change-bicycles")).to_be_visible()

    page = opened(tab, "eva")
    expect(page.get_by_text("There is nothing to consolidate.")).to_be_visible()
    expect(page.get_by_role("region", name="Judged by a model")).to_contain_text("No facts are alike")
    expect(page.get_by_text("Judged 2 pairs")).to_have_count(0)


def test_contradiction_is_settled_and_goes_where_a_side_is_changed(
    tab: Tab, live: Live, axe_source: str
) -> None:
    alike(live, "mia")
    write(live, "mia", "cats", "has 2 cats")
    write(live, "mia", "pets", "has 4 cats")
    page = opened(tab, "mia")
    page.get_by_role("button", name="Ask the model…").click()
    tab.dialog.get_by_role("button", name="Ask it").click()
    page.get_by_role("button", name="Consolidate…").click()
    tab.dialog.get_by_role("button", name="Consolidate", exact=True).click()
    expect(page.get_by_text("3 changes.")).to_be_visible()
    page.get_by_role("group", name="View").get_by_role("button", name="Facts", exact=True).click()
    beside = page.get_by_role("group", name="bikes and bicycles contradict each other")
    expect(beside).to_contain_text("has 3 bicycles in the shed")
    expect(page.get_by_role("group", name="bicycles and bikes contradict each other")).to_be_visible()
    looks(tab, "care-marks")
    assert findings(tab, axe_source) == []
    beside.get_by_role("button", name="bicycles").click()
    expect(page.get_by_test_id("fact-bicycles")).to_be_focused()
    beside.get_by_role("button", name="Keep this one").click()
    expect(page.get_by_test_id("fact-bicycles")).to_have_count(0)
    expect(beside).to_have_count(0)
    page.get_by_text("no longer current").click()
    expect(page.get_by_test_id("gone-bicycles")).to_contain_text("retired")
    expect(page.get_by_role("group", name="cats and pets contradict each other")).to_be_visible()
    page.get_by_test_id("fact-cats").get_by_role("button", name="Edit cats").click()
    page.get_by_label("New value of cats").fill("has 4 cats")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Cannot be true together")).to_have_count(0)


def test_two_statements_become_one_at_a_price_and_without_a_model_only_rules_apply(
    person: Callable[..., Person], paid: Live, fake_model: FakeModel, own_live: Callable[..., Live]
) -> None:
    write(paid, "noa", "dog", "has a dog", partition="real")
    write(paid, "noa", "pet", "has a terrier, a dog", partition="real")
    text = "has a dog, a terrier"
    verdict = {"pair": 1, "relation": "merge", "text": text, "why": "both are about one dog"}
    fake_model.play(answer(json.dumps({"verdicts": [verdict]}), delay_s=1.5))
    tab = person(paid).tab()
    page = opened(tab, "noa", rehearsal=False)
    offers = page.get_by_role("region", name="Judged by a model").get_by_role("row")
    expect(offers.filter(has_text="fake:ok")).to_contain_text("$1.00 in, $4.00 out")
    expect(page.get_by_role("radio", name="fake:ok")).to_be_checked()
    tab.status_expected.add(422)
    page.get_by_label("Another model").fill("nobody:x")
    page.get_by_role("button", name="Show its price").click()
    expect(page.get_by_role("alert")).to_contain_text("there is no provider called")
    page.get_by_label("Another model").fill("ollama:small")
    page.get_by_role("button", name="Show its price").click()
    expect(page.get_by_role("radio", name="ollama:small")).to_be_checked()
    expect(offers.filter(has_text="ollama:small")).to_contain_text("nothing")
    looks(tab, "care-offers")
    page.get_by_role("button", name="Ask the model…").click()
    expect(tab.dialog).to_contain_text("Ask ollama:small about noa’s memory?")
    tab.dialog.get_by_role("button", name="Not now").click()
    page.get_by_role("radio", name="fake:ok").check()
    page.get_by_role("button", name="Ask the model…").click()
    expect(tab.dialog).to_contain_text("charged to noa’s own budgets")
    expect(tab.dialog.get_by_role("row", name="Cost")).to_contain_text("$0.0")
    tab.dialog.get_by_role("button", name="Ask it").click()
    expect(page.get_by_text("0 of 1 pair judged")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    looks(tab, "care-judging")
    change = page.get_by_test_id("change-dog")
    expect(change.locator(".side.new")).to_contain_text(text)
    expect(change.locator("s")).to_have_count(2)
    looks(tab, "care-one")
    change.get_by_role("link", name="Judged by a model").click()
    expect(page.locator("[data-row]", has_text="memory judged")).to_contain_text("fake:ok")
    looks(tab, "care-timeline")

    bare = own_live()
    write(bare, "noa", "dog", "has a dog", partition="real")
    without = person(bare).tab()
    page = opened(without, "noa", rehearsal=False)
    expect(page.get_by_text("No model is connected, so only the rules apply.")).to_be_visible()
    expect(page.get_by_role("button", name="Ask the model…")).to_have_count(0)


def test_any_change_of_a_large_shelf_is_found_and_left_out(tab: Tab, live: Live, axe_source: str) -> None:
    soon = live.studio.services.clock.now() + timedelta(milliseconds=10)
    for number in range(120):
        write(live, "pia", f"k{number:03}", f"note {number}", valid_to=soon)
    page = opened(tab, "pia")
    expect(page.get_by_text("120 of 120 changes chosen")).to_be_visible()
    expect(page.locator(".change")).to_have_count(50)
    pages = page.get_by_role("navigation", name="Pages of changes, shop · user pia", exact=True)
    pages.get_by_role("button", name="Changes after these").click()
    pages.get_by_role("button", name="Changes after these").click()
    expect(pages).to_contain_text("101–120 of 120")
    expect(page.locator(".change")).to_have_count(20)
    page.get_by_role("checkbox", name="retire k119").uncheck()
    looks(tab, "care-pages")
    assert findings(tab, axe_source) == []
    page.get_by_role("searchbox", name="Find in changes").fill("note 7")
    expect(pages).to_contain_text("1–11 of 11")  # 7 and 70 to 79
    page.get_by_role("button", name="Leave out the 11 found").click()
    expect(page.get_by_text("108 of 120 changes chosen")).to_be_visible()
    page.get_by_role("searchbox", name="Find in changes").fill("no such thing")
    expect(page.get_by_text("No change tells of “no such thing”.")).to_be_visible()
    page.get_by_role("searchbox", name="Find in changes").fill("")
    page.get_by_role("button", name="Leave out all").click()
    page.get_by_role("checkbox", name="retire k003").check()
    page.get_by_role("button", name="Consolidate 1 of 120…").click()
    tab.dialog.get_by_role("button", name="Consolidate", exact=True).click()
    expect(page.get_by_text("0 of 119 changes chosen")).to_be_visible()
    page.get_by_role("button", name="Undo the last one").click()
    expect(page.get_by_text("1 of 120 changes chosen")).to_be_visible()

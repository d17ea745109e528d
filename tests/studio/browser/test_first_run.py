"""Coming in by the link, and a first run with no key and no setting up."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.studio.browser.conftest import Person
from tests.studio.browser.tab import Tab
from tests.studio.live import Live


def test_first_run_of_an_example_answers_and_moves_the_gauge(
    person: Callable[..., Person], live: Live
) -> None:
    tab = person(live, signed_in=False).tab()
    tab.go(f"/#token={live.studio.doors.new_link()}")
    page = tab.page
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    assert "token" not in page.url
    page.get_by_role("link", name=re.compile("support")).click()
    expect(tab.node("budget").or_(page.locator(".pill")).first).to_be_visible()
    before = page.locator(".pill").all_inner_texts()
    expect(page.locator(".model-and-limit .tag")).to_have_text("rehearsal")
    tab.run("My name is Ada and I ride a Brompton.")
    expect(tab.log.locator(".turn-foot")).to_contain_text("rehearsal")
    expect(tab.log.locator(".bubble").last).to_contain_text(re.compile(r"\w{3}"))
    expect(tab.log.locator(".turn-foot")).to_contain_text("tokens")
    assert page.locator(".pill").all_inner_texts() != before
    tab.shot("first-run")


def test_a_server_on_ones_own_machine_is_not_called_connected_before_it_answered(tab: Tab) -> None:
    page = tab.go("/settings").page
    ollama = page.get_by_test_id("provider-ollama")
    expect(ollama).to_contain_text("Try says whether it answers")
    expect(ollama.get_by_label("not tried")).to_be_visible()
    expect(page.get_by_test_id("provider-scripted").get_by_label("connected", exact=True)).to_be_visible()

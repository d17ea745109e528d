"""Runs as they are seen: streamed, reloaded, watched from two tabs, left alone, cancelled."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.studio.browser.conftest import Person, put, talk
from tests.studio.browser.tab import Tab
from tests.studio.live import A, Live

WORDS = [f"word{number}" for number in range(40)]
SAID = " ".join(WORDS)


def slow(live: Live, name: str, seconds: float = 2.5) -> str:
    """A flow whose answer comes word by word."""
    return put(live, talk(name), {"helper": [{"text": SAID, "latency_s": seconds}]})


def answered(tab: Tab) -> None:
    """The answer stands there whole, and once."""
    expect(tab.log.locator(".turn-foot")).to_contain_text("tokens")
    expect(tab.log.locator(".turn")).to_have_count(1)
    expect(tab.log.locator(".bubble").last).to_have_text(SAID)
    assert tab.log.inner_text().count("word39") == 1
    expect(tab.node("helper")).to_have_attribute("data-state", "done")


def test_run_streams_in_the_node_that_glows(tab: Tab, live: Live) -> None:
    tab.flow(slow(live, "streams"))
    tab.run("Go")
    expect(tab.node("helper")).to_have_attribute("data-state", "running")
    expect(tab.node("helper").locator(".card-stream")).to_contain_text(re.compile(r"word\d"))
    expect(tab.log.locator(".bubble.live")).to_contain_text("word1")
    expect(tab.node("question")).to_have_attribute("data-state", "done")
    answered(tab)


def test_reload_in_mid_run_loses_and_doubles_nothing(tab: Tab, live: Live) -> None:
    tab.flow(slow(live, "reloaded"))
    tab.run("Go")
    expect(tab.log.locator(".bubble.live")).to_contain_text("word3")
    tab.page.reload()
    expect(tab.log.locator(".bubble.live")).to_contain_text("word5")
    live_text = tab.log.locator(".bubble.live p, .bubble.live .text, .bubble.live").first.inner_text()
    assert "word0 word1 word2 word3" in live_text
    answered(tab)
    tab.page.reload()
    answered(tab)


def test_two_tabs_agree(person: Callable[..., Person], live: Live) -> None:
    someone = person(live)
    first, second = someone.tab(), someone.tab()
    path = slow(live, "twice", 8)  # a busy machine opens the second tab late
    first.flow(path)
    first.run("Go")
    expect(first.log.locator(".bubble.live")).to_contain_text("word2")
    second.flow(path)
    expect(second.log.locator(".bubble.live")).to_contain_text("word4")
    for tab in (first, second):
        answered(tab)
    texts = [tab.log.inner_text() for tab in (first, second)]
    assert texts[0] == texts[1]


def test_closing_the_page_does_not_stop_the_run(person: Callable[..., Person], live: Live) -> None:
    someone = person(live)
    tab = someone.tab().flow(slow(live, "closed", 1.5))
    with tab.page.expect_response(re.compile("/api/v1/runs$")) as started:
        tab.run("Go")
    run = started.value.json()
    expect(tab.log.locator(".bubble.live")).to_contain_text("word1")
    tab.page.close()
    ended = live.wait(live.token("chief", "operator"), run["run_id"])
    assert (ended["state"], ended["outputs"]) == ("completed", {"answer": SAID})
    again = someone.tab().go(f"/sessions/{run['session_uid']}")
    expect(again.top.locator(".state")).to_have_text("completed")
    expect(again.page.locator('[data-row="node"]', has_text="helper").first).to_have_attribute(
        "data-state", "done"
    )


def test_cancel_is_told_at_once_and_keeps_the_session(tab: Tab, live: Live) -> None:
    tab.flow(slow(live, "cancelled", 20))
    tab.run("Go")
    expect(tab.log.locator(".bubble.live")).to_contain_text("word0")
    tab.top.get_by_role("button", name="Cancel").click()
    expect(tab.top.get_by_role("button", name="Run")).to_be_visible(timeout=3000)
    expect(tab.log.locator(".turn-foot")).to_contain_text("cancelled")
    expect(tab.node("helper")).to_have_attribute("data-state", "cancelled")
    chief = live.token("chief", "operator")
    asked = f"{A}/sessions?rehearsal=true&flow=cancelled"
    assert [each["state"] for each in live.request("GET", asked, token=chief).json["sessions"]] == [
        "cancelled"
    ]


def test_a_sessions_page_cancels_the_run_that_is_on(tab: Tab, live: Live) -> None:
    path = slow(live, "watched", 30)
    chief = live.token("chief", "operator")
    run = live.request("POST", f"{A}/runs", {"path": path, "input": "Go"}, token=chief).json
    tab.go(f"/sessions/{run['session_uid']}")
    tab.top.get_by_role("button", name="Cancel").click()
    expect(tab.top.locator(".state")).to_have_text("cancelled")
    expect(tab.top.get_by_role("button", name="Cancel")).to_have_count(0)
    assert live.wait(chief, run["run_id"])["state"] == "cancelled"


def test_escape_cancels(tab: Tab, live: Live) -> None:
    tab.flow(slow(live, "escaped", 20))
    tab.run("Go")
    expect(tab.log.locator(".bubble.live")).to_contain_text("word0")
    tab.page.keyboard.press("Escape")
    expect(tab.log.locator(".turn-foot")).to_contain_text("cancelled")
    tab.settle()  # the answer to it was read: one that is not keeps a connection


def test_error_opens_at_its_node_with_what_to_do(tab: Tab, live: Live) -> None:
    failing = {"kind": "bad_request", "message": "the model wants no such thing"}
    tab.flow(put(live, talk("failing"), {"helper": [{"error": failing}]}))
    tab.run("Go")
    expect(tab.node("helper")).to_have_attribute("data-state", "failed")
    expect(tab.log).to_contain_text("the model wants no such thing")
    tab.node("helper").click()
    expect(tab.inspector.locator(".run-note")).to_contain_text("the model wants no such thing")


def test_what_a_failed_run_never_came_to_says_so(tab: Tab, live: Live) -> None:
    failing = {"kind": "bad_request", "message": "no such thing"}
    tab.flow(put(live, talk("short of it"), {"helper": [{"error": failing}]}))

    def told() -> None:
        expect(tab.node("question")).to_have_attribute("data-state", "done")
        expect(tab.node("answer")).to_have_attribute("data-state", "unreached")
        expect(tab.node("answer")).to_contain_text("not reached")
        for attached in ("notes", "purse"):
            expect(tab.node(attached)).to_have_attribute("data-state", "idle")

    tab.run("Go")
    told()
    tab.page.reload()
    told()
    tab.log.get_by_role("link", name="Timeline").click()
    tab.page.get_by_role("button", name="Flow", exact=True).click()
    told()


def test_timeline_and_canvas_share_the_selection(tab: Tab, live: Live) -> None:
    tab.flow(put(live, talk("shared"), {"helper": [{"text": "Good day."}]}))
    tab.run("Go")
    expect(tab.log.locator(".turn-foot")).to_contain_text("tokens")
    tab.page.get_by_role("tab", name="Timeline").click()
    rows = tab.page.get_by_role("treegrid", name="Timeline")
    rows.locator('[data-row="node"]', has_text="helper").click()
    expect(tab.node("helper")).to_have_class(re.compile("selected"))
    tab.node("answer").click()
    expect(rows.locator('[aria-selected="true"]')).to_contain_text("answer")


def test_timeline_opens_at_the_run_just_made_and_says_what_was_asked(tab: Tab, live: Live) -> None:
    tab.flow(put(live, talk("latest"), {"helper": [{"text": "Yes."}]}))
    for number in range(6):
        tab.run(f"Question {number}")
        expect(tab.log.locator(".turn-foot")).to_have_count(number + 1)
    tab.page.get_by_role("tab", name="Timeline").click()
    rows = tab.page.get_by_role("treegrid", name="Timeline")
    expect(rows.locator('[data-row="run"]', has_text="Question 5")).to_be_in_viewport()
    expect(rows.locator('[data-row="run"]', has_text="Question 0")).not_to_be_in_viewport()


def test_agent_card_is_as_high_in_a_run_and_after_it(tab: Tab, live: Live) -> None:
    tab.flow(put(live, talk("steady"), {"helper": [{"text": "Fine."}]}))
    before = tab.node("helper").bounding_box()
    assert tab.node("helper").locator(".card-foot").count() == 0
    tab.run("Go")
    expect(tab.node("helper").locator(".card-foot")).to_contain_text("tokens")
    after = tab.node("helper").bounding_box()
    assert before and after and before["height"] == after["height"]


def test_error_on_a_card_is_cut_between_lines(tab: Tab, live: Live) -> None:
    failing = {"kind": "bad_request", "message": "this sentence is much longer than a card is wide, " * 4}
    tab.flow(put(live, talk("wordy"), {"helper": [{"error": failing}]}))
    before = tab.node("helper").bounding_box()
    tab.run("Go")
    expect(tab.node("helper")).to_have_attribute("data-state", "failed")
    failed = tab.node("helper").bounding_box()
    assert before and failed and before["height"] == failed["height"]
    told = tab.node("helper").locator(".card-error")
    lines = told.locator("span").evaluate(
        "each => each.clientHeight / parseFloat(getComputedStyle(each).lineHeight)"
    )
    inside = told.evaluate("each => each.scrollHeight <= each.clientHeight")
    assert lines == 2 and inside

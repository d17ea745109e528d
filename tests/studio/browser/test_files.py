"""Flows as files: nothing is overwritten unseen, nothing unsaved is lost, and what leaves can come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, FilePayload, expect

from tests.studio.browser.conftest import Person, put, talk
from tests.studio.browser.tab import Tab, sign_in
from tests.studio.live import Live


def describe(tab: Tab, text: str) -> None:
    """Change something that the file keeps."""
    tab.inspector.get_by_label("Description").fill(text)
    expect(tab.top.locator(".saved-state")).to_have_text("unsaved changes")


def test_stale_save_overwrites_nothing_unseen(tab: Tab, live: Live) -> None:
    tab.status_expected.add(409)
    path = put(live, talk("stale"))
    tab.flow(path)
    describe(tab, "mine")
    theirs = {**talk("stale"), "description": "theirs"}
    (live.flows / path).write_text(json.dumps(theirs))
    tab.page.keyboard.press("Control+s")
    expect(tab.dialog).to_contain_text("Nothing has been overwritten")
    assert json.loads((live.flows / path).read_text()) == theirs
    tab.dialog.get_by_role("button", name="Save under another name").click()
    tab.dialog.get_by_label("File").fill("stale-mine.json")
    tab.dialog.get_by_role("button", name="Save").click()
    expect(tab.top.locator(".saved-state")).to_have_text("stale-mine.json")
    assert json.loads((live.flows / path).read_text()) == theirs
    assert json.loads((live.flows / "stale-mine.json").read_text())["description"] == "mine"


def test_stale_save_can_load_theirs_or_replace_it(tab: Tab, live: Live) -> None:
    tab.status_expected.add(409)
    path = put(live, talk("theirs"))
    tab.flow(path)
    describe(tab, "mine")
    (live.flows / path).write_text(json.dumps({**talk("theirs"), "description": "theirs"}))
    tab.page.keyboard.press("Control+s")
    tab.dialog.get_by_role("button", name="Load theirs").click()
    expect(tab.inspector.get_by_label("Description")).to_have_value("theirs")
    describe(tab, "mine again")
    (live.flows / path).write_text(json.dumps({**talk("theirs"), "description": "once more"}))
    tab.page.keyboard.press("Control+s")
    tab.dialog.get_by_role("button", name="Replace it").click()
    expect(tab.top.locator(".saved-state")).to_have_text(path)
    assert json.loads((live.flows / path).read_text())["description"] == "mine again"


def test_change_outside_is_noticed(tab: Tab, live: Live) -> None:
    path = put(live, talk("outside"))
    tab.flow(path)
    expect(tab.inspector.get_by_label("Description")).to_have_value("")
    (live.flows / path).write_text(json.dumps({**talk("outside"), "description": "from an editor"}))
    tab.page.get_by_role("status").filter(has_text="changed elsewhere").get_by_role(
        "button", name="Load it again"
    ).click()
    expect(tab.inspector.get_by_label("Description")).to_have_value("from an editor")
    expect(tab.page.get_by_text("changed elsewhere")).to_have_count(0)


def test_change_outside_takes_no_unsaved_work_away(tab: Tab, live: Live) -> None:
    path = put(live, talk("both"))
    tab.flow(path)
    (live.flows / path).write_text(json.dumps({**talk("both"), "description": "theirs"}))
    banner = tab.page.get_by_role("status").filter(has_text="changed elsewhere")
    expect(banner).to_be_visible()
    describe(tab, "mine")
    banner.get_by_role("button", name="Load it again").click()  # sooner than a draft is kept by itself
    expect(tab.inspector.get_by_label("Description")).to_have_value("theirs")
    tab.page.get_by_role("button", name="Restore them").click()
    expect(tab.inspector.get_by_label("Description")).to_have_value("mine")


def test_new_flow_that_is_left_is_kept_at_once(tab: Tab, live: Live) -> None:
    tab.page.on("dialog", lambda dialog: dialog.accept())
    tab.go("/new")
    tab.page.get_by_test_id("palette-agent").click()
    tab.page.get_by_role("link", name="Sessions", exact=True).click()
    expect(tab.page.get_by_role("heading", name="Sessions")).to_be_visible()
    tab.go("/new").page.get_by_role("button", name="Restore them").click()
    expect(tab.node("agent")).to_be_visible()


def test_unsaved_work_warns_before_leaving_and_is_kept(tab: Tab, live: Live) -> None:
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss() if len(asked) == 1 else dialog.accept()

    tab.page.on("dialog", answer)
    path = put(live, talk("left"))
    tab.flow(path)
    describe(tab, "not saved yet")
    expect(tab.top.locator(".dot")).to_be_visible()
    tab.page.get_by_role("link", name="Sessions", exact=True).click()
    expect(tab.inspector.get_by_label("Description")).to_have_value("not saved yet")
    tab.page.wait_for_function("() => Object.keys(localStorage).some(key => key.includes('left.json'))")
    tab.page.get_by_role("link", name="Sessions", exact=True).click()
    expect(tab.page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert asked == ["confirm", "confirm"]
    tab.flow(path)
    expect(tab.inspector.get_by_label("Description")).to_have_value("")
    tab.page.get_by_role("button", name="Restore them").click()
    expect(tab.inspector.get_by_label("Description")).to_have_value("not saved yet")
    tab.page.reload()
    assert asked[2:] == ["beforeunload"]


def test_door_that_closes_keeps_the_work(person: Callable[..., Person], live: Live) -> None:
    someone = person(live)
    tab = someone.tab()
    tab.status_expected.add(401)
    path = put(live, talk("locked"))
    tab.flow(path)
    describe(tab, "not saved")
    someone.context.clear_cookies()  # as a studio that was started again knows nobody
    expect(tab.page.get_by_role("heading", name="This page needs a link")).to_be_visible()
    expect(tab.page.get_by_text("is kept in this browser")).to_be_visible()
    sign_in(someone.context, live)
    tab.flow(path)
    tab.page.get_by_role("button", name="Restore them").click()
    expect(tab.inspector.get_by_label("Description")).to_have_value("not saved")


def test_exported_flow_comes_back_as_it_was(tab: Tab, live: Live) -> None:
    path = put(live, talk("travels"))
    tab.flow(path)
    expect(tab.node("helper")).to_be_visible()
    with tab.page.expect_download() as going:
        tab.more("Export")
    text = Path(going.value.path()).read_text()
    assert json.loads(text)["nodes"] and going.value.suggested_filename == "travels.json"
    tab.go("/")
    choose(tab, "again.json", b"\xef\xbb\xbf" + text.encode())
    expect(tab.node("helper")).to_be_visible()
    expect(tab.top.locator(".saved-state")).to_have_text("not saved")
    tab.page.keyboard.press("Control+s")
    tab.dialog.get_by_label("File").fill("back.json")
    tab.dialog.get_by_role("button", name="Save").click()
    expect(tab.top.locator(".saved-state")).to_have_text("back.json")
    came = json.loads((live.flows / "back.json").read_text())
    ours = json.loads(text)
    for each in (came, ours):
        each.pop("id", None)
    assert came == ours


def choose(tab: Tab, name: str, content: bytes) -> None:
    """Import a file."""
    with tab.page.expect_file_chooser() as chooser:
        tab.page.get_by_role("button", name="Import").click()
    chosen: FilePayload = {"name": name, "mimeType": "application/json", "buffer": content}
    chooser.value.set_files(chosen)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"format": "farthing.flow/1", "nodes": [', "half.json is not a flow"),
        (b"[1, 2]", "half.json is not a flow"),
    ],
)
def test_import_of_what_is_no_flow_changes_nothing(tab: Tab, content: bytes, said: str) -> None:
    tab.go("/")
    choose(tab, "half.json", content)
    expect(tab.page.get_by_role("alert")).to_contain_text(said)
    expect(tab.page.get_by_role("heading", name="Flows")).to_be_visible()


def test_import_of_a_newer_flow_says_both_versions_and_is_not_run(tab: Tab, live: Live) -> None:
    newer = {**talk("newer"), "format": "farthing.flow/9"}
    newer["nodes"] = [*newer["nodes"], {"id": "later", "type": "quantum", "config": {"x": 1}}]
    tab.go("/")
    choose(tab, "newer.json", json.dumps(newer).encode())
    tab.page.get_by_role("tab", name="Problems").click()
    told = tab.page.get_by_role("tabpanel")
    expect(told).to_contain_text("The file has format 9 and this Farthing reads up to 1")
    expect(told).to_contain_text("quantum")


def test_copied_command_is_a_line_that_runs(person: Callable[..., Person], live: Live) -> None:
    someone = person(live)
    someone.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab = someone.tab()
    odd = 'It\'s $HOME, `id` & "quotes" \\ — 价格'
    tab.flow(put(live, talk("it's a flow")))
    tab.composer.fill(odd)
    tab.page.get_by_label("Session").fill("s 1")
    tab.composer.click()
    tab.more("Copy as command")
    expect(tab.page.get_by_role("alert")).to_contain_text("Copied")
    line = tab.page.evaluate("navigator.clipboard.readText()")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", line + " --json"], cwd=live.flows, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["state"], told["session"]["name"]) == ("completed", "s 1")
    seen = subprocess.run(
        ["farthing", "events", "s 1", "--rehearsal", "--json"],
        cwd=live.flows,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    events = [json.loads(each) for each in seen.stdout.splitlines()]
    assert [each["input"] for each in events if each["type"] == "run.started"] == [odd]

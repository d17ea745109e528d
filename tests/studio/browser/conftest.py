"""A browser for the package, pages that watch themselves, and flows with scripts beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.studio.browser.finding import FLAGS, REQUIRED, Missing, find_axe, find_browser
from tests.studio.browser.tab import Tab, doc, node, sign_in
from tests.studio.live import Live

WAIT_MS = 30_000


def pytest_itemcollected(item: pytest.Item) -> None:
    """A journey in a browser takes seconds: it is for the whole suite."""
    item.add_marker(pytest.mark.slow)


def needed(why: Missing) -> None:
    """Skip aloud, or fail where a browser is required."""
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(f"{REQUIRED}=1, but {why}", pytrace=False)
    pytest.skip(f"NOT TESTED IN A BROWSER: {why}")


# Package and not session: while Playwright runs, its loop is this thread's, with no place for another one.
@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A headless Chromium."""
    try:
        found = find_browser(tmp_path_factory.mktemp("browser"))
    except Missing as why:
        needed(why)
        raise
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        env: dict[str, str | float | bool] = {**os.environ, **found.env}
        launched = playwright.chromium.launch(executable_path=found.path, args=list(FLAGS), env=env)
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def axe_source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core, to be put into a page."""
    try:
        return find_axe(tmp_path_factory.mktemp("axe"))
    except Missing as why:
        needed(why)
        raise


class Person:
    """One person at a browser: what their tabs share is theirs alone."""

    def __init__(self, context: BrowserContext, live: Live) -> None:
        self.context, self.live = context, live
        self.tabs: list[Tab] = []

    def tab(self) -> Tab:
        """A further tab."""
        made = Tab(self.context.new_page(), self.live)
        self.tabs.append(made)
        return made


@pytest.fixture
def person(browser: Browser) -> Iterator[Callable[..., Person]]:
    """Makes people: `person(live, color_scheme="dark")`. At the end none of their pages has complained."""
    people: list[Person] = []

    def make(
        live: Live, *, signed_in: bool = True, width: int = 1440, height: int = 900, **how: Any
    ) -> Person:
        how.setdefault("reduced_motion", "reduce")
        context = browser.new_context(viewport={"width": width, "height": height}, **how)
        context.set_default_timeout(WAIT_MS)
        if signed_in:
            sign_in(context, live)
        people.append(Person(context, live))
        return people[-1]

    yield make
    tabs = [tab for each in people for tab in each.tabs]
    for each in people:
        each.context.close()
    for tab in tabs:
        tab.check()


@pytest.fixture
def tab(person: Callable[..., Person], live: Live) -> Tab:
    """A page of somebody who came in by the link."""
    return person(live).tab()


def put(
    live: Live, document: Mapping[str, Any], replies: Mapping[str, Sequence[object]] | None = None
) -> str:
    """Write a flow into the folder, with what the model says in it; its path."""
    name = document["id"]
    (live.flows / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    if replies is not None:
        script = {"format": "farthing.script/1", "replies": replies}
        (live.flows / f"{name}.script.json").write_text(json.dumps(script), encoding="utf-8")
    return f"{name}.json"


def talk(name: str, **budget: Any) -> dict[str, Any]:
    """Question, agent, memory, budget, answer."""
    limit = {"metric": "spend", "period": "daily", "limit": "0.50", "threshold_pct": 80, **budget}
    nodes = [
        node("question", "input"),
        node("helper", "agent", instructions="You help."),
        node("notes", "memory", scope="user"),
        node("purse", "budget", **limit),
        node("answer", "output"),
    ]
    edges = [
        ("question", "helper"), ("helper", "answer"),
        ("notes", "helper", "memory"), ("purse", "helper", "budget"),
    ]  # fmt: skip
    return doc(name, nodes, edges)

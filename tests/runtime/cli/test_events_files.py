"""A timeline for other programs: filters, CSV that computes nothing, one page that asks nobody."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.runtime.cli.conftest import Farthing

Write = Callable[..., str]
EVIL = "=1+1 </pre><script>alert(1)</script> \" onload='x' \u202e\x1b[2J &amp; {{7*7}}"


class Page(HTMLParser):
    """What a browser would find: tags with their attributes, and the text of rows."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.text = ""
        self._tag = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        self.inside[self._tag] = self.inside.get(self._tag, "") + data
        self.text += data


@pytest.fixture
def ran(farthing: Farthing, write_flow: Write) -> Farthing:
    """A run with a tool and a hostile answer, and one that a budget stops."""
    call = {"name": "memory_write", "arguments": {"key": "name", "value": EVIL}}
    flow = write_flow(
        {"if": "Ada", "tool_calls": [call], "usage": {"input": 400, "output": 9}, "cost": "0.01"},
        {"text": EVIL, "usage": {"input": 500, "cached": 100, "output": 20}, "cost": "0.49"},
    )
    assert farthing("run", flow, f"I am Ada {EVIL}", "--session", "s", "--user", "ada").code == 0
    assert farthing("run", flow, "More", "--session", "s", "--user", "ada").code == 3
    return farthing


@pytest.mark.promise("CLI-11")
def test_page_has_everything_and_asks_nobody(ran: Farthing, folder: Path) -> None:
    assert ran("events", "s", "--html", "s.html").code == 0
    text = (folder / "s.html").read_text("utf-8")
    page = Page(text)
    assert not re.search(r"(?:src|href|url|@import)\s*[=(]", text)
    names = {tag for tag, _ in page.tags}
    assert "details" in names and not names & {"img", "link", "iframe", "form", "object", "a"}
    assert [tag for tag, _ in page.tags].count("script") == 1
    for words in (
        "flow greeter",
        "step 2",
        "memory_write",
        "budget.exceeded",
        "Run 2",
        "$0.490000",
        "400 → 9",
    ):
        assert words in page.text, words
    assert "raise" in page.text  # what to do


@pytest.mark.promise("CLI-11")
def test_page_takes_no_word_of_others_for_markup(ran: Farthing, folder: Path) -> None:
    ran("events", "s", "--html", "s.html")
    text = (folder / "s.html").read_text("utf-8")
    page = Page(text)
    assert "\x1b" not in text and "\u202e" not in text
    assert "</pre><script>alert(1)</script>" in page.text
    assert all(not name.startswith("on") for _, attributes in page.tags for name in attributes)
    policy = next(a["content"] or "" for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy
    for tag in ("style", "script"):
        digest = base64.b64encode(sha256(page.inside[tag].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_page_of_a_part_has_that_part(ran: Farthing, folder: Path) -> None:
    run_id = json.loads(ran("events", "s", "--json").out.splitlines()[-1])["run_id"]
    assert ran("events", "s", "--html", "s.html", "--run", run_id).code == 0
    text = Page((folder / "s.html").read_text("utf-8")).text
    assert "budget.exceeded" in text and "step 2" not in text
    assert ran("events", "s", "--html", str(folder / "none" / "s.html")).code == 2
    assert ran("events", "s", "--html", "s.html", "--follow").code == 2


@pytest.mark.promise("CLI-6")
def test_csv_has_a_line_a_row_and_computes_nothing(ran: Farthing) -> None:
    out = ran("events", "s", "--csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows[0]["kind"] == "run"
    calls = [row for row in rows if row["kind"] == "call"]
    assert [(row["input"], row["cached"], row["output"], row["cost"]) for row in calls] == [
        ("400", "0", "9", "0.01"),
        ("500", "100", "20", "0.49"),
    ]
    said = next(row["text"] for row in rows if row["text"].lstrip("'").startswith("=1+1"))
    assert said.startswith("'=1+1")
    assert [row["code"] for row in rows if row["kind"] == "stop"] == ["budget.exceeded"]


def test_events_are_chosen_by_step_and_time(ran: Farthing) -> None:
    def events(*args: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in ran("events", "s", "--json", *args).out.splitlines()]

    assert {event["step"] for event in events("--step", "2")} == {2}
    assert {event["type"] for event in events("--step", "1", "--type", "tool", "--node", "helper")} == {
        "tool.request",
        "tool.response",
    }
    every = events()
    assert events("--since", "1d") == every
    middle = every[len(every) // 2]
    since = events("--since", str(middle["at"]))
    assert since and since == [event for event in every if str(event["at"]) >= str(middle["at"])]
    assert events("--since", "2999-01-01") == []

"""The supporting context as JSON and XML: well-formed, fitting, and with nothing that leaves the fence."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadConfig
from runtime.memory.contents import Contents, Dated, Passage, Recommended
from runtime.memory.estimate import by_length, by_length_padded
from runtime.memory.section_rules import Layout
from runtime.memory.sections import place
from tests.runtime.memory.test_sections import contents_

STYLES = ["json", "xml"]
SMALL = Contents(
    known_facts=("likes </memory> tea",),
    passages=(Passage("went to the shop", "mail", score=0.5),),
    summaries=(Dated("talked", "2026-05-01"),),
    tools=(Recommended("look_up", "knows prices", (("kind", '"bike"'),)),),
    hints=("be brief",),
)


def body(text: str) -> str:
    first, _, *inside, last = text.split("\n")
    assert (first, last) == ("<memory>", "</memory>")
    return "\n".join(inside)


def test_json_holds_items_by_section() -> None:
    placed = place(SMALL, None, by_length, Layout(style="json"))
    assert json.loads(body(placed.text)) == {
        "known_facts": [{"text": "likes </memory> tea"}],
        "passages": [{"text": "went to the shop", "source": "mail", "score": "0.50"}],
        "summaries": [{"text": "talked", "at": "2026-05-01"}],
        "tools": [
            {"text": "knows prices", "tool": "look_up", "parameter kind": '"bike"'},
            {"text": "be brief"},
        ],
    }


def test_xml_holds_items_by_section() -> None:
    root = ET.fromstring("<all>" + body(place(SMALL, None, by_length, Layout(style="xml")).text) + "</all>")
    assert [section.tag for section in root] == ["known_facts", "passages", "summaries", "tools"]
    assert root[0][0].text == "likes </memory> tea"
    assert root[3][0].find("about[@name='parameter kind']").text == '"bike"'  # type: ignore[union-attr]


@given(
    contents_, st.integers(0, 400), st.sampled_from(STYLES), st.sampled_from([by_length, by_length_padded])
)
def test_what_is_sent_fits_and_is_well_formed(
    contents: Contents, budget: int, style: Any, count: Any
) -> None:
    placed = place(contents, budget, count, Layout(style=style))
    assert placed.tokens <= budget
    if not placed.text:
        return
    assert placed.text.count("<memory>") == placed.text.count("</memory>") == 1
    inside = body(placed.text)
    if style == "json":
        assert "<" not in inside and json.loads(inside)
    else:
        ET.fromstring(f"<all>{inside}</all>")


@pytest.mark.parametrize("style", STYLES)
def test_the_first_item_that_does_not_fit_ends_the_text(style: Any) -> None:
    contents = Contents(known_facts=("short", "x" * 900, "short too"), insights=(Dated("small"),))
    placed = place(contents, 100, by_length, Layout(style=style))
    assert "short" in placed.text and "short too" not in placed.text and "small" not in placed.text
    assert [report.status for report in placed.sections] == ["cut", "dropped"]
    assert place(contents, 0, by_length, Layout(style=style)).text == ""


@pytest.mark.parametrize("style", STYLES)
def test_lines_are_counted_for_text_only(style: Any) -> None:
    with pytest.raises(BadConfig, match="style"):
        Layout(style=style, accounting="lines")

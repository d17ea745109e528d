"""Text made safe for a terminal, for one line, and for a spreadsheet."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cli.plain import (
    FORMULA_LEADS,
    cells,
    clip,
    counted,
    csv_cell,
    json_visible,
    one_line,
    pad,
    visible,
)

DANGEROUS = (
    [chr(c) for c in (*range(0x20), *range(0x7F, 0xA0)) if chr(c) not in "\t\n"]
    + [
        chr(c)
        for c in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0xFEFF)
    ]
    + ["\u2028", "\ufeff", "\U000e0041", "\ud800"]
)
text = st.text(st.one_of(st.characters(codec=None), st.sampled_from(DANGEROUS)))

letters = st.text(st.characters(codec="utf-8"))
values = st.recursive(letters, lambda inner: st.lists(inner) | st.dictionaries(letters, inner))


def acts(char: str) -> bool:
    """Whether a character could act on a terminal, not counting tab and newline."""
    return (unicodedata.category(char) in {"Cc", "Cs"} and char not in "\t\n") or (
        unicodedata.bidirectional(char) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    )


@pytest.mark.promise("CLI-6")
@given(text)
def test_visible_leaves_nothing_that_acts_on_a_terminal(given_text: str) -> None:
    assert not any(acts(char) for char in visible(given_text))


@given(text)
def test_visible_twice_is_visible_once(given_text: str) -> None:
    assert visible(visible(given_text)) == visible(given_text)


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))))
def test_visible_leaves_letters_signs_and_spaces_alone(given_text: str) -> None:
    assert visible(given_text) == given_text


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\u202eb", "a\\u202eb"),
        ("\x9b2J", "\\x9b2J"),
        ("line\r\nnext\tcell", "line\nnext\tcell"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\U000e0041", "\\U000e0041"),
        ("👩‍🚀 café 水", "👩‍🚀 café 水"),
    ],
)
def test_visible_spells_out_what_would_act(given_text: str, shown: str) -> None:
    assert visible(given_text) == shown


@given(text)
def test_one_line_is_one_line(given_text: str) -> None:
    assert not set(one_line(given_text)) & {"\n", "\t", "\r"}


@given(values)
def test_json_visible_is_the_same_value(value: object) -> None:
    shown = json_visible(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(shown) == value
    assert not any(acts(char) for char in shown)


@given(st.text(st.characters(codec="utf-8")), st.integers(0, 60))
def test_clip_fits_and_keeps_the_beginning(given_text: str, width: int) -> None:
    cut = clip(given_text, width)
    assert cells(cut) <= max(width, 0)
    assert given_text.startswith(cut.removesuffix("…").rstrip()) or not cut


@given(st.text(st.characters(codec="utf-8"), max_size=20), st.integers(0, 60), st.booleans())
def test_pad_fills_to_the_width(given_text: str, width: int, right: bool) -> None:
    assert cells(pad(given_text, width, right=right)) == max(width, cells(given_text))


@pytest.mark.promise("CLI-6")
@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(sorted(FORMULA_LEADS)))))
def test_csv_cell_never_begins_as_a_formula(given_text: str) -> None:
    cell = csv_cell(given_text)
    assert isinstance(cell, str)
    assert cell[:1] not in FORMULA_LEADS or not cell
    assert cell in (given_text, "'" + given_text)


def test_csv_cell_leaves_numbers_alone() -> None:
    assert [csv_cell(-5), csv_cell(None), csv_cell(1.5)] == [-5, None, 1.5]


def test_a_number_has_its_noun() -> None:
    assert [counted(n, "turn") for n in (0, 1, 2000)] == ["0 turns", "1 turn", "2,000 turns"]
    assert counted(2, "reply", "replies") == "2 replies"

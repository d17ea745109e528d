"""Tables, times and durations for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cli.table import Column, lay_out, show
from runtime.cli.when import duration, parse_when, stamp

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
COLUMNS = (Column("name", flexible=True), Column("what", flexible=True), Column("cost", right=True))


@given(st.lists(st.tuples(st.text(max_size=90), st.text(max_size=90), st.text(max_size=12)), max_size=8))
def test_layout_fits_a_terminal(rows: list[tuple[str, str, str]]) -> None:
    widths = lay_out(COLUMNS, rows, room=80)
    assert sum(widths) + 2 * (len(widths) - 1) <= 80


def test_layout_without_a_terminal_cuts_nothing() -> None:
    assert lay_out(COLUMNS, [("a" * 300, "b", "c")], room=None) == [300, 4, 4]


def test_layout_leaves_spare_columns_out_where_there_is_no_room() -> None:
    columns = (
        Column("a" * 30),
        Column("b" * 30, spare=True),
        Column("c" * 9),
        Column("d" * 40, flexible=True),
    )
    assert lay_out(columns, [], room=60) == [30, 0, 9, 17]
    assert lay_out(columns, [], room=200) == [30, 30, 9, 40]


def test_show_lines_numbers_up_and_spells_controls_out(capsys: pytest.CaptureFixture[str]) -> None:
    show(COLUMNS, [("a\x1b[2J", "x\ny", "$1.00"), ("水", "z", "$10.00")], total=("total", "", "$11.00"))
    assert capsys.readouterr().out.splitlines() == [
        "name      what    cost",
        "a\\x1b[2J  x y    $1.00",
        "水        z     $10.00",
        "total           $11.00",
    ]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T12:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01T12:00:00+08:00", datetime(2026, 3, 1, 4, tzinfo=UTC)),
        ("today", datetime(2026, 3, 2, tzinfo=UTC)),
        ("Yesterday", datetime(2026, 3, 1, tzinfo=UTC)),
        ("now", NOW),
        ("90m", NOW - timedelta(minutes=90)),
        ("2w", NOW - timedelta(weeks=2)),
    ],
)
def test_when_reads_what_people_type(text: str, at: datetime) -> None:
    assert parse_when(text, NOW) == at


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "7x", "999999w"])
def test_when_refuses_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="no time"):
        parse_when(text, NOW)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, ""),
        (0, "0 ms"),
        (999, "999 ms"),
        (1500, "1.5 s"),
        (59_900, "59.9 s"),
        (125_000, "2 m 05 s"),
        (3_840_000, "1 h 04 m"),
    ],
)
def test_duration_is_short(ms: int | None, text: str) -> None:
    assert duration(ms) == text


def test_stamp_is_utc() -> None:
    assert stamp(datetime.fromisoformat("2026-03-01T12:00:00+08:00")) == "2026-03-01 04:00"

"""A timeline's rows as lines for a terminal."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import events as ev
from runtime.cli.plain import cells
from runtime.cli.timeline import Row, Timeline, fold
from runtime.cli.timeline_numbers import left, money, tightest
from runtime.cli.timeline_text import Paper, live_lines, row_lines, tree_lines
from runtime.usage import Usage
from tests.runtime.cli.timelines import BEGAN, call, finished, gauge, numbered, started, stopped, usual

NARROW = Paper(80, colour=False)
WIDE = Paper(130, colour=False)
texts = st.text(st.characters(codec="utf-8"), max_size=60)
amounts = st.integers(0, 99_999) | st.integers(0, 10**12)
rows = st.builds(
    Row,
    seq=st.just(1),
    kind=st.sampled_from(["node", "call", "tool", "memory", "note", "warning", "stop", "error", "admin"]),
    depth=st.integers(1, 5),
    at=st.just(BEGAN),
    offset_ms=st.integers(0, 10**10),
    node_id=st.none() | texts,
    step=st.none() | st.integers(1, 1000),
    what=texts,
    text=texts,
    state=st.sampled_from(["done", "running", "failed", "waiting", "skipped", "cancelled"]),
    ms=st.none() | st.integers(0, 10**12),
    usage=st.none() | st.builds(Usage, amounts, amounts, amounts, amounts),
    cost=st.none() | st.integers(0, 10**15),
    gauges=st.just(()) | st.builds(lambda used: (gauge(used, limit=10**14),), st.integers(0, 10**13)),
    remedy=st.none() | texts,
)


@given(rows, st.integers(80, 200), st.booleans())
def test_row_never_passes_the_edge_of_the_terminal(row: Row, width: int, caches: bool) -> None:
    paper = Paper(width, colour=False, caches=caches)
    for line in [*row_lines(row, paper), *live_lines(row, paper)]:
        assert cells(line) <= width
        assert "\n" not in line


@given(st.lists(st.builds(Usage, amounts, amounts, amounts, amounts), min_size=2, max_size=6))
def test_numbers_stand_below_each_other(used: list[Usage]) -> None:
    shown = [
        Row(seq=1, kind="call", depth=2, at=BEGAN, step=i, usage=usage, cost=i, gauges=(gauge(i),))
        for i, usage in enumerate(used)
    ]
    lines = [line for row in shown for line in row_lines(row, NARROW)]
    assert len({line.index("→") for line in lines}) == 1
    assert len({len(line) for line in lines}) == 1


def test_tree_shows_tokens_cost_and_what_is_left_of_a_step() -> None:
    lines = tree_lines(fold(numbered(usual())), NARROW)
    assert lines[0] == "run 1 · completed · 1.7 s · local:small · 2,512 tokens · $0.002"
    step = next(line for line in lines if "step 1" in line)
    words = ["0.01s", "step", "1", "asks", "for", "memory…", "1,200→56", "400", "$0.001000", "$0.499"]
    assert step.split() == words


def test_tree_ends_a_run_with_its_budgets() -> None:
    last = tree_lines(fold(numbered(usual())), WIDE)[-1]
    assert last == "  daily: $0.498 left, used $0.002 of $0.50 today"


def test_tree_tells_a_stop_in_full() -> None:
    text = " ".join(" ".join(tree_lines(fold(numbered(stopped())), NARROW)).split())
    assert "▲ warning helper: The budget 'daily' is nearly used up: daily $0.41 of $0.50 today." in text
    assert "■ STOPPED helper: The budget 'daily' is used up: daily $0.52 of $0.50 today." in text
    assert "do: Raise its limit." in text


def test_tree_tells_the_error_of_a_run_in_full_once() -> None:
    error = ev.CallError(code="model.auth", message="The key was refused. " * 6, remedy="Mend the key.")
    shown = tree_lines(fold(numbered([*started(), *finished(5, state="failed", error=error)])), NARROW)
    text = " ".join(" ".join(shown).split())
    assert "■ error The key was refused. The key was refused. The key was refused. The key was" in text
    assert text.count("do: Mend the key.") == 1
    stop = " ".join(" ".join(tree_lines(fold(numbered(stopped())), NARROW)).split())
    assert stop.count("is used up") == 1


def test_tree_says_unknown_where_no_cost_is_known() -> None:
    lines = tree_lines(fold(numbered([*started(), *call(1, 1, cost=None)])), NARROW)
    assert any("unknown" in line and "step 1" in line for line in lines)


def test_cached_tokens_have_a_column_where_there_are_any() -> None:
    with_cache = tree_lines(fold(numbered(usual())), NARROW)
    assert any("cached" in line for line in with_cache)
    without = [
        msgspec.structs.replace(event, usage=Usage(5)) if isinstance(event, ev.AgentUsage) else event
        for event in usual()
    ]
    assert not any("cached" in line for line in tree_lines(fold(numbered(without)), NARROW))


def test_live_shows_steps_tools_and_stops_but_no_plumbing() -> None:
    timeline = Timeline()
    lines = [
        line
        for seq, event in numbered(usual())
        for row in timeline.add(seq, event)
        for line in live_lines(row, WIDE)
    ]
    assert [line.split()[1:4] for line in lines] == [
        ["helper", "step", "1"],
        ["helper", "→", "memory_read"],
        ["helper", "step", "2"],
    ]


@pytest.mark.parametrize(
    ("nanos", "shown"),
    [(0, "$0.000000"), (1, "$0.000001"), (1_234_500, "$0.001235"), (10**12, "$1,000.00")],
)
def test_money_has_six_digits_and_never_looks_freer_than_it_was(nanos: int, shown: str) -> None:
    assert money(nanos) == shown


def test_tightest_is_the_budget_with_the_smallest_part_left() -> None:
    tokens = ev.Gauge(budget="t", pot="t", metric="tokens", period="run", used=900, held=0, limit=1000)
    assert tightest([gauge(10_000_000), tokens, gauge(1, limit=None)]) is tokens
    assert left([gauge(10_000_000), tokens]) == "100 tk"
    assert (tightest([]), left([])) == (None, "")

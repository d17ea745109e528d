"""The command that a stop by a budget proposes does what it says when it is pasted into a shell."""

from __future__ import annotations

import json
import os
import re
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.calls import Whose
from runtime.calls.raising import raising_command
from runtime.cli.budget_changes import parse_amount
from runtime.events import Gauge
from runtime.ledger import Rule
from tests.runtime.cli.conftest import Farthing, Said

ODD = "o'hara $HOME; ls"


def flow(called: str, **budget: Any) -> str:
    document: dict[str, Any] = {
        "format": "farthing.flow/1",
        "id": f"id of {called}",
        "name": called,
        "nodes": [
            {"id": "question", "type": "input", "config": {}},
            {"id": "helper", "type": "agent", "config": {"instructions": "You help."}},
            {"id": "end", "type": "output", "config": {}},
        ],
        "edges": [{"source": "question", "target": "helper"}, {"source": "helper", "target": "end"}],
    }
    if budget:
        document["nodes"].append(
            {"id": "limit", "type": "budget", "config": {"metric": "tokens", "limit": 1, **budget}}
        )
        document["edges"].append({"source": "limit", "target": "helper", "target_port": "budget"})
    path = Path(f"{called}.json")
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def proposed(said: Said) -> list[str]:
    """The words of the command in what was said, as a shell reads them."""
    assert said.code == 3, said.err
    (command,) = re.findall(r"`farthing ([^`]*)`", said.err)
    return shlex.split(command)


def run(farthing: Farthing, *args: str) -> Said:
    """A run that is granted what it asks for."""
    said = farthing("run", *args)
    allow = re.search(r"--allow (\w{20,})", said.err)
    return farthing("run", *args, "--allow", allow[1]) if allow else said


def until_stopped(farthing: Farthing, *args: str) -> Said:
    """Two runs; the first uses more than the limit."""
    first = run(farthing, *args)
    return run(farthing, *args) if first.code == 0 else first


@pytest.mark.promise("BUD-21")
@pytest.mark.parametrize(
    ("budget", "args"),
    [
        ({"period": "daily"}, []),
        ({"period": "daily", "name": ODD}, ["--user", ODD]),
        ({"period": "lifetime", "name": "-n"}, ["--user", "-u"]),
        ({"period": "session"}, ["--session", ODD]),
        ({"period": "session"}, ["--session", "one", "--user", "ada"]),
        ({"period": "weekly", "pot": "shared:all"}, ["--user", "ada", "--db", f"{ODD}.db"]),
        ({"period": "monthly", "limit": 0}, []),
        ({"period": "daily", "limit": 30, "strict": True}, []),
        ({"period": "daily", "metric": "spend", "limit": "0"}, []),
        ({"period": "daily", "limit": 20, "threshold_pct": 50}, []),
        ({"period": "daily", "metric": "spend", "limit": "0.000001", "threshold_pct": 20}, []),
    ],
    ids=str,
)
def test_the_proposed_raise_lets_the_next_run_go_on(
    farthing: Farthing, folder: Path, budget: dict[str, Any], args: list[str]
) -> None:
    flow("other", **budget)
    db = args[args.index("--db") :] if "--db" in args else []
    run(farthing, "other.json", "Hi", "--user", "eve", *db)
    mine = [flow("mine", **budget), "Hi", *args]
    raised = farthing(*proposed(until_stopped(farthing, *mine)))
    assert raised.code == 0, raised.err
    for _ in range(2):  # the second begins with what the first has used
        after = run(farthing, *mine)
        assert after.code == 0 and "▲ warning" not in after.err, after.err


def test_the_proposed_raise_of_the_users_own_budget_is_not_that_of_a_flow(
    farthing: Farthing, folder: Path
) -> None:
    Path(os.environ["FARTHING_CONFIG"]).write_text(
        '[[budget]]\nname = "daily"\nmetric = "tokens"\nlimit = 1\n', encoding="utf-8"
    )
    same = flow("same", period="daily", name="daily", limit=10_000)
    words = proposed(until_stopped(farthing, same, "Hi", "--user", "ada"))
    assert words[2] == "settings/daily"
    assert farthing(*words).code == 0
    assert farthing("run", same, "Hi", "--user", "ada").code == 0
    plain = farthing("budget", "raise", "daily", "--to", "5", "--reason", "x", "--rehearsal")
    assert plain.code == 2
    assert "2 budgets are called 'daily', in the flow same and your settings." in plain.err
    assert "do: Give --flow same or settings/daily." in plain.err


def test_two_flows_with_one_name_of_a_budget_are_named_as_people_call_them(
    farthing: Farthing, folder: Path
) -> None:
    for name in ("first", "second"):
        farthing("run", flow(name, period="daily", name="daily", limit=10_000), "Hi")
    said = farthing("budget", "raise", "daily", "--to", "5", "--reason", "x", "--rehearsal")
    assert said.code == 2
    assert "2 budgets are called 'daily', in the flow first and the flow second." in said.err
    assert "do: Give --flow first or --flow second." in said.err


@pytest.mark.parametrize(
    ("rule", "whose"),
    [
        ({"period": "run", "pot": "f/b"}, Whose("ada", "f", "s", False)),
        (
            {"period": "lifetime", "pot": "limit/batch/1/tokens", "everyone": True},
            Whose("ada", "f", "s", False),
        ),
        ({"period": "session", "pot": "settings/b"}, Whose("ada", "f", "", False)),
    ],
)
def test_no_command_is_proposed_where_none_would_help(rule: dict[str, Any], whose: Whose) -> None:
    gauge = Gauge(budget="b", pot="f/b", metric="tokens", period="run", used=1, held=0, limit=1)
    assert raising_command(Rule(name="b", metric="tokens", limit=1, **rule), gauge, whose) is None


@given(
    metric=st.sampled_from(["tokens", "spend"]),
    limit=st.integers(0, 10**12),
    over=st.integers(0, 10**12),
    step=st.integers(0, 10**9),
    percent=st.none() | st.decimals(10, 100, places=2),
)
def test_what_is_proposed_leaves_room_for_the_next_step_beyond_every_threshold(
    metric: Any, limit: int, over: int, step: int, percent: Decimal | None
) -> None:
    used = limit + over
    rule = Rule(name="b", pot="f/b", metric=metric, period="daily", limit=limit, threshold_pct=percent)
    gauge = Gauge(budget="b", pot="f/b", metric=metric, period="daily", used=used, held=0, limit=limit)
    command = raising_command(rule, gauge, Whose("ada", "f", "s", False), 0, step)
    words = shlex.split(command or "")
    new = parse_amount(rule, words[words.index("--to") + 1])
    assert new >= 2 * limit and new > used + step
    assert percent is None or (used + step) * 100 < percent * new


def test_a_threshold_of_one_percent_proposes_no_limit_of_a_hundred_times() -> None:
    rule = Rule(name="b", pot="f/b", metric="tokens", period="daily", limit=1000, threshold_pct=Decimal(1))
    gauge = Gauge(budget="b", pot="f/b", metric="tokens", period="daily", used=1000, held=0, limit=1000)
    assert " --to 10001 " in (raising_command(rule, gauge, Whose("ada", "f", "s", False)) or "")

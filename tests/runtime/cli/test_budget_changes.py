"""Limits changed by hand are rows with who and why; totals never fall."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.runtime.cli.conftest import Farthing

Write = Callable[..., str]
USED = {"input": 1000, "output": 100}
WHERE = ("--user", "ada", "--rehearsal")


@pytest.fixture
def spent(farthing: Farthing, write_flow: Write) -> Farthing:
    """Ada has spent the whole of her daily budget."""
    flow = write_flow({"text": "Hello.", "usage": USED, "cost": "0.50"})
    assert farthing("run", flow, "hi", "--user", "ada").code == 0
    assert farthing("run", flow, "hi", "--user", "ada").code == 3
    return farthing


@pytest.mark.promise("BUD-20")
def test_reset_lets_the_next_run_go_on_and_changes_no_sum(spent: Farthing) -> None:
    before = spent("spend", "--rehearsal", "--json").json["total"]
    said = spent("budget", "reset", "daily", *WHERE, "--reason", "a test", "--actor", "Mia")
    assert said.code == 0
    first, second = said.out.splitlines()
    assert "$0.50 of $0.50" in first
    assert "$0.00 of $0.50" in second and "counted anew" in second
    assert spent("spend", "--rehearsal", "--json").json["total"] == before
    assert spent("run", "greeter.json", "hi", "--user", "ada").code == 0
    (shown,) = [b for b in spent("budget", "show", *WHERE, "--json").json if b["budget"] == "daily"]
    assert shown["used"] == "0.5"
    assert spent("spend", "--rehearsal", "--json").json["total"]["calls"] == 2


def test_history_says_who_changed_what_when_and_why(spent: Farthing) -> None:
    assert spent("budget", "show", "--history", *WHERE).err == "No limit was ever changed.\n"
    spent("budget", "reset", "daily", *WHERE, "--reason", "a test", "--actor", "Mia")
    spent("budget", "raise", "daily", "--to", "2", "--for-good", *WHERE, "--reason", "more", "--actor", "Max")
    found = spent("budget", "show", "--history", *WHERE, "--json").json
    assert [(each["action"], each["actor"], each["reason"], each["for_good"]) for each in found] == [
        ("raise", "Max", "more", True),
        ("reset", "Mia", "a test", False),
    ]
    assert found[1]["amount"] == 500_000_000
    table = spent("budget", "show", "--history", *WHERE).out
    assert "limit $2.00 for good" in table and "reset at $0.50" in table
    assert spent("budget", "show", "--history", "--user", "eve", "--rehearsal", "--json").json == []
    assert spent("budget", "show", "--history", "--flow", "greeter", "--rehearsal", "--json").json == found
    none = spent("budget", "show", "--history", "--flow", "greter", "--rehearsal", "--json")
    assert none.code == 2 and "No flow 'greter' was run here.\n  do: Did you mean greeter?" in none.err


def test_reset_needs_a_reason_and_a_budget(spent: Farthing) -> None:
    assert spent("budget", "reset", "daily", *WHERE).code == 2
    assert spent("budget", "reset", "daily", *WHERE, "--reason", " ").code == 2
    assert spent("budget", "reset", "none", *WHERE, "--reason", "x").code == 2

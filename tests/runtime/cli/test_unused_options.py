"""An option that would do nothing beside another is refused in one sentence, and nothing is done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.cli.conftest import Farthing

Write = Callable[..., str]
RAISE = ("--to", "9", "--reason", "why", "--rehearsal")


@pytest.mark.promise("CLI-16")
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("events", "--schema", "--step", "2"), "--step does nothing with --schema."),
        (("events", "monday", "--schema"), "SESSION does nothing with --schema."),
        (("events", "--html", "x.html", "--json"), "--json does nothing with --html."),
        (("events", "--html", "x.html", "--csv"), "--csv does nothing with --html."),
        (("budget", "show", "--history", "--all"), "--all does nothing with --history."),
        (("budget", "show", "--history", "--session", "x"), "--session does nothing with --history."),
        (("doctor", "--user", "ada"), "--user does nothing without --test-model."),
        (
            ("memory", "consolidate", "--user", "ada", "--limit", "tokens=5"),
            "--limit does nothing without --with-model.",
        ),
        (
            ("memory", "consolidate", "--user", "ada", "--execute", "--model", "local:m"),
            "--model does nothing without --with-model.",
        ),
        (("new", "a", "--to", "-", "--force"), "--force does nothing with --to -."),
        (("spend", "--rows", "--by", "user"), "--by does nothing with --rows."),
        (("facts", "erase", "k", "--receipt", "r.json"), "--receipt does nothing without --yes."),
        (("studio", "flows", "--link"), "FOLDER does nothing with --link."),
        (("studio", "--link", "--no-open"), "--no-open does nothing with --link."),
        (
            ("run", "example:support", "--batch", "b.jsonl", "--retry-failed"),
            "--retry-failed does nothing without --out.",
        ),
    ],
    ids=" ".join,
)
def test_an_option_that_would_do_nothing_is_refused(
    farthing: Farthing, folder: Path, args: tuple[str, ...], says: str
) -> None:
    said = farthing(*args)
    assert (said.code, said.out) == (2, "")
    called = says.split()[0]
    assert said.err == f"error: {says}\n  do: Leave {called} out.\n"
    assert not list(folder.glob("*.html")) and not list(folder.glob("r.json"))


@pytest.fixture
def budgets(farthing: Farthing, folder: Path) -> Farthing:
    """A flow that was run once, with a budget of each kind."""
    periods = {"each-run": "run", "talk": "session", "daily": "daily"}
    nodes: list[dict[str, Any]] = [
        {"id": "question", "type": "input", "config": {}},
        {"id": "helper", "type": "agent", "config": {"instructions": "You help."}},
        {"id": "end", "type": "output", "config": {}},
    ]
    edges = [{"source": "question", "target": "helper"}, {"source": "helper", "target": "end"}]
    for number, (name, period) in enumerate(periods.items()):
        config = {"name": name, "metric": "tokens", "period": period, "limit": 10_000}
        nodes.append({"id": f"b{number}", "type": "budget", "config": config})
        edges.append({"source": f"b{number}", "target": "helper", "target_port": "budget"})
    document = {"format": "farthing.flow/1", "id": "f", "name": "f", "nodes": nodes, "edges": edges}
    (folder / "f.json").write_text(json.dumps(document))
    assert farthing("run", "f.json", "Hi", "--session", "one").code == 0
    return farthing


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("daily", ("--run", "x"), "--run does nothing for the budget 'daily', which counts daily for"),
        ("daily", ("--session", "one"), "--session does nothing for the budget 'daily'"),
        ("talk", ("--session", "one", "--run", "x"), "--run does nothing for the budget 'talk', which"),
        ("each-run", ("--run", "x", "--session", "one"), "--session does nothing for the budget 'each-run'"),
        ("each-run", ("--run", "x", "--user", "ada"), "--user does nothing for the budget 'each-run'"),
        ("each-run", ("--run", "x"), "There is no run 'x'."),
    ],
)  # fmt: skip
def test_a_budget_is_not_raised_with_what_says_nothing_about_it(
    budgets: Farthing, name: str, args: tuple[str, ...], says: str
) -> None:
    for change in (("raise", name, *RAISE), ("reset", name, *RAISE[2:])):
        said = budgets("budget", *change, *args)
        assert said.code == 2 and says in said.err and "do:" in said.err and not said.out
    assert budgets("budget", "show", "--history", "--rehearsal").err == "No limit was ever changed.\n"


def test_a_budget_of_all_users_together_has_no_user(budgets: Farthing) -> None:
    settings = "[[budget]]\nname = 'team'\nlimit = 5\nfor = 'all_users_together'\n"
    Path(os.environ["FARTHING_CONFIG"]).write_text(settings)
    said = budgets("budget", "raise", "team", *RAISE, "--user", "ada")
    assert said.code == 2 and "--user does nothing for the budget 'team', which counts all users" in said.err
    assert budgets("budget", "raise", "team", *RAISE).code == 0


def test_a_budget_of_a_run_is_raised_by_its_id(budgets: Farthing) -> None:
    events = budgets("events", "one", "--rehearsal", "--json").out.splitlines()
    run_id = json.loads(events[1])["run_id"]
    said = budgets("budget", "raise", "each-run", "--run", run_id, *RAISE)
    assert said.code == 0 and "9 tokens" in said.out

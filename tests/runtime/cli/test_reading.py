"""What was run, read again: events, sessions, spend, facts, budgets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from runtime.cli.find import find_session, newer_rehearsal
from runtime.events import event_types
from tests.runtime.cli.conftest import Farthing
from tests.runtime.store.support import open_scene

Write = Callable[..., str]
USED = {"input": 1000, "cached": 400, "output": 100, "reasoning": 20}


@pytest.fixture
def ran(farthing: Farthing, write_flow: Write) -> Farthing:
    """Two sessions were run: Ada's with a memory write, and Bob's with an unknown cost."""
    flow = write_flow(
        {
            "if": "Ada",
            "tool_calls": [{"name": "memory_write", "arguments": {"key": "name", "value": "=Ada\x1b[2J"}}],
            "usage": USED,
            "cost": "0.01",
        },
        {"if": "Ada", "text": "Hello, Ada.", "usage": USED, "cost": "0.02"},
        {"text": "Hello.", "usage": USED, "cost": None},
    )
    assert farthing("run", flow, "I am Ada", "--session", "monday", "--user", "ada").code == 0
    assert farthing("run", flow, "I am Bob", "--session", "tuesday", "--user", "bob").code == 0
    return farthing


# -- events


def test_events_shows_a_row_a_step_with_tokens_cost_and_budget_left(ran: Farthing) -> None:
    said = ran("events", "monday")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == "session monday · flow greeter"
    assert lines[1].startswith("user ada · rehearsal · 1 run, ")
    step = next(line for line in lines if "step 2" in line)
    assert step.split()[-5:] == ["Ada.", "1,000→100", "400", "$0.020000", "$0.47"]
    assert lines[-1].strip().startswith("daily: $0.47 left, used $0.03 of $0.50 today")


@pytest.mark.promise("CLI-9")
def test_events_without_a_session_shows_the_latest(ran: Farthing) -> None:
    assert ran("events").out.startswith("session tuesday ·")


@pytest.mark.promise("CLI-9")
def test_events_of_a_name_that_fits_several_lists_them(ran: Farthing, write_flow: Write) -> None:
    ran("run", write_flow({"text": "Hello."}), "hi", "--session", "monday", "--user", "eve")
    said = ran("events", "monday")
    assert said.code == 2
    assert "2 sessions are called 'monday'" in said.err
    assert "user ada" in said.err and "user eve" in said.err
    assert ran("events", "monday", "--user", "ada").code == 0


def test_events_takes_an_id_and_the_beginning_of_one(ran: Farthing) -> None:
    uid = ran("sessions", "--rehearsal", "--user", "ada", "--json").json[0]["uid"]
    assert ran("events", uid).out == ran("events", "monday").out
    assert ran("events", uid[:23] + "…").out.splitlines()[0].startswith("session ")


def test_events_says_that_it_shows_a_rehearsal(ran: Farthing) -> None:
    assert "rehearsal" in ran("events", "monday").err
    assert ran("events", "monday", "--rehearsal").err == ""


async def test_a_rehearsal_that_is_newer_than_the_real_session_shown_is_noticed() -> None:
    scene = await open_scene(None)
    await scene.claim("run-1", "s1", partition="rehearsal")
    scene.clock.advance(60)
    await scene.claim("run-2", "s2")
    real = await find_session(scene.record, None)
    assert real.name == "s2"
    assert not await newer_rehearsal(scene.record, real)
    scene.clock.advance(60)
    await scene.claim("run-3", "s3", partition="rehearsal")
    real = await find_session(scene.record, None)
    assert real.name == "s2"
    assert await newer_rehearsal(scene.record, real)
    assert not await newer_rehearsal(scene.record, real, user_id="bob")
    await scene.record.close()


def test_events_json_is_an_event_a_line_without_gaps(ran: Farthing) -> None:
    events = [json.loads(line) for line in ran("events", "monday", "--json").out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "session.opened"
    assert events[-1]["type"] == "run.finished"
    after = ran("events", "monday", "--json", "--after", "3").out.splitlines()
    assert [json.loads(line)["seq"] for line in after] == [event["seq"] for event in events[3:]]


def test_events_are_chosen_by_type_node_and_run(ran: Farthing) -> None:
    def types(*args: str) -> set[str]:
        out = ran("events", "monday", "--json", *args).out
        return {json.loads(line)["type"] for line in out.splitlines()}

    assert types("--type", "budget") == {"budget.reserved", "budget.settled"}
    assert types("--type", "agent.usage", "--type", "tool.request") == {"agent.usage", "tool.request"}
    assert types("--node", "question") == {"node.started", "node.finished"}
    run_id = json.loads(ran("events", "tuesday", "--json").out.splitlines()[-1])["run_id"]
    assert types("--run", run_id) == set()
    assert ran("events", "--run", run_id).out.startswith("session tuesday")


def test_events_follow_of_a_run_that_has_ended_ends(ran: Farthing) -> None:
    run_id = json.loads(ran("events", "monday", "--json").out.splitlines()[-1])["run_id"]
    assert ran("events", "--run", run_id, "--follow", "--json").out.count("\n") > 10
    followed = ran("events", "--run", run_id, "--follow").out
    assert "step 2" in followed
    assert "completed" in followed


@pytest.mark.promise("CLI-6")
def test_events_spell_out_what_a_model_wrote(ran: Farthing) -> None:
    assert "\x1b" not in ran("events", "monday").out


def test_events_schema_has_every_type_with_an_example_that_reads(farthing: Farthing) -> None:
    found = farthing("events", "--schema", "--json").json["types"]
    assert list(found) == list(event_types())
    for name, about in found.items():
        event = msgspec.convert(about["example"], event_types()[name], strict=False)
        assert about["about"] and event is not None
        assert set(about["required"]) <= set(about["fields"])
    assert "agent.usage" in farthing("events", "--schema").out


def test_events_of_nobody_says_how_to_make_some(farthing: Farthing) -> None:
    said = farthing("events")
    assert (said.code, said.out) == (2, "")
    assert "farthing run" in said.err


# -- sessions


def test_sessions_hides_rehearsals_and_says_how_many(ran: Farthing) -> None:
    said = ran("sessions")
    assert said.out == ""
    assert "2 rehearsal sessions hidden; --rehearsal shows them." in said.err


def test_sessions_lists_the_latest_first_with_cost(ran: Farthing) -> None:
    found = ran("sessions", "--rehearsal", "--json").json
    assert [line["session"] for line in found] == ["tuesday", "monday"]
    assert [line["cost"] for line in found] == [None, "0.03"]
    assert [line["unknown_cost"] for line in found] == [1, 0]
    table = ran("sessions", "--rehearsal").out
    assert "unknown" in table and "$0.03" in table
    assert [line["session"] for line in ran("sessions", "--rehearsal", "--user", "ada", "--json").json] == [
        "monday"
    ]


# -- spend


@pytest.mark.parametrize(
    "by", ["user", "flow", "model", "purpose", "day", "session", "run", "node", "user,model"]
)
def test_spend_sums_are_the_same_however_they_are_grouped(by: str, ran: Farthing) -> None:
    found = ran("spend", "--rehearsal", "--by", by, "--json").json
    assert found["total"]["usage"]["tokens"] == 3300
    assert sum(line["usage"]["tokens"] for line in found["lines"]) == 3300
    assert sum(Decimal(line["cost"] or 0) for line in found["lines"]) == Decimal("0.03")
    assert found["total"]["unknown_cost"] == 1


@pytest.mark.promise("LED-9")
def test_spend_is_what_the_budget_counts(ran: Farthing) -> None:
    spent = ran("spend", "--rehearsal", "--by", "user", "--json").json["lines"]
    shown = ran("budget", "show", "--rehearsal", "--json").json
    used = {each["owner"]: each["used"] for each in shown if each["budget"] == "daily"}
    assert {line["user"]: line["cost"] or "0" for line in spent} == used == {"ada": "0.03", "bob": "0"}


@pytest.mark.promise("BUD-13")
def test_spend_says_at_least_and_never_zero_for_unknown(ran: Farthing) -> None:
    table = ran("spend", "--rehearsal", "--by", "user").out.splitlines()
    assert table[1].startswith("ada") and table[1].endswith("$0.03")
    assert table[2].startswith("bob") and table[2].endswith("unknown")
    assert table[3].startswith("total") and table[3].endswith("at least $0.03")


def test_spend_hides_rehearsals_and_says_how_many_calls(ran: Farthing) -> None:
    said = ran("spend")
    assert said.out == ""
    assert "3 rehearsal calls hidden" in said.err


@pytest.mark.promise("LED-9")
def test_spend_rows_sum_to_the_sums(ran: Farthing) -> None:
    rows = ran("spend", "--rehearsal", "--rows", "--json").json
    settled = [row for row in rows if row["kind"] == "settle"]
    assert sum(row["input"] + row["output"] for row in settled) == 3300
    assert sum(Decimal(row["cost"] or 0) for row in settled) == Decimal("0.03")
    table = list(csv.DictReader(io.StringIO(ran("spend", "--rehearsal", "--rows", "--csv").out)))
    assert [row["id"] for row in table] == [str(row["id"]) for row in rows]
    assert "settle" in ran("spend", "--rehearsal", "--rows").out


def test_spend_takes_times(ran: Farthing) -> None:
    assert ran("spend", "--rehearsal", "--since", "1d", "--json").json["total"]["calls"] == 3
    assert ran("spend", "--rehearsal", "--until", "1d", "--json").json["total"]["calls"] == 0


# -- facts


@pytest.mark.promise("CLI-6")
def test_facts_are_listed_and_exported_without_formulas(ran: Farthing) -> None:
    assert "\x1b" not in ran("facts", "--rehearsal").out
    (row,) = csv.DictReader(io.StringIO(ran("facts", "--rehearsal", "--csv").out))
    assert (row["key"], row["value"], row["owner"], row["origin"]) == ("name", "'=Ada\x1b[2J", "ada", "model")
    (fact,) = ran("facts", "--rehearsal", "--json").json
    assert fact["value"] == "=Ada\x1b[2J"


def test_facts_set_keeps_former_versions_with_who_wrote_them(ran: Farthing) -> None:
    where = ("--rehearsal", "--user", "ada")
    said = ran("facts", "set", "name", "Ada Lovelace", *where, "--actor", "clerk")
    assert (said.code, said.out) == (0, "")
    assert "replaced, version 2" in said.err
    versions = ran("facts", "history", "name", *where, "--json").json
    assert [(v["version"], v["value"], v["state"], v.get("actor")) for v in versions] == [
        (1, "=Ada\x1b[2J", "superseded", None),
        (2, "Ada Lovelace", "current", "clerk"),
    ]
    assert "clerk" in ran("facts", "history", "name", *where).out


def test_facts_values_are_json_where_they_plainly_are(ran: Farthing) -> None:
    where = ("--rehearsal", "--user", "ada")
    ran("facts", "set", "visits", "3", *where)
    ran("facts", "set", "nothing", "null", *where)
    values = {fact["key"]: fact["value"] for fact in ran("facts", *where, "--json").json}
    assert (values["visits"], values["nothing"]) == (3, None)
    assert "(empty)" in ran("facts", *where).out


def test_facts_forget_leaves_history_and_an_event(ran: Farthing) -> None:
    where = ("--rehearsal", "--user", "ada")
    assert ran("facts", "forget", "name", *where, "--actor", "clerk").code == 0
    assert ran("facts", *where, "--json").json == []
    assert ran("facts", "history", "name", *where, "--json").json[-1]["state"] == "forgotten"
    assert ran("facts", "forget", "name", *where).code == 2
    told = [json.loads(line) for line in ran("events", "@admin", "--user", "ada", "--json").out.splitlines()]
    assert (told[-1]["type"], told[-1]["actor"]) == ("memory.forgotten", "clerk")


def test_facts_set_needs_to_know_where(farthing: Farthing) -> None:
    said = farthing("facts", "set", "name", "Ada")
    assert said.code == 2
    assert "--flow" in said.err
    assert farthing("facts", "set", "name", "Ada", "--namespace", "shop").code == 0
    (fact,) = farthing("facts", "--json").json
    assert (fact["namespace"], fact["scope"], fact["owner"]) == ("shop", "user", "local")


def test_facts_action_that_is_not_there_is_refused(farthing: Farthing) -> None:
    said = farthing("facts", "lst")
    assert said.code == 2
    assert "list, history, set, forget" in said.err


# -- budgets


def test_budget_show_lists_the_users_own(farthing: Farthing) -> None:
    (shown,) = farthing("budget", "show", "--json").json
    assert (shown["budget"], shown["limit"], shown["used"], shown["owner"]) == (
        "default-daily",
        "5",
        "0",
        "local",
    )
    assert "default-daily" in farthing("budget").out


def test_budget_show_tells_flows_apart_and_shows_a_sessions_own(farthing: Farthing) -> None:
    for flow in ("support", "chat"):
        said = farthing("run", f"example:{flow}", "hi", "--user", "ada", "--session", flow)
        assert said.code == 0
    table = farthing("budget", "show", "--rehearsal").out
    assert "example-support" in table and "example-chat" in table and "session_tokens" not in table
    (shown,) = farthing("budget", "show", "--rehearsal", "--session", "chat", "--json").json
    assert (shown["budget"], shown["period"], shown["flow_id"]) == (
        "session_tokens",
        "session",
        "example-chat",
    )
    (line,) = farthing("sessions", "--rehearsal", "--flow", "example-chat", "--json").json
    assert shown["owner"] == line["uid"]
    said = farthing("budget", "show", "--rehearsal", "--session", "none")
    assert said.code == 2 and "none" in said.err


def test_budget_show_of_a_flow_file_needs_no_run(farthing: Farthing, write_flow: Write) -> None:
    (shown,) = farthing("budget", "show", "--flow", write_flow(), "--user", "ada", "--json").json
    assert (shown["budget"], shown["limit"], shown["flow_id"]) == ("daily", "0.5", "flow-1")


@pytest.mark.promise("BUD-17")
def test_budget_raise_lets_the_next_step_go_on_and_is_a_row(
    farthing: Farthing, write_flow: Write, folder: Path
) -> None:
    flow = write_flow({"text": "One.", "cost": "0.60"})
    assert farthing("run", flow, "hi", "--user", "ada").code == 0
    (folder / "greeter.script.json").unlink()
    assert farthing("run", flow, "hi", "--user", "ada").code == 3
    why = ("--reason", "end of month", "--actor", "clerk")
    said = farthing("budget", "raise", "daily", "--to", "2.00", "--user", "ada", "--rehearsal", *why)
    assert said.code == 0
    before, after = said.out.splitlines()
    assert "$0.60 of $0.50 today" in before
    assert "$0.60 of $2.00 today" in after and "$1.40 left (for this period)" in after
    assert farthing("run", flow, "hi", "--user", "ada").code == 0
    assert farthing("run", flow, "hi", "--user", "bob").code == 0
    (row,) = [r for r in farthing("spend", "--rehearsal", "--rows", "--json").json if r["kind"] == "raise"]
    assert (row["actor"], row["reason"], row["amount"]) == ("clerk", "end of month", 2_000_000_000)
    told = [
        json.loads(line) for line in farthing("events", "@admin", "--json", "--user", "ada").out.splitlines()
    ]
    assert (told[-1]["type"], told[-1]["previous"], told[-1]["amount"]) == (
        "budget.changed",
        500_000_000,
        2_000_000_000,
    )


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("daily", "--to", "lots", "--reason", "r"), "--to"),
        (("daily", "--to", "-1", "--reason", "r"), "--to"),
        (("dayly", "--to", "1", "--reason", "r"), "daily"),
        (("daily", "--to", "1", "--reason", " "), "reason"),
    ],
)
def test_budget_raise_refuses_in_a_sentence(
    args: tuple[str, ...], word: str, farthing: Farthing, write_flow: Write
) -> None:
    said = farthing("budget", "raise", *args, "--flow", write_flow())
    assert said.code == 2
    assert word in said.err

"""The gate: what passes gets an end, what says the same of the same subject is retired, use is counted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from runtime.testing import Bench, Ran, run_flow
from tests.flows import agent_flow, calls, flow, node, says


async def written(arguments: dict[str, Any], **gate: Any) -> Ran:
    document = agent_flow(memory={"write": gate})
    return await run_flow(document, "go", script=[calls("memory_write", arguments), says("x")], strict=True)


@pytest.mark.promise("MEM-14")
async def test_what_will_not_hold_for_long_gets_an_end() -> None:
    ran = await written({"key": "mood", "value": "tired today"})
    (event,) = ran.of("memory.write")
    assert event.valid_to - event.at == timedelta(days=1)
    assert ran.of("tool.response")[0].result["until"] == event.valid_to.isoformat()
    ran = await written({"key": "mood", "value": "tired today"}, transient_ttl_s=60)
    (event,) = ran.of("memory.write")
    assert event.valid_to - event.at == timedelta(minutes=1)


async def test_an_end_that_was_given_stands() -> None:
    ran = await written({"key": "mood", "value": "tired today", "ttl": 5})
    (event,) = ran.of("memory.write")
    assert event.valid_to - event.at == timedelta(seconds=5)
    assert "until" not in ran.of("tool.response")[0].result


async def test_it_may_be_refused_or_kept_instead() -> None:
    ran = await written({"key": "mood", "value": "tired today"}, transient="refuse")
    assert ran.of("memory.write") == []
    assert ran.of("memory.refused")[0].code == "memory.transient"
    ran = await written({"key": "mood", "value": "tired today", "ttl": 5}, transient="refuse")
    assert ran.of("memory.write")[0].outcome == "created"
    ran = await written({"key": "mood", "value": "tired today"}, transient="keep")
    assert ran.of("memory.write")[0].valid_to is None


@pytest.mark.promise("MEM-14")
async def test_a_statement_retires_what_said_the_same_of_the_same_subject() -> None:
    document = agent_flow(memory={})
    statements = [
        {"key": "diet", "value": "likes ramen", "subject": "Ann", "attribute": "ramen"},
        {"key": "boss", "value": "likes ramen", "subject": "Bob", "attribute": "ramen"},
        {"key": "food", "value": "cannot stand ramen", "subject": " ann", "attribute": "RAMEN"},
    ]
    script = [*(calls("memory_write", each) for each in statements), calls("memory_read", {}), says("x")]
    ran = await run_flow(document, "go", script=script, strict=True)
    *_, third, read = ran.of("tool.response")
    assert third.result["outcome"] == "replaced"
    assert third.result["replaces"] == "diet"
    assert ran.of("memory.write")[2].keys == ("food", "diet")
    assert read.result == {"facts": {"boss": "likes ramen", "food": "cannot stand ramen"}}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"subject": "Ann"}, "memory.bad_subject"),
        ({"attribute": "diet"}, "memory.bad_subject"),
        ({"subject": " ", "attribute": "diet"}, "memory.bad_subject"),
        ({"subject": "x" * 121, "attribute": "diet"}, "memory.bad_subject"),
        ({"subject": "a\u202e", "attribute": "diet"}, "memory.bad_subject"),
        (
            {"subject": "me", "attribute": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"},
            "memory.credential",
        ),
    ],
)
async def test_subject_and_attribute_are_checked(more: dict[str, Any], code: str) -> None:
    ran = await written({"key": "k", "value": "v", **more})
    assert ran.of("memory.refused")[0].code == code
    ran = await written({"key": "k", "value": "v", "subject": 1, "attribute": 2})
    assert ran.of("tool.response")[0].error.code == "tool.bad_arguments"


async def test_a_conflict_is_noted_on_the_timeline_and_to_the_model() -> None:
    def outside() -> str:
        """Something from outside."""
        return "obey"

    document = flow(
        [
            node("start", "input"),
            node("a", "agent", max_iterations=6),
            node("notes", "memory", scope="user"),
            node("web", "tool", function="outside", effect="none"),
            node("end", "output"),
        ],
        [("start", "a"), ("a", "end"), ("notes", "a", "memory"), ("web", "a", "tool")],
    )
    async with Bench(tools=[outside]) as bench:
        first = calls("memory_write", {"key": "k", "value": "mine"})
        await bench.run(document, "go", script=[first, says("x")], strict=True)
        other = calls("memory_write", {"key": "k", "value": "theirs"})
        ran = await bench.run(document, "go", script=[calls("outside", {}), other, says("x")], strict=True)
        assert ran.of("memory.write")[0].outcome == "conflict"
        assert "conflicts" in ran.of("tool.response")[1].result["note"]
        after = await bench.run(document, "go", script=[says("x")])
    assert '"mine"' in (after.requests[0].messages[0].content or "")
    assert "theirs" not in (after.requests[0].messages[0].content or "")


async def test_a_fact_that_is_sent_or_read_counts_once_a_run() -> None:
    document = agent_flow(memory={"scope": "user", "injection": {"tokens": 60}})
    async with Bench() as bench:
        write = [
            calls("memory_write", {"key": "short", "value": "tea"}),
            calls("memory_write", {"key": "vast", "value": "word " * 200}),
        ]
        await bench.run(document, "a", script=[*write, says("x")], strict=True)
        (shelf,) = [found for found, _ in await bench.record.shelves("rehearsal")]
        found = await bench.record.accesses(shelf)
        assert {key: access.hits for key, access in found.items()} == {"short": 1}
        await bench.run(document, "b", script=[says("x")])
        read = calls("memory_read", {"keys": ["vast", "none"]})
        await bench.run(document, "c", script=[read, says("x")], strict=True)
        found = await bench.record.accesses(shelf)
        assert {key: access.hits for key, access in found.items()} == {"short": 3, "vast": 1}
        assert found["vast"].at == bench.clock.now()

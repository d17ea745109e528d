"""Sessions, users and memory: what one run leaves for the next, and what nobody else ever sees."""

from __future__ import annotations

import pytest

from runtime.errors import BadInput
from runtime.testing import Bench, Ran, run_flow
from tests.flows import agent_flow, calls, says


def sent(ran: Ran) -> str:
    """Everything that the model was sent in a run."""
    return "\n".join(message.wire.decode() for request in ran.requests for message in request.messages)


@pytest.mark.promise("EVT-5")
async def test_equal_session_names_share_nothing_between_flows_and_users() -> None:
    first, second = agent_flow(memory={}, name="F"), agent_flow(memory={}, name="G")
    async with Bench() as bench:
        await bench.run(
            first,
            "one",
            script=[calls("memory_write", {"key": "codename", "value": "heron"}), says("noted")],
            session="Session 1",
        )
        mine = await bench.run(first, "two", script=[says("ok")], session="Session 1")
        assert "heron" in sent(mine)
        assert "noted" in sent(mine)
        for other in (
            await bench.run(second, "three", script=[says("ok")], session="Session 1"),
            await bench.run(first, "four", script=[says("ok")], session="Session 1", user="somebody"),
            await bench.run(first, "five", script=[says("ok")], session="Session 1", user=None),
        ):
            assert "heron" not in sent(other)
            assert "noted" not in sent(other)


async def test_facts_of_user_scope_follow_the_user_and_timelines_do_not() -> None:
    document = agent_flow(memory={"scope": "user"})
    async with Bench() as bench:
        await bench.run(
            document,
            "a",
            script=[calls("memory_write", {"key": "k", "value": "heron"}), says("noted")],
            session="one",
            user="ada",
        )
        other = await bench.run(document, "b", script=[says("ok")], session="two", user="ada")
        assert "heron" in sent(other)
        assert "noted" not in sent(other)
        stranger = await bench.run(document, "b", script=[says("ok")], session="two", user="eve")
        assert "heron" not in sent(stranger)


@pytest.mark.promise("MEM-4")
async def test_the_scopes_never_see_each_other() -> None:
    async with Bench() as bench:
        user = agent_flow(memory={"scope": "user"})
        session = agent_flow(memory={"scope": "session"})
        await bench.run(user, "a", script=[calls("memory_write", {"key": "k", "value": "heron"}), says("x")])
        assert "heron" not in sent(await bench.run(session, "b", script=[says("y")], session="fresh"))


async def test_facts_are_sent_in_every_context_mode() -> None:
    for mode in ({"mode": "none"}, {"mode": "full"}, {"mode": "buffer", "keep": 2}):
        document = agent_flow(agent={"context": mode}, memory={})
        async with Bench() as bench:
            await bench.run(
                document,
                "first",
                script=[calls("memory_write", {"key": "k", "value": "heron"}), says("noted")],
            )
            ran = await bench.run(document, "second", script=[says("y")])
            assert "heron" in (ran.requests[0].messages[0].content or "")
            assert ("first" in sent(ran)) == (mode["mode"] == "full")


@pytest.mark.promise("RUN-5")
async def test_only_completed_turns_are_history() -> None:
    document = agent_flow(budgets=[{"metric": "spend", "period": "daily", "limit": "1"}])
    async with Bench() as bench:
        await bench.run(document, "good", script=[says("fine", cost="0.1")])
        await bench.run(document, "bad", script=[{"error": {"kind": "auth", "message": "no"}}])
        ran = await bench.run(document, "now", script=[says("x", cost="2")])
        assert "good" in sent(ran)
        assert "bad" not in sent(ran)
        stopped = await bench.run(document, "stopped", script=[says("x")])
        assert stopped.outcome.exit_code == 3


@pytest.mark.promise("MEM-3")
async def test_writing_null_keeps_the_key_and_writing_again_replaces_kind_and_value() -> None:
    document = agent_flow(memory={})
    script = [
        calls("memory_write", {"key": "k", "value": "v", "kind": "profile"}),
        calls("memory_write", {"key": "k", "value": "v", "kind": "profile"}),
        calls("memory_write", {"key": "k", "value": None}),
        calls("memory_read", {"keys": ["k", "other"]}),
        says("x"),
    ]
    ran = await run_flow(document, "go", script=script, strict=True)
    assert [(event.outcome, event.version, event.kind) for event in ran.of("memory.write")] == [
        ("created", 1, "profile"),
        ("seen", 1, "profile"),
        ("replaced", 2, "fact"),
    ]
    assert ran.of("tool.response")[-1].result == {"facts": {"k": None}, "absent": ["other"]}


@pytest.mark.promise("MEM-8")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"key": "__plan", "value": 1}, "memory.reserved_key"),
        ({"key": "usage/x", "value": 1}, "memory.reserved_key"),
        ({"key": " ", "value": 1}, "memory.bad_key"),
        ({"key": "k", "value": "x" * 5000}, "memory.too_long"),
        ({"key": "k", "value": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"}, "memory.credential"),
        ({"key": "k", "value": 1, "kind": "summary"}, "memory.bad_kind"),
        ({"key": "k", "value": 1, "ttl": -1}, "memory.bad_ttl"),
    ],
)
async def test_the_gate_refuses_with_an_event_and_without_the_value(arguments: object, code: str) -> None:
    ran = await run_flow(
        agent_flow(memory={}), "go", script=[calls("memory_write", arguments), says("x")], strict=True
    )
    (refused,) = ran.of("memory.refused")
    assert refused.code == code
    assert ran.of("memory.write") == []
    assert ran.text == "x"


@pytest.mark.promise("MEM-9")
@pytest.mark.promise("MEM-5")
async def test_what_does_not_fit_is_skipped_and_reported() -> None:
    document = agent_flow(memory={"injection": {"tokens": 120}})
    async with Bench() as bench:
        writes = [
            calls("memory_write", {"key": "a_long", "value": "word " * 300}),
            calls("memory_write", {"key": "b_short", "value": "tea"}),
            says("x"),
        ]
        await bench.run(document, "go", script=writes, strict=True)
        ran = await bench.run(document, "again", script=[says("y")])
    bill = ran.of("context.assembled")[0]
    (left,) = bill.left_out
    assert (left.ref, left.why) == ("fact/a_long", "tokens")
    assert left.tokens > 120
    facts = next(section for section in bill.sections if section.name == "known_facts")
    assert [item.ref for item in facts.items] == ["fact/b_short"]
    assert facts.tokens <= 120


@pytest.mark.promise("RUN-11")
async def test_a_user_is_asked_for_where_one_is_needed() -> None:
    for document in (
        agent_flow(memory={"scope": "user"}),
        agent_flow(budgets=[{"metric": "tokens", "period": "daily", "limit": 5}]),
    ):
        with pytest.raises(BadInput) as found:
            await run_flow(document, "go", user=None)
        assert found.value.code == "run.needs_user"


async def test_expired_notes_are_neither_sent_nor_read() -> None:
    document = agent_flow(memory={})
    async with Bench() as bench:
        await bench.run(
            document,
            "a",
            script=[calls("memory_write", {"key": "k", "value": "heron", "ttl": 60}), says("x")],
        )
        assert "heron" in sent(await bench.run(document, "b", script=[says("y")]))
        bench.clock.advance(61)  # type: ignore[attr-defined]
        ran = await bench.run(document, "c", script=[calls("memory_read", {}), says("z")])
        assert "heron" not in (ran.requests[0].messages[0].content or "")
        assert ran.of("tool.response")[0].result == {"facts": {}}


async def test_the_stable_part_of_the_prompt_is_the_same_to_the_byte() -> None:
    document = agent_flow(
        agent={"instructions": "Be kind."}, memory={"blocks": [{"name": "b", "content": "c"}]}
    )
    async with Bench() as bench:
        await bench.run(document, "a", script=[calls("memory_write", {"key": "k", "value": "v"}), says("x")])
        one = await bench.run(document, "b", script=[says("y")])
        two = await bench.run(document, "c", script=[says("z")])
    first, second = one.requests[0], two.requests[0]
    assert [m.wire for m in first.messages] == [m.wire for m in second.messages[: len(first.messages)]]
    assert first.tools == second.tools


@pytest.mark.promise("MEM-6")
async def test_blocks_are_sent_whole_and_first_and_leave_facts_no_room_with_a_warning() -> None:
    block = {"name": "shop", "content": "word " * 400}
    document = agent_flow(memory={"blocks": [block], "injection": {"tokens": 300}})
    async with Bench() as bench:
        await bench.run(
            document, "a", script=[calls("memory_write", {"key": "k", "value": "heron"}), says("x")]
        )
        ran = await bench.run(document, "b", script=[says("y")])
    system = ran.requests[0].messages[0].content or ""
    assert block["content"].strip() in system
    assert "heron" not in system
    assert [(item.ref, item.why) for item in ran.of("context.assembled")[0].left_out] == [
        ("fact/k", "blocks")
    ]
    assert ran.of("agent.warning")[0].code == "memory.no_room"

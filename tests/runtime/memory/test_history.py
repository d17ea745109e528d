"""Units of a conversation and the windows that are cut between them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.memory.estimate import by_length
from runtime.memory.history import MessageLike, sendable, split_current, units, within
from runtime.memory.policies import Buffer, Recall, Summary


@dataclass(frozen=True)
class Call:
    id: str
    name: str = "look_up"


@dataclass(frozen=True)
class Line:
    role: str
    content: str | None = None
    tool_calls: tuple[Call, ...] = ()
    tool_call_id: str | None = None


def asks(*ids: str) -> Line:
    return Line("assistant", None, tuple(Call(id_) for id_ in ids))


def answers(id_: str) -> Line:
    return Line("tool", f"result of {id_}", tool_call_id=id_)


@st.composite
def conversations(draw: st.DrawFn) -> list[Line]:
    """A session of some turns, each with 0-3 parallel calls: some get no result, some a late one or two.

    Ids repeat between turns, as some servers number them anew in each reply.
    """
    lines = [Line("system", "rules")] if draw(st.booleans()) else []
    late: list[Line] = []
    for turn in range(draw(st.integers(1, 5))):
        lines += [Line("user", f"question {turn}"), *late]
        late = []
        ids = [f"c{n}" for n in range(draw(st.integers(0, 3)))]
        if ids:
            lines.append(asks(*ids))
            for id_ in draw(st.permutations(ids)):
                fate = draw(st.sampled_from(["answered", "cancelled", "late", "twice"]))
                lines += [answers(id_)] * {"answered": 1, "twice": 2}.get(fate, 0)
                late += [answers(id_)] * (fate == "late")
        if draw(st.booleans()):
            lines.append(Line("assistant", f"reply {turn}"))
        if draw(st.integers(0, 5)) == 0:
            lines.append(answers("nobody"))
    return lines


def assert_sendable(sent: tuple[MessageLike, ...]) -> None:
    open_calls: list[str] = []
    seen_other = False
    for message in sent:
        if message.role == "system":
            assert not seen_other, "system content comes first"
            continue
        seen_other = True
        if message.role == "tool":
            assert message.tool_call_id in open_calls, "a result follows its call"
            open_calls.remove(message.tool_call_id)
        else:
            assert not open_calls, "every call is answered before anything else is said"
            open_calls = [call.id for call in message.tool_calls]
    assert not open_calls


@given(conversations(), st.integers(1, 30))
def test_windows_never_orphan_a_call_or_a_result(lines: list[Line], size: int) -> None:
    history, current = split_current(lines)
    vectors = {i: (1.0, float(i)) for i in range(len(history))}
    windows: list[tuple[MessageLike, ...]] = [
        Buffer(keep=size).window(history).messages,
        Recall(keep_recent=size, k=2).window(history, vectors, (1.0, 0.0)).messages,
        within(history, size, by_length),
        Summary(threshold_chars=1, keep_last=size).window(history).messages,
    ]
    newest = next(line for line in reversed(lines) if line.role == "user")
    for window in windows:
        sent = sendable([*window, *current])
        assert_sendable(sent)
        assert newest in sent


@given(conversations(), st.integers(1, 30))
def test_summary_never_parts_a_call_from_its_result(lines: list[Line], size: int) -> None:
    history, current = split_current(lines)
    policy = Summary(threshold_chars=1, keep_last=size)
    request = policy.request(history)
    after = history if request is None else policy.accept(history, request, "short")
    assert_sendable(sendable([*after, *current]))
    if request is not None:
        for part in units(history):
            assert len(request.covers.intersection(part.indices)) in (0, len(part.indices))
        assert len(after) == len(history) - len(request.covers) + 1


@given(conversations(), st.integers(0, 40))
def test_within_keeps_the_newest_and_never_more_than_the_limit(lines: list[Line], limit: int) -> None:
    kept = within(lines, limit, by_length)
    assert sum(by_length(line.content or "") for line in kept) <= limit
    assert kept == tuple(m for part in units(lines) for m in part.messages)[-len(kept) or len(lines) * 9 :]


def test_an_unanswered_call_gets_an_answer_so_the_session_goes_on() -> None:
    sent = sendable([Line("user", "a"), asks("x", "y"), answers("y"), Line("user", "b")])
    assert [(m.role, m.tool_call_id) for m in sent] == [
        ("user", None),
        ("assistant", None),
        ("tool", "y"),
        ("tool", "x"),
        ("user", None),
    ]
    assert "No result" in (sent[3].content or "")


@pytest.mark.parametrize(
    "lines",
    [
        [answers("x")],
        [Line("user", "a"), answers("x")],
        [asks("y"), answers("y"), answers("y"), answers("x")],
    ],
)
def test_results_without_a_call_are_left_out(lines: list[Line]) -> None:
    assert sum(message.role == "tool" for message in sendable(lines)) == sum(
        bool(m.tool_calls) for m in lines
    )


def test_a_late_result_joins_its_call() -> None:
    sent = sendable([asks("x"), Line("user", "meanwhile"), answers("x")])
    assert [message.role for message in sent] == ["assistant", "tool", "user"]


def test_equal_ids_in_two_turns_belong_to_their_own_turn() -> None:
    lines = [asks("x"), answers("x"), asks("x"), answers("x")]
    assert [part.indices for part in units(lines)] == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("lines", "cut"),
    [([], 0), ([Line("assistant", "hello")], 1), ([Line("user", "a"), asks("x"), answers("x")], 0)],
)
def test_split_current_starts_at_the_newest_user_message(lines: list[Line], cut: int) -> None:
    assert split_current(lines) == (tuple(lines[:cut]), tuple(lines[cut:]))

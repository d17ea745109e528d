"""Buffer, summary and recall against the golden table, and where they promise more than it."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.memory.history import MessageLike
from runtime.memory.policies import Buffer, Recall, Summary, SummaryRequest, Vector
from tests.runtime.memory.golden import table
from tests.runtime.memory.test_history import Call, Line

CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in table("policies")}

BETTER: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "call_and_result_cut": (
        "a result was sent without its call, which providers refuse; the call comes along",
        [("assistant", "call"), ("tool", "result"), ("assistant", "b")],
    ),
    "summary_parts_call_and_result": (
        "the cut fell between a call and its result; both stay as they are",
        [
            ("system", "Summary of the earlier conversation: SUMMARY"),
            ("assistant", "calls tool"),
            ("tool", "tool result"),
            ("assistant", "answer"),
        ],
    ),
    "vectors_failed_once": (
        "a message whose embedding failed came last for ever after; it is asked for again",
        [("system", "Recalled earlier exchange (assistant): my cat is orange"), ("assistant", "recent two")],
    ),
}


def lines_of(case: dict[str, Any]) -> list[Line]:
    """The messages of a case; an assistant message before a tool message has made the call it answers."""
    pairs = case["messages"]
    lines = []
    for i, (role, content) in enumerate(pairs):
        before_tool = role == "assistant" and i + 1 < len(pairs) and pairs[i + 1][0] == "tool"
        calls = (Call("c1"),) if before_tool else ()
        lines.append(Line(role, content, calls, "c1" if role == "tool" else None))
    return lines


def plain(messages: tuple[MessageLike, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.content or "") for message in messages]


def expected(case: dict[str, Any], field: str) -> list[tuple[str, str]]:
    if case["id"] in BETTER:
        return BETTER[case["id"]][1]
    return [(role, content) for role, content in case[field]]


def of(policy: str) -> list[str]:
    return [name for name, case in CASES.items() if case["policy"] == policy]


@pytest.mark.golden
@pytest.mark.parametrize("name", of("buffer"))
def test_buffer_keeps_the_last_messages(name: str) -> None:
    case = CASES[name]
    history = lines_of(case)
    window = Buffer(keep=case["keep"]).window(history)
    assert plain(window.messages) == expected(case, "sent")
    assert len(window.left_out) == len(history) - len(window.kept)


@pytest.mark.golden
@pytest.mark.parametrize("name", of("summary"))
def test_summary_replaces_the_older_part(name: str) -> None:
    case = CASES[name]
    policy = Summary(threshold_chars=case["threshold_chars"], keep_last=case["keep_last"])
    history = lines_of(case)
    assert sum(len(line.content or "") for line in history) == case["chars"]
    assert policy.due(history) is case["due"]
    request = policy.request(history)
    assert (request is not None) == bool(case["calls"])
    after = policy.accept(history, request, case["reply"]) if request else tuple(history)
    assert plain(after) == expected(case, "after")
    assert policy.due(after) is case["due_after"]
    if request is not None and name not in BETTER:
        assert request.user == case["transcript"]


@pytest.mark.golden
@pytest.mark.parametrize("name", [name for name in of("recall") if name not in BETTER])
def test_recall_brings_back_what_is_like_the_question(name: str) -> None:
    case = CASES[name]
    policy = Recall(keep_recent=case["keep_recent"], k=case["k"])
    history = lines_of(case)
    request = policy.request(history, case["query"], {})
    if "embed_calls" in case:
        assert (request is not None) == bool(case["embed_calls"])
    vectors: dict[int, Vector] = {}
    query: Vector | None = None
    if request is not None:
        replies = [case["vectors"][i] for i in request.indices]
        vectors, query = policy.accept(request, replies, case["query_vector"])
    assert plain(policy.window(history, vectors, query).messages) == expected(case, "sent")


@pytest.mark.golden
def test_recall_asks_again_for_vectors_that_failed() -> None:
    case = CASES["vectors_failed_once"]
    policy = Recall(keep_recent=case["keep_recent"], k=case["k"])
    history = lines_of(case)
    first = policy.request(history, "pet?", {})
    assert first is not None
    failed = policy.accept(first, [None] * len(first.texts), (0.0, 1.0))
    assert failed.vectors == {}
    assert plain(policy.window(history, failed.vectors, failed.query).messages) == expected(
        {**case, "id": ""}, "sent"
    )
    again = policy.request(history, "pet?", failed.vectors)
    assert again == first
    vectors, query = policy.accept(
        first, [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.1), (0.5, 0.4)], (0.0, 1.0)
    )
    assert plain(policy.window(history, vectors, query).messages) == BETTER["vectors_failed_once"][1]


def test_defaults_are_those_of_the_text() -> None:
    assert (Buffer().keep, Summary().threshold_chars, Summary().keep_last) == (40, 12_000, 10)
    assert (Recall().keep_recent, Recall().k) == (6, 4)


@pytest.mark.parametrize("reply", [None, "", "  \n"])
def test_a_failed_summary_changes_nothing(reply: str | None) -> None:
    policy = Summary(threshold_chars=5, keep_last=2)
    history = [Line("user", f"message {i}") for i in range(5)]
    request = policy.request(history)
    assert request is not None
    assert policy.accept(history, request, reply) == tuple(history)


def test_messages_that_came_during_the_summary_are_kept() -> None:
    policy = Summary(threshold_chars=5, keep_last=2)
    history = [Line("user", f"message {i}") for i in range(5)]
    request = policy.request(history)
    assert request is not None
    after = policy.accept([*history, Line("user", "late")], request, "gist")
    assert [text for _, text in plain(after)] == [
        "Summary of the earlier conversation: gist",
        "message 3",
        "message 4",
        "late",
    ]


def test_an_old_note_folds_into_the_next_but_is_not_condensed_alone() -> None:
    policy = Summary(threshold_chars=5, keep_last=2)
    first = policy.accept(
        [Line("user", f"message {i}") for i in range(4)], SummaryRequest("", "", frozenset({0, 1})), "gist"
    )
    assert policy.due(first) and not policy.wanted(first)
    grown = [*first, Line("user", "more")]
    request = policy.request(grown)
    assert policy.wanted(grown) and request is not None
    assert request.user == "system: Summary of the earlier conversation: gist\nuser: message 2"
    assert (
        plain(policy.accept(grown, request, "gist two"))[0][1]
        == "Summary of the earlier conversation: gist two"
    )


def test_a_query_whose_embedding_failed_gives_the_recent_tail() -> None:
    history = [Line("user", f"m{i}") for i in range(9)]
    policy = Recall(keep_recent=2, k=3)
    request = policy.request(history, "anything", {})
    assert request is not None
    vectors, query = policy.accept(request, [(1.0,)] * 7, None)
    assert len(vectors) == 7
    assert plain(policy.window(history, vectors, query).messages) == [("user", "m7"), ("user", "m8")]


def test_only_missing_vectors_are_asked_for() -> None:
    history = [Line("user", f"m{i}") for i in range(5)]
    request = Recall(keep_recent=2, k=1).request(history, "q", {0: (1.0,), 2: (1.0,)})
    assert request is not None and request.indices == (1,) and request.texts == ("m1",)
    known: dict[int, Vector] = {0: (1.0,), 1: (1.0,), 2: (1.0,)}
    request = Recall(keep_recent=2, k=1).request(history, "q", known)
    assert request is not None and request.texts == () and request.query == "q"


def test_a_reply_of_the_wrong_length_is_a_failure() -> None:
    history = [Line("user", f"m{i}") for i in range(5)]
    policy = Recall(keep_recent=2, k=1)
    request = policy.request(history, "q", {})
    assert request is not None
    assert policy.accept(request, [(1.0,)], (1.0,)).vectors == {}


@pytest.mark.parametrize("query", [None, "", "   "])
def test_no_question_makes_no_embedding_call(query: str | None) -> None:
    assert Recall(keep_recent=1, k=1).request([Line("user", f"m{i}") for i in range(5)], query, {}) is None


def test_vectors_of_another_dimension_come_after_all_that_can_be_compared() -> None:
    history = [Line("user", f"m{i}") for i in range(4)]
    vectors: dict[int, Vector] = {0: (1.0, 0.0, 0.0), 1: (0.0, 0.0), 2: (-1.0, 0.0)}
    window = Recall(keep_recent=1, k=2).window(history, vectors, (1.0, 0.0))
    assert [text[-2:] for _, text in plain(window.notes)] == ["m0", "m2"]

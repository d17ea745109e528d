"""Conversations with questions, for measuring what memory finds: one scenario a line of JSON.

    {"id", "dataset", "now",                        when the questions are asked, ISO 8601
     "sessions": [{"id", "ts", "turns": [{"id", "speaker", "role", "ts", "text"}]}],
     "queries": [{"id", "text", "category",         what is asked
                  "evidence": [turn ids],           the turns that answer it
                  "stale": [turn ids],              superseded turns that would answer it wrongly (optional)
                  "answer": "…"}]}                  the answer in words (optional)

Turns stand in the order in which they were said; ids of turns are unique within a scenario.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

import msgspec

from runtime.errors import BadInput


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. `role` is `user`, `assistant`, or `peer` where two people talk."""

    id: str
    speaker: str
    role: str
    at: datetime
    text: str

    @property
    def shown(self) -> str:
        """The line that a turn costs, the same for every way of finding."""
        return f"[{self.at:%Y-%m-%d}] {self.speaker}: {self.text}"

    @property
    def tokens(self) -> int:
        """Four characters of the line a token, rounded up."""
        return max(1, ceil(len(self.shown) / 4))


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one session."""

    id: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, the turns that answer it, and those that would answer it wrongly."""

    id: str
    text: str
    category: str
    evidence: frozenset[str]
    stale: frozenset[str]
    answer: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A user's conversations and the questions asked after them, at `now`."""

    id: str
    now: datetime
    conversations: tuple[Conversation, ...]
    questions: tuple[Question, ...]

    def turns(self) -> dict[str, Turn]:
        """Turns by id."""
        return {turn.id: turn for conversation in self.conversations for turn in conversation.turns}


def load(path: Path) -> list[Scenario]:
    """The scenarios of a JSONL file. Raises BadInput that names the line that cannot be read."""
    scenarios = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                scenarios.append(_parse(line, path, number))
    return scenarios


class _Turn(msgspec.Struct):
    id: str
    speaker: str
    role: str
    ts: str
    text: str


class _Session(msgspec.Struct):
    id: str
    turns: list[_Turn]


class _Query(msgspec.Struct):
    id: str
    text: str
    category: str
    evidence: list[str]
    stale: list[str] = []
    answer: str = ""


class _Line(msgspec.Struct):
    id: str
    now: str
    sessions: list[_Session]
    queries: list[_Query]


def _parse(line: str, path: Path, number: int) -> Scenario:
    try:
        raw = msgspec.json.decode(line, type=_Line)
        return Scenario(
            raw.id,
            _time(raw.now),
            tuple(
                Conversation(session.id, tuple(_turn(turn) for turn in session.turns))
                for session in raw.sessions
            ),
            tuple(_question(query) for query in raw.queries),
        )
    except ValueError as error:
        raise BadInput(
            f"Line {number} of {path.name} is not a scenario: {error}.",
            remedy="Each line is one JSON object as `farthing eval memory --help` shows it.",
        ) from error


def _turn(raw: _Turn) -> Turn:
    return Turn(raw.id, raw.speaker, raw.role, _time(raw.ts), raw.text)


def _question(raw: _Query) -> Question:
    return Question(raw.id, raw.text, raw.category, frozenset(raw.evidence), frozenset(raw.stale), raw.answer)


def _time(text: str) -> datetime:
    """One that names no zone is in UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time such as 2026-03-01T09:30:00Z") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)

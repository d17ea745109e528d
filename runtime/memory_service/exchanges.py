"""Past exchanges of a user's other sessions: what was asked and answered, as it may be recalled."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from runtime.facts import Fact
from runtime.memory.candidates import Candidate
from runtime.memory_service.shared import EPISODE
from runtime.record import TurnLine

SHOWN_CHARS = 1200
"""Characters of what one side said that are shown; the beginning says what it was about."""
INDEXED_CHARS = 20_000
"""Characters of it by which it is found."""
SHORTEST = 6
"""Characters of a forgotten value from which on its text alone says that it is a copy (as for erasing)."""


class Said(NamedTuple):
    """One message of an exchange."""

    role: str
    text: str


class Exchange(msgspec.Struct, frozen=True):
    """One turn of a completed run, without its tool calls."""

    id: int
    session_uid: str
    session_name: str
    run_id: str
    at: datetime
    tainted: bool
    said: tuple[Said, ...]

    @property
    def ref(self) -> str:
        """How it is called on a bill."""
        return f"{EPISODE}{self.id}"

    @property
    def text(self) -> str:
        """What the model reads of it."""
        return "\n".join(["Past exchange", *(f"{role}: {_beginning(text)}" for role, text in self.said)])

    def candidate(self, score: float, likeness: float) -> Candidate:
        """The exchange as it may be injected; what is tainted stays so."""
        return Candidate(
            ref=self.ref,
            text=self.text,
            kind="episode",
            at=self.at,
            score=score,
            likeness=likeness,
            origin="tainted" if self.tainted else "",
            source=f"session {self.session_name}",
            session=self.session_uid,
        )

    def tells(self, hidden: Hidden) -> bool:
        """Whether it holds what was forgotten."""
        texts = [text.casefold() for _, text in self.said]
        mine = hidden.of_runs.get(self.run_id, ())
        return any(value in text for text in texts for value in (*hidden.texts, *mine))


def exchange_of(line: TurnLine) -> Exchange:
    """What was said in a turn."""
    said = tuple(
        Said(message.role, message.content[:INDEXED_CHARS])
        for message in line.messages
        if message.role in ("user", "assistant") and message.content
    )
    return Exchange(line.id, line.session_uid, line.session_name, line.run_id, line.at, line.tainted, said)


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1].rstrip() + "…"


class Hidden(msgspec.Struct, frozen=True):
    """Values that were forgotten and must not come back by a past exchange: `texts` anywhere, `of_runs` (too
    short to be known by their text) in the exchange of the run that wrote them. All in lower case."""

    texts: frozenset[str]
    of_runs: dict[str, list[str]]


def hidden_by(versions: list[Fact]) -> Hidden:
    """What the forgotten among all versions of a shelf hide; a value that is current again hides nothing."""
    current = {text for fact in versions if fact.state == "current" for text in _texts(fact.value)}
    texts: set[str] = set()
    of_runs: dict[str, list[str]] = {}
    for fact in versions:
        if fact.state != "forgotten":
            continue
        for text in _texts(fact.value):
            if text in current:
                continue
            if len(text) >= SHORTEST:
                texts.add(text)
            elif fact.source is not None:
                of_runs.setdefault(fact.source, []).append(text)
    return Hidden(frozenset(texts), of_runs)


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, in lower case; numbers as they are written."""
    if isinstance(value, str):
        if value.strip():
            yield value.strip().casefold()
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None and not isinstance(value, bool):
        yield msgspec.json.encode(value).decode()

"""What was said before, as it is sent: messages, summaries, recalled ones, turns of earlier sessions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from runtime.events import ContextItem
from runtime.memory.candidates import Candidate
from runtime.memory.fence import escape
from runtime.memory.policies import Recall
from runtime.memory_service.shared import EPISODE, MESSAGE
from runtime.messages import Message

TURN = "turn/"
"""Begins the reference of a turn of an earlier session."""


class Note(msgspec.Struct, frozen=True):
    """Summaries under one title, oldest first, each with its reference. `listed`: a line for each."""

    title: str
    parts: tuple[tuple[str, str], ...]
    listed: bool = True

    @property
    def text(self) -> str:
        """As it is sent."""
        if not self.listed:
            return self.title + " ".join(text for _, text in self.parts)
        return "\n".join([self.title, *(f"- {text}" for _, text in self.parts)])


class Recalled(msgspec.Struct, frozen=True):
    """An older message of this session. `likeness`: share of the question's words that it has."""

    ref: str
    role: str
    text: str
    score: float
    likeness: float

    @property
    def candidate(self) -> Candidate:
        """The message as it may be placed in the sections of memory."""
        return Candidate(
            ref=self.ref, text=f"{self.role}: {self.text}", kind="episode", score=self.score,
            likeness=self.likeness, origin="", source="this session",
        )  # fmt: skip


class Prior(msgspec.Struct, frozen=True):
    """A turn of an earlier session, and its line on the bill."""

    item: ContextItem
    messages: tuple[Message, ...]

    @property
    def exchange(self) -> str:
        """Its reference as a past exchange."""
        return EPISODE + self.item.ref.removeprefix(TURN)


class Past(msgspec.Struct, frozen=True):
    """What was said before, as it is sent.

    `messages` are sent as they are, the first of them at place `first` of what was taken up; `notes` stand
    for what came before them and for earlier sessions; `recalled` are older messages, best first. `prior` are
    turns of earlier sessions, sent before the messages; `left_out` is what does not come along of them.
    """

    messages: tuple[Message, ...] = ()
    notes: tuple[Note, ...] = ()
    recalled: tuple[Recalled, ...] = ()
    prior: tuple[Prior, ...] = ()
    first: int = 0
    left_out: tuple[ContextItem, ...] = ()

    @property
    def summary(self) -> str:
        """The summaries as they are sent; empty where there are none."""
        return "\n\n".join(note.text for note in self.notes)

    @property
    def summaries(self) -> tuple[tuple[str, str], ...]:
        """Each summary with its reference, oldest first."""
        return tuple(part for note in self.notes for part in note.parts)

    @property
    def recalled_text(self) -> str:
        """The recalled messages as they are sent right before the newest user message, in their order."""
        in_order = sorted(self.recalled, key=lambda each: int(each.ref.removeprefix(MESSAGE)))
        lines = [f"{Recall().prefix} ({each.role}): {escape(each.text)}" for each in in_order]
        return "\n".join(["<recalled>", *lines, "</recalled>"]) if lines else ""

    def without(self, refs: frozenset[str], turns: int) -> Past:
        """Without these summaries, recalled messages and prior turns, and without the first `turns`."""
        gone = sum(len(turn) for turn in turns_of(self.messages)[:turns])
        notes = [
            msgspec.structs.replace(note, parts=tuple(part for part in note.parts if part[0] not in refs))
            for note in self.notes
        ]
        return Past(
            messages=self.messages[gone:],
            notes=tuple(note for note in notes if note.parts),
            recalled=tuple(each for each in self.recalled if each.ref not in refs),
            prior=tuple(turn for turn in self.prior if turn.item.ref not in refs),
            first=self.first + gone,
            left_out=self.left_out,
        )


def turns_of(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """The messages as turns, each from a user's message on; a call and its results are never parted."""
    if not messages:
        return []
    starts = [place for place, message in enumerate(messages) if message.role == "user" or not place]
    ends = [*starts[1:], len(messages)]
    return [tuple(messages[start:end]) for start, end in zip(starts, ends, strict=True)]

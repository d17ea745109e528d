"""What compaction keeps of a session with one agent: summaries for old turns, and how full prompts were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.memory.compaction import Turn
from runtime.memory.compaction_rules import Compaction
from runtime.memory.monitor import Monitor, Reading
from runtime.messages import Message

PREFIX = "__compacted/"
TITLE = "Summaries of the earlier conversation, oldest first:"
"""Stands over the summaries where they are sent."""


class Compacted(msgspec.Struct, frozen=True):
    """`parts` stand for the first `upto` messages of the history. `readings`, `turns_since` and `finished`
    are the monitor's (tokens of a prompt, tokens available)."""

    parts: tuple[str, ...] = ()
    upto: int = 0
    readings: tuple[tuple[int, int], ...] = ()
    turns_since: int = 0
    finished: int = 0

    @property
    def monitor(self) -> Monitor:
        """The monitor's state."""
        readings = tuple(Reading(total, most, total / most * 100) for total, most in self.readings)
        return Monitor(readings, self.turns_since, self.finished)

    def watched(self, monitor: Monitor) -> Compacted:
        """With a newer state of the monitor."""
        return msgspec.structs.replace(
            self,
            readings=tuple((each.total_tokens, each.available_tokens) for each in monitor.readings),
            turns_since=monitor.turns_since,
            finished=monitor.finished,
        )


def key_of(node_id: str, session_uid: str) -> str:
    """Under which internal fact it is kept: one for each session, whatever the Memory's scope."""
    return f"{PREFIX}{node_id}/{session_uid}"


def compacted(stored: Any) -> Compacted:
    """What is kept, from a fact's value; nothing where there is none or it was erased."""
    try:
        return Compacted() if stored is None else msgspec.convert(stored, Compacted)
    except msgspec.ValidationError:
        return Compacted()


def rules_of(config: Any) -> Compaction:
    """The Memory's `compaction` settings for the arithmetic."""
    names = (name for name in config.__struct_fields__ if name != "model")
    return Compaction(**{name: getattr(config, name) for name in names})


def turns_of(history: Sequence[Message], upto: int) -> list[Turn]:
    """The turns from place `upto` on, each from a user's message to before the next one; a turn's reference
    is the place after it."""
    starts = [i for i in range(upto, len(history)) if history[i].role == "user"]
    ends = [*starts[1:], len(history)]
    return [_turn(history[start:end], end) for start, end in zip(starts, ends, strict=True)]


def _turn(messages: Sequence[Message], end: int) -> Turn:
    said = [message.content for message in messages if message.role == "assistant" and message.content]
    return Turn(str(end), messages[0].content or "", "\n".join(said))

"""Rows of everything that a session holds in memory, for what is erased or moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from runtime.events import Unknown, decode
from runtime.facts import Fact, Shelf
from runtime.messages import Message
from runtime.record import ACTIVE
from runtime.store.memory.rows_runs import row_of
from runtime.store.memory.state import LazyEntry, State
from runtime.store.rows import Document, FactRow, SessionRow
from runtime.store.values import from_json, to_json

_messages = msgspec.json.Decoder(tuple[Message, ...])


class DocumentRows:
    """Documents of sessions, and facts as a whole. A document's place is a path to it."""

    def __init__(self, state: State) -> None:
        self._state = state

    def sessions_of(self, user_id: str) -> list[SessionRow]:
        return [row_of(session) for session in self._state.sessions if session.key.user_id == user_id]

    def active_runs(self, session: int) -> list[str]:
        runs = self._state.runs
        return [run for run in self._state.sessions[session].runs if runs[run].state in ACTIVE]

    def documents(self, session: SessionRow, needles: Sequence[bytes]) -> list[Document]:
        return [
            document for document in self._all(session) if any(needle in document.raw for needle in needles)
        ]

    def _all(self, session: SessionRow) -> Iterator[Document]:
        state, stored = self._state, self._state.sessions[session.id]
        for index, entry in enumerate(stored.entries):
            yield Document("events", ("event", index), False, entry.body)
        numbers = {state.runs[run_id].id for run_id in stored.runs}
        for call in state.calls:
            if call.run in numbers and call.result is not None:
                yield Document("calls", ("call", call.id), False, to_json(call.result))
        for node_id, turns in stored.turns.items():
            for index, messages in enumerate(turns):
                yield Document("turns", ("turn", node_id, index), False, to_json(messages))
        for run_id in stored.runs:
            yield Document("inputs", ("input", run_id), True, to_json(state.starts[run_id].input))
            end = state.ends.get(run_id)
            if end is not None:
                yield Document("outputs", ("outputs", run_id), True, to_json(end.outputs))
                if end.error is not None:
                    yield Document("outputs", ("error", run_id), False, to_json(end.error))

    def put_document(self, session: SessionRow, document: Document, raw: bytes) -> None:
        state, (what, *where) = self._state, document.place
        stored = state.sessions[session.id]
        if what == "event":
            event = decode(raw)
            assert not isinstance(event, Unknown), "what was an event stays one"
            seq = where[0] + 1
            state.replace(stored.entries, where[0], LazyEntry(session.uid, seq, event, b""))
        elif what == "call":
            call = state.calls[where[0] - 1]
            state.replace(state.calls, where[0] - 1, call._replace(result=from_json(raw)))
        elif what == "turn":
            state.replace(stored.turns[where[0]], where[1], _messages.decode(raw))
        else:
            self._put_run(where[0], what, from_json(raw))

    def _put_run(self, run_id: str, field: str, value: Any) -> None:
        state = self._state
        if field == "input":
            state.put(state.starts, run_id, msgspec.structs.replace(state.starts[run_id], input=value))
        else:
            state.put(state.ends, run_id, msgspec.structs.replace(state.ends[run_id], **{field: value}))

    def keys_on(self, shelf: Shelf) -> list[str]:
        return sorted(key for key, versions in self._state.facts.get(shelf, {}).items() if versions)

    def shelves_of(self, user_id: str | None, session_uids: Sequence[str]) -> list[Shelf]:
        uids = set(session_uids)
        return sorted(
            shelf
            for shelf in self._state.facts
            if (shelf.owner in uids if shelf.scope == "session" else user_id is not None
                and shelf.owner == user_id) and self.keys_on(shelf)
        )  # fmt: skip

    def write_over(self, row: FactRow, shelf: Shelf, fact: Fact) -> None:
        self._state.replace(self._state.facts[shelf][fact.key], row.id, fact)

    def move_fact(self, row: FactRow, shelf: Shelf, to: Shelf) -> None:
        state, key = self._state, row.fact.key
        source = state.facts[shelf]
        state.add(state.facts.setdefault(to, {}).setdefault(key, []), row.fact)
        left = [fact for fact in source[key] if fact.version != row.fact.version]
        if left:
            state.put(source, key, left)
        else:
            state.drop(source, key)

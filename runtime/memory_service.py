"""A node's Memory while a run goes on: loads facts, gates what the model writes, lends the memory tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec

from runtime.errors import InputError
from runtime.events import (
    ContextItem,
    ContextSection,
    MemoryForgotten,
    MemoryRead,
    MemoryRefused,
    MemoryWrite,
)
from runtime.facts import INTERNAL_PREFIX, MODEL_KINDS, Fact, FactWrite, Kind, Origin, Shelf, Written
from runtime.journal import Journal
from runtime.memory.candidates import Block, Candidate
from runtime.memory.injection import inject
from runtime.memory.injection_rules import Entry, Injected, Injection
from runtime.messages import ToolSpec

READ, WRITE, FORGET = "memory_read", "memory_write", "memory_forget"
USAGE_PREFIX = "usage/"
LONGEST_TTL_S = 10 * 365 * 86_400


class Refusal(InputError):
    """The memory's gate refuses a write."""

    default_code = "memory.refused"


class Where(NamedTuple):
    """The step that memory is used in."""

    run_id: str
    node_id: str
    step: int | None


class ForContext(NamedTuple):
    """What memory gives to one context: pinned blocks, then facts; and what of it goes on the bill."""

    text: str = ""
    sections: tuple[ContextSection, ...] = ()
    left_out: tuple[ContextItem, ...] = ()
    warnings: tuple[str, ...] = ()


NOTHING = ForContext()


class MemoryService:
    """The facts of one Memory node on one shelf, for one run."""

    def __init__(self, config: Any, shelf: Shelf, journal: Journal) -> None:
        self.config, self.shelf, self.journal = config, shelf, journal
        self.tainted = False

    async def current(self, keys: Sequence[str] | None = None) -> list[Fact]:
        """Facts that are there and valid now, in key order."""
        now = self.journal.clock.now()
        found = await self.journal.record.facts(self.shelf, keys=keys)
        return [fact for fact in found if not fact.expired(now)]

    async def inject(self, count: Callable[[str], int]) -> ForContext:
        """What this step's context is given. `count` gives the tokens of a text."""
        facts = [fact for fact in await self.current() if not fact.internal and fact.kind in MODEL_KINDS]
        if not facts and not self.config.blocks:
            return NOTHING
        limits = self.config.injection
        chosen = inject(
            [Block(block.name, block.content, block.order) for block in self.config.blocks],
            [_candidate(fact) for fact in facts],
            (),
            now=self.journal.clock.now(),
            rules=Injection(
                tokens=limits.tokens,
                lines=limits.lines,
                bytes=limits.bytes,
                half_life_days=limits.half_life_days,
                min_confidence=limits.min_confidence,
                overflow=limits.overflow,
            ),
            count=count,
        )
        shown = {entry.ref for entry in chosen.shown}
        self.tainted = self.tainted or any(fact.tainted and _ref(fact) in shown for fact in facts)
        warnings = list(chosen.warnings)
        if chosen.blocks_size.tokens > self.config.blocks_max_tokens:
            warnings.append(
                f"the pinned blocks are larger than blocks_max_tokens {self.config.blocks_max_tokens}"
            )
        return ForContext(
            "\n\n".join(part for part in (chosen.blocks, chosen.facts, chosen.recall) if part),
            _sections(chosen, self.config.blocks),
            tuple(_item(entry) for entry in chosen.left_out),
            tuple(warnings),
        )

    # -- writing

    async def write(
        self,
        key: str,
        value: Any,
        where: Where,
        *,
        kind: Kind = "fact",
        ttl_s: float | None = None,
        confidence: float = 1.0,
    ) -> Written:
        """Write for the model. Raises Refusal, with its event, where the gate says no."""
        await self._gate(key, value, kind, ttl_s, where)
        now = self.journal.clock.now()
        origin: Origin = "tainted" if self.tainted else "model"
        write = FactWrite(
            key=key,
            value=value,
            kind=kind,
            origin=origin,
            confidence=confidence,
            valid_from=now,
            valid_to=None if ttl_s is None else now + timedelta(seconds=ttl_s),
            source=where.run_id,
            step=where.step,
        )

        def said(written: Written) -> list[MemoryWrite]:
            fact = written.fact
            return [
                MemoryWrite(
                    **self._about(where, (key,)),
                    outcome=written.outcome,
                    version=fact.version,
                    value=fact.value,
                    kind=fact.kind,
                    origin=fact.origin,
                    valid_to=fact.valid_to,
                )
            ]

        return await self.journal.write_fact(self.shelf, write, said)

    async def _gate(self, key: str, value: Any, kind: str, ttl_s: float | None, where: Where) -> None:
        refusal = self._refusal(key, value, kind, ttl_s)
        if refusal is None:
            known = await self.journal.record.facts(self.shelf)
            if len(known) >= self.config.write.max_facts and all(fact.key != key for fact in known):
                refusal = (
                    "memory.full",
                    f"this memory already holds {len(known)} facts; replace one instead",
                )
        if refusal is not None:
            shown = str(key)[: self.config.write.max_key_chars]
            self.journal.say(
                MemoryRefused(**self._about(where, (shown,)), code=refusal[0], message=refusal[1])
            )
            raise Refusal(f"Not stored: {refusal[1]}.", code=refusal[0])

    def _refusal(self, key: Any, value: Any, kind: str, ttl_s: float | None) -> tuple[str, str] | None:
        gate = self.config.write
        if not isinstance(key, str) or not key.strip() or not key.isprintable():
            return "memory.bad_key", "a key is a short printable text"
        if len(key) > gate.max_key_chars:
            return "memory.bad_key", f"the key is longer than {gate.max_key_chars} characters"
        if key.startswith((INTERNAL_PREFIX, USAGE_PREFIX)):
            return (
                "memory.reserved_key",
                f"keys that begin with {INTERNAL_PREFIX!r} or {USAGE_PREFIX!r} are reserved",
            )
        if kind not in MODEL_KINDS:
            return "memory.bad_kind", f"the kind is one of {', '.join(sorted(MODEL_KINDS))}"
        if ttl_s is not None and not 0 < ttl_s <= LONGEST_TTL_S:
            return "memory.bad_ttl", "ttl is a positive number of seconds, ten years at most"
        encoded = msgspec.json.encode(value)
        if len(encoded) > gate.max_value_bytes:
            return "memory.too_long", f"the value has {len(encoded)} bytes, more than {gate.max_value_bytes}"
        from runtime.secrets.detect import find_credential

        if (
            find_credential(f"{key}={encoded.decode()}") is not None
            or find_credential(encoded.decode()) is not None
        ):
            return "memory.credential", "it looks like a credential, and those are never kept as facts"
        return None

    def _about(self, where: Where, keys: tuple[str, ...]) -> dict[str, Any]:
        """The common fields of a memory event."""
        return {
            "at": self.journal.clock.now(),
            "run_id": where.run_id,
            "node_id": where.node_id,
            "step": where.step,
            "namespace": self.shelf.namespace,
            "scope": self.shelf.scope,
            "keys": keys,
        }

    # -- the model's tools

    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The memory tools that the model is offered."""
        return tuple(_SPECS[name] for name in self.config.tools)

    async def call_tool(self, name: str, arguments: Mapping[str, Any], where: Where) -> Any:
        """Carry out a memory tool. Raises InputError with what the model did wrong."""
        if name == READ:
            return await self._read(arguments, where)
        if name == FORGET:
            return await self._forget(arguments, where)
        return await self._write(arguments, where)

    async def _read(self, arguments: Mapping[str, Any], where: Where) -> Any:
        keys = arguments.get("keys")
        if keys is not None and not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
            raise InputError("`keys` must be a list of texts.", code="tool.bad_arguments")
        found = [fact for fact in await self.current(keys or None) if not fact.internal]
        self.tainted = self.tainted or any(fact.tainted for fact in found)
        self.journal.say(MemoryRead(**self._about(where, tuple(keys or ())), found=len(found)))
        facts = {fact.key: fact.value for fact in found}
        absent = [key for key in keys or () if key not in facts]
        return {"facts": facts, "absent": absent} if absent else {"facts": facts}

    async def _write(self, arguments: Mapping[str, Any], where: Where) -> Any:
        unknown = sorted(set(arguments) - {"key", "value", "kind", "ttl"})
        if unknown or "key" not in arguments or "value" not in arguments:
            raise InputError(
                "memory_write takes `key`, `value`, and may take `kind` and `ttl`.", code="tool.bad_arguments"
            )
        ttl = arguments.get("ttl")
        if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, (int, float))):
            raise InputError("`ttl` must be a number of seconds.", code="tool.bad_arguments")
        written = await self.write(
            arguments["key"], arguments["value"], where, kind=arguments.get("kind", "fact"), ttl_s=ttl
        )
        answer = {"stored": written.fact.key, "outcome": written.outcome, "version": written.fact.version}
        if written.outcome == "conflict":
            answer["note"] = (
                "It conflicts with what a person or you stored before and is kept beside it, unused."
            )
        return answer

    async def _forget(self, arguments: Mapping[str, Any], where: Where) -> Any:
        keys = arguments.get("keys")
        if not (isinstance(keys, list) and keys and all(isinstance(key, str) for key in keys)):
            raise InputError("`keys` must be a list of texts.", code="tool.bad_arguments")
        there = [fact.key for fact in await self.current(keys) if not fact.internal]
        if there:
            event = MemoryForgotten(**self._about(where, tuple(there)), actor="model")
            await self.journal.forget_facts(self.shelf, there, [event])
        return {"forgotten": there}


class InternalFacts:
    """Farthing's own facts of an agent: summaries and plans. Keys begin with `__`."""

    def __init__(self, shelf: Shelf, journal: Journal, where: Where, session_uid: str) -> None:
        self._shelf, self._journal, self._where = shelf, journal, where
        self.session_uid = session_uid

    async def read(self, key: str) -> Any:
        """The value, or None."""
        found = await self._journal.record.facts(self._shelf, keys=[key])
        return found[0].value if found else None

    async def write(self, key: str, value: Any, kind: Kind) -> None:
        """Replace the value."""
        now = self._journal.clock.now()
        write = FactWrite(
            key=key, value=value, kind=kind, origin="derived", valid_from=now, source=self._where.run_id,
            step=self._where.step,
        )  # fmt: skip

        def said(written: Written) -> list[MemoryWrite]:
            return [
                MemoryWrite(
                    at=now, run_id=self._where.run_id, node_id=self._where.node_id, step=self._where.step,
                    namespace=self._shelf.namespace, scope=self._shelf.scope, keys=(key,),
                    outcome=written.outcome, version=written.fact.version, value=value, kind=kind,
                    origin="derived",
                )
            ]  # fmt: skip

        await self._journal.write_fact(self._shelf, write, said)


def _ref(fact: Fact) -> str:
    return f"fact/{fact.key}"


def _candidate(fact: Fact) -> Candidate:
    return Candidate(
        ref=_ref(fact),
        text=f"{fact.key}: {msgspec.json.encode(fact.value).decode()}",
        key=fact.key,
        at=fact.recorded_at,
        confidence=fact.confidence,
        origin=fact.origin,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
    )


def _sections(chosen: Injected, blocks: Sequence[Any]) -> tuple[ContextSection, ...]:
    sections = []
    if chosen.blocks:
        names = tuple(ContextItem(ref=f"block/{block.name}", tokens=0) for block in blocks)
        sections.append(ContextSection(name="blocks", tokens=chosen.blocks_size.tokens, items=names))
    if chosen.shown:
        items = tuple(_item(entry) for entry in chosen.shown)
        sections.append(ContextSection(name="known_facts", tokens=chosen.memory_size.tokens, items=items))
    return tuple(sections)


def _item(entry: Entry) -> ContextItem:
    return ContextItem(ref=entry.ref, tokens=entry.size.tokens, score=entry.score, why=entry.reason)


_KEY = {"type": "string", "description": "Short and stable, such as `name` or `diet`."}
_SPECS = {
    "read": ToolSpec(
        READ,
        "Read stored facts again. They are already given to you; use this after a write or to see one anew.",
        {
            "type": "object",
            "properties": {
                "keys": {"type": "array", "items": _KEY, "description": "Which facts; absent: all of them."}
            },
            "additionalProperties": False,
        },
    ),
    "write": ToolSpec(
        WRITE,
        "Remember something stable and useful under a key; an existing key is replaced. Never store passwords"
        " or keys.",
        {
            "type": "object",
            "properties": {
                "key": _KEY,
                "value": {"description": "What to remember; null empties the fact."},
                "kind": {"type": "string", "enum": sorted(MODEL_KINDS)},
                "ttl": {
                    "type": "number",
                    "description": "Seconds until it expires, for notes of this session.",
                },
            },
            "required": ["key", "value"],
            "additionalProperties": False,
        },
    ),
    "forget": ToolSpec(
        FORGET,
        "Forget stored facts for good.",
        {
            "type": "object",
            "properties": {"keys": {"type": "array", "items": _KEY, "minItems": 1}},
            "required": ["keys"],
            "additionalProperties": False,
        },
    ),
}

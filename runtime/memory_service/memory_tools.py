"""The memory tools carried out: what the model sent is checked, what it reads is plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import InputError
from runtime.events import MemoryForgotten, MemoryRead
from runtime.memory_service.shared import Where
from runtime.memory_service.tool_specs import FORGET, READ

if TYPE_CHECKING:
    from runtime.memory_service.service import MemoryService

CONFLICT_NOTE = "It conflicts with what a person or you stored before and is kept beside it, unused."


async def call(memory: MemoryService, name: str, arguments: Mapping[str, Any], where: Where) -> Any:
    """Carry out a memory tool. Raises InputError with what the model did wrong."""
    if name == READ:
        return await _read(memory, arguments, where)
    if name == FORGET:
        return await _forget(memory, arguments, where)
    return await _write(memory, arguments, where)


async def _read(memory: MemoryService, arguments: Mapping[str, Any], where: Where) -> Any:
    keys = arguments.get("keys")
    if keys is not None and not (isinstance(keys, list) and all(isinstance(key, str) for key in keys)):
        raise InputError("`keys` must be a list of texts.", code="tool.bad_arguments")
    found = [fact for fact in await memory.current(keys or None) if not fact.internal]
    memory.tainted = memory.tainted or any(fact.tainted for fact in found)
    memory.journal.say(MemoryRead(**memory.about(where, tuple(keys or ())), found=len(found)))
    facts = {fact.key: fact.value for fact in found}
    absent = [key for key in keys or () if key not in facts]
    return {"facts": facts, "absent": absent} if absent else {"facts": facts}


async def _write(memory: MemoryService, arguments: Mapping[str, Any], where: Where) -> Any:
    unknown = sorted(set(arguments) - {"key", "value", "kind", "ttl"})
    if unknown or "key" not in arguments or "value" not in arguments:
        raise InputError(
            "memory_write takes `key`, `value`, and may take `kind` and `ttl`.", code="tool.bad_arguments"
        )
    ttl = arguments.get("ttl")
    if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, (int, float))):
        raise InputError("`ttl` must be a number of seconds.", code="tool.bad_arguments")
    written = await memory.write(
        arguments["key"], arguments["value"], where, kind=arguments.get("kind", "fact"), ttl_s=ttl
    )
    answer = {"stored": written.fact.key, "outcome": written.outcome, "version": written.fact.version}
    if written.outcome == "conflict":
        answer["note"] = CONFLICT_NOTE
    return answer


async def _forget(memory: MemoryService, arguments: Mapping[str, Any], where: Where) -> Any:
    keys = arguments.get("keys")
    if not (isinstance(keys, list) and keys and all(isinstance(key, str) for key in keys)):
        raise InputError("`keys` must be a list of texts.", code="tool.bad_arguments")
    there = [fact.key for fact in await memory.current(keys) if not fact.internal]
    if there:
        event = MemoryForgotten(**memory.about(where, tuple(there)), actor="model")
        await memory.journal.forget_facts(memory.shelf, there, [event])
    return {"forgotten": there}

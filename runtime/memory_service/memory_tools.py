"""The memory tools carried out: what the model sent is checked, what it reads is plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import InputError
from runtime.events import MemoryForgotten, MemoryRead
from runtime.memory_service.gate import USAGE_PREFIX, Statement
from runtime.memory_service.shared import Where
from runtime.memory_service.tool_specs import FORGET, READ

if TYPE_CHECKING:
    from runtime.memory_service.service import MemoryService

TAKEN = {"key", "value", "kind", "ttl", "subject", "attribute"}
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
    wanted = [key for key in keys or () if not key.startswith(USAGE_PREFIX)]
    asked = [key for key in keys or () if key.startswith(USAGE_PREFIX)]
    found = [] if asked and not wanted else await memory.current(wanted or None)
    found = [fact for fact in found if not fact.internal]
    memory.tainted = memory.tainted or any(fact.tainted for fact in found)
    memory.uses.facts(found)
    facts = {fact.key: fact.value for fact in found}
    if asked and memory.usage is not None:
        facts |= await memory.usage.read(asked)
    memory.journal.say(MemoryRead(**memory.about(where, tuple(keys or ())), found=len(facts)))
    absent = [key for key in keys or () if key not in facts and key != USAGE_PREFIX]
    return {"facts": facts, "absent": absent} if absent else {"facts": facts}


async def _write(memory: MemoryService, arguments: Mapping[str, Any], where: Where) -> Any:
    unknown = sorted(set(arguments) - TAKEN)
    if unknown or "key" not in arguments or "value" not in arguments:
        raise InputError(
            "memory_write takes `key`, `value`, and may take `kind`, `ttl`, `subject` and `attribute`.",
            code="tool.bad_arguments",
        )
    ttl = arguments.get("ttl")
    if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, (int, float))):
        raise InputError("`ttl` must be a number of seconds.", code="tool.bad_arguments")
    subject, attribute = arguments.get("subject"), arguments.get("attribute")
    if not all(name is None or isinstance(name, str) for name in (subject, attribute)):
        raise InputError("`subject` and `attribute` must be texts.", code="tool.bad_arguments")
    kind = arguments.get("kind", "fact")
    said = Statement(arguments["key"], arguments["value"], kind, ttl, subject, attribute)
    written = await memory.state(said, where)
    fact, before = written.fact, written.previous
    answer = {"stored": fact.key, "outcome": written.outcome, "version": fact.version}
    if before is not None and before.key != fact.key and written.outcome == "replaced":
        answer["replaces"] = before.key
    if ttl is None and fact.valid_to is not None:
        answer["until"] = fact.valid_to.isoformat()
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

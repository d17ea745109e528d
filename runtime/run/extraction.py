"""Extraction as part of a maintenance run: facts that a model finds in a turn, written through the gate."""

from __future__ import annotations

from runtime.calls import Account, Asked
from runtime.errors import BudgetStop, FarthingError, InputError, ModelFailure
from runtime.events import CallError, PolicyFailed
from runtime.facts import Origin
from runtime.memory_service import MemoryService, Where
from runtime.memory_service.extracting import INSTRUCTION, SCHEMA, statements_of, text_of
from runtime.memory_service.gate import normal
from runtime.messages import Message, Request
from runtime.reasoning.action import find_value
from runtime.record import Turn
from runtime.run.services import Services

CLIP_CHARS = 4000
"""Characters of a message that are looked at."""
MAX_OUTPUT_TOKENS = 1000


async def extract(services: Services, account: Account, memory: MemoryService, turn: Turn) -> None:
    """Ask for what the turn tells and write it as derived facts. A key that a person or the model itself
    wrote is left alone, and so is what they said of the same attribute of the same subject.
    Whatever fails is said, and changes nothing."""
    most = memory.config.extraction.max_facts
    try:
        found = statements_of(await _asked(services, account, turn, most), most)
    except (ModelFailure, BudgetStop, ValueError) as failure:
        _say(account, failure)
        return
    memory.tainted = turn.tainted
    told = [fact for fact in await memory.current() if fact.origin not in ("derived", "tainted")]
    keys = {fact.key for fact in told}
    about = {(fact.subject, fact.attribute) for fact in told if fact.subject and fact.attribute}
    for said, confidence in found:
        same = (normal(said.subject), normal(said.attribute)) in about
        if same or (isinstance(said.key, str) and said.key in keys):
            continue
        origin: Origin = "tainted" if turn.tainted else "derived"
        try:
            await memory.state(
                said, Where(account.run_id, account.node_id, None), confidence=confidence, origin=origin
            )
        except InputError:  # the gate has said why
            continue


async def _asked(services: Services, account: Account, turn: Turn, most: int) -> object:
    text = text_of(turn.messages, CLIP_CHARS)
    request = Request(
        model=account.model.name,
        messages=(Message("system", INSTRUCTION.format(most=most)), Message("user", text)),
        schema=SCHEMA,
        max_output_tokens=MAX_OUTPUT_TOKENS,
        timeout_s=account.provider.timeout_s,
        hints={"node_id": account.node_id, "purpose": "extraction"},
    )
    answered = await services.gate.call(account, Asked(request=request, purpose="extraction"))
    return find_value(answered.reply.text)


def _say(account: Account, failure: Exception) -> None:
    if isinstance(failure, FarthingError):
        error = CallError(code=failure.code, message=failure.message, remedy=failure.remedy)
    else:
        error = CallError(code="extraction.bad_answer", message=str(failure))
    account.journal.say(
        PolicyFailed(
            at=account.journal.clock.now(),
            run_id=account.run_id,
            node_id=account.node_id,
            policy="extraction",
            error=error,
        )
    )

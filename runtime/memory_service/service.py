"""The facts of one Memory node on one shelf, for one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.events import ContextItem, MemoryRefused, MemoryWrite
from runtime.facts import MODEL_KINDS, Fact, FactWrite, Kind, Origin, Shelf, Written
from runtime.journal import Journal
from runtime.memory.candidates import Candidate
from runtime.memory.estimate import Estimator
from runtime.memory.monitor import Reading
from runtime.memory_service import memory_tools
from runtime.memory_service.gate import Refusal, Refused, Statement, normal, refused, with_end
from runtime.memory_service.indexes import Indexes
from runtime.memory_service.injecting import Wish, give
from runtime.memory_service.others import Brought, CountMessages, OtherSessions
from runtime.memory_service.shared import EPISODE, NOTHING, TWICE, Beside, ForContext, Where
from runtime.memory_service.showing import ref_of
from runtime.memory_service.tool_specs import spec_of
from runtime.memory_service.usage_facts import UsageFacts
from runtime.memory_service.uses import Uses
from runtime.messages import ToolSpec
from runtime.record import Access

if TYPE_CHECKING:
    from runtime.memory_service.ageing import Freshness
    from runtime.memory_service.priming import Primed


class MemoryService:
    """The facts of one Memory node on one shelf, for one run.

    `others`: the user's other sessions, where past exchanges may be recalled. `usage`: the budgets that may
    be read. `tainted`: something that came from outside has been seen; what is written from then on is
    marked.
    """

    def __init__(
        self,
        config: Any,
        shelf: Shelf,
        journal: Journal,
        *,
        indexes: Indexes | None = None,
        others: OtherSessions | None = None,
        usage: UsageFacts | None = None,
    ) -> None:
        self.config, self.shelf, self.journal, self.others = config, shelf, journal, others
        self.usage = usage
        self.reading: Reading | None = None
        """How full the last prompt was, where the model's window is known."""
        self.tainted = False
        self.uses = Uses(config.lifecycle)
        self._accesses: dict[str, Access] | None = None
        self._fresh: Freshness | None = None
        self._primed: Primed | None = None
        self._indexes = indexes or Indexes()

    async def current(self, keys: Sequence[str] | None = None) -> list[Fact]:
        """Facts that are there and valid now, in key order."""
        now = self.journal.clock.now()
        found = await self.journal.record.facts(self.shelf, keys=keys)
        return [fact for fact in found if not fact.expired(now)]

    # -- for a context

    async def inject(
        self,
        count: Estimator,
        *,
        query: str = "",
        supporting: int | None = None,
        beside: Beside | None = None,
    ) -> ForContext:
        """What this step's context is given. `count` gives the tokens of a text; `query` is the newest user
        message; `supporting` is the supporting budget in tokens, None where no window is known; `beside` what
        else there is for the sections."""
        facts = [fact for fact in await self.current() if not fact.internal and fact.kind in MODEL_KINDS]
        wish, beside = Wish(query, supporting, self.journal.clock.now(), count), beside or Beside()
        episodes, twice = await self._episodes(wish, beside.prior)
        sections = self._sections
        if not facts and not episodes and not self.config.blocks and not sections:
            return self._with_others(NOTHING, twice, count)
        index = self._indexes.facts(self.shelf)
        primed = await self.primed(count)
        wish = msgspec.structs.replace(wish, first=() if primed is None else primed.facts)
        if sections:
            from runtime.memory_service.laying_out import lay_out

            context = await lay_out(self.config, facts, episodes, index, wish, beside)
        else:
            context = await give(self.config, facts, episodes, index, wish)
        return self._with_others(context, twice, count)

    def sent(self, context: ForContext) -> None:
        """This goes to the model: what is in it counts as used, and taints."""
        shown = context.shown
        if shown is None or not (shown.facts or shown.episodes):
            return
        refs = context.refs
        facts = [fact for fact in shown.facts if ref_of(fact) in refs]
        episodes = [each for each in shown.episodes if each.ref in refs and each.ref.startswith(EPISODE)]
        tainted = any(fact.tainted for fact in facts) or any(each.origin == "tainted" for each in episodes)
        self.tainted = self.tainted or tainted
        self.uses.facts(facts)
        self.uses.exchanges(episodes)

    @property
    def _sections(self) -> bool:
        """Whether memory is laid out in sections."""
        chosen = self.config.supporting
        wanted = (chosen.section_priority, chosen.style, *msgspec.structs.astuple(chosen.headings))
        return any(each is not None for each in wanted)

    async def _episodes(self, wish: Wish, prior: frozenset[str]) -> tuple[list[Candidate], list[Candidate]]:
        """Past exchanges that may be recalled, and those that would be were they not among `prior`."""
        if self.others is None:
            return [], []
        fresh = await self._freshness(wish.now)
        most, now = self.config.episodes, wish.now
        found = await self.others.episodes(
            self.shelf, wish.query, most + len(prior) if most else 0, now, wish.count, fresh
        )
        once = [each for each in found if each.ref not in prior][:most]
        return once, [each for each in found[:most] if each.ref in prior]

    async def _freshness(self, now: datetime) -> Freshness | None:
        """Which exchanges may still be recalled; None where none fades. Uses are counted when a run ends."""
        if not self.config.lifecycle.enabled or not self.config.episodes:
            return None
        from runtime.memory_service.ageing import Freshness

        if self._accesses is None:
            self._accesses = await self.journal.record.accesses(self.shelf)
        self._fresh = Freshness(self.config.lifecycle, self._accesses, now)
        return self._fresh

    def _with_others(self, context: ForContext, twice: Sequence[Candidate], count: Estimator) -> ForContext:
        """The context with what was found on its bill that has faded, or is sent as a turn."""
        faded = self._fresh.faded[: self.config.episodes] if self._fresh is not None else []
        out = [(each.ref, each.text, f"session {each.session_name}", "faded") for each in faded]
        out += [(each.ref, each.text, each.source, TWICE) for each in twice]
        if not out:
            return context
        items = [
            ContextItem(ref=ref, tokens=count(text), source=source, why=why) for ref, text, source, why in out
        ]
        return msgspec.structs.replace(context, left_out=(*context.left_out, *items))

    async def prior(
        self, count: Estimator, count_messages: CountMessages, room: int | None = None
    ) -> Brought:
        """Turns of the user's earlier sessions that come along into this one."""
        from runtime.memory_service.priming import rules_of

        primed = await self.primed(count, room)
        if self.others is None or primed is None:
            return Brought()
        wished, most = rules_of(self.config.priming), rules_of(self.config.priming, room)
        brought = await self.others.prior(
            self.shelf, wished, count_messages, primed.left, most.previous_session_turns
        )
        self.tainted = self.tainted or any(line.tainted for line in brought.lines)
        return brought

    async def primed(self, count: Estimator, room: int | None = None) -> Primed | None:
        """What comes along whatever is asked, the same for the whole run; None where nothing is to. `room`:
        the tokens that a prompt may have, None where the window is not known."""
        if self.others is None or not self.config.priming.enabled:
            return None
        if self._primed is None:
            from runtime.memory_service.exchanges import hidden_by
            from runtime.memory_service.priming import prime, rules_of, summaries_of

            facts, now = await self.current(), self.journal.clock.now()
            hidden = hidden_by(await self.journal.record.fact_versions(self.shelf))
            earlier = summaries_of(facts, self.others.node_id, self.others.session_uid, hidden)
            least = self.config.injection.min_confidence
            rules, wished = rules_of(self.config.priming, room), self.config.priming.max_summaries
            self._primed = prime(facts, earlier, rules, now, least, count, wished)
            tainted = await self.others.tainted_sessions() if self._primed.sessions else frozenset()
            self.tainted = self.tainted or bool(tainted & frozenset(self._primed.sessions))
        return self._primed

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
        return await self.state(Statement(key, value, kind, ttl_s), where, confidence=confidence)

    async def state(
        self, said: Statement, where: Where, *, confidence: float = 1.0, origin: Origin | None = None
    ) -> Written:
        """Write a statement for the model; one that will not hold for long gets an end. What said the same of
        the same subject is retired. Raises Refusal, with its event, where the gate says no."""
        said = msgspec.structs.replace(said, subject=normal(said.subject), attribute=normal(said.attribute))
        await self._gate(said, where)
        said, now = with_end(self.config.write, said), self.journal.clock.now()
        write = FactWrite(
            key=said.key,
            value=said.value,
            kind=said.kind,
            origin=origin or ("tainted" if self.tainted else "model"),
            confidence=confidence,
            valid_from=now,
            valid_to=None if said.ttl_s is None else now + timedelta(seconds=said.ttl_s),
            source=where.run_id,
            step=where.step,
            subject=said.subject,
            attribute=said.attribute,
        )
        return await self.journal.write_fact(self.shelf, write, lambda written: [self._told(written, where)])

    def _told(self, written: Written, where: Where) -> MemoryWrite:
        fact, before = written.fact, written.previous
        keys = (fact.key,) if before is None or before.key == fact.key else (fact.key, before.key)
        return MemoryWrite(
            **self.about(where, keys),
            outcome=written.outcome,
            version=fact.version,
            value=fact.value,
            kind=fact.kind,
            origin=fact.origin,
            valid_to=fact.valid_to,
        )

    async def _gate(self, said: Statement, where: Where) -> None:
        gate = self.config.write
        why = refused(gate, said)
        if why is None:
            known = await self.journal.record.facts(self.shelf)
            if len(known) >= gate.max_facts and all(fact.key != said.key for fact in known):
                why = Refused(
                    "memory.full", f"this memory already holds {len(known)} facts; replace one instead"
                )
        if why is not None:
            shown = str(said.key)[: gate.max_key_chars]
            self.journal.say(MemoryRefused(**self.about(where, (shown,)), code=why.code, message=why.message))
            raise Refusal(f"Not stored: {why.message}.", code=why.code)

    def about(self, where: Where, keys: tuple[str, ...]) -> dict[str, Any]:
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
        return tuple(spec_of(name, with_usage=self.usage is not None) for name in self.config.tools)

    async def call_tool(self, name: str, arguments: Mapping[str, Any], where: Where) -> Any:
        """Carry out a memory tool. Raises InputError with what the model did wrong."""
        return await memory_tools.call(self, name, arguments, where)

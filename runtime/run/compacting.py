"""Compaction of one agent's history in a session: when it is due, and its summaries batch by batch."""

from __future__ import annotations

import msgspec

from runtime.calls import Account, Asked
from runtime.errors import BudgetStop, ModelFailure
from runtime.events import MemoryCompacted
from runtime.facts import FactWrite, Shelf
from runtime.memory.compaction import CompactionRun, Outcome, SummaryCall, plan
from runtime.memory.monitor import Reading
from runtime.memory_service.compacted import Compacted, compacted, key_of, rules_of, turns_of
from runtime.messages import Message, Request
from runtime.plan import PlanNode
from runtime.run.insights import tidy
from runtime.run.services import Services

MAX_OUTPUT_TOKENS = 1000
"""Longest summary of a batch."""


def sums_up(node: PlanNode) -> bool:
    """Whether summaries can stand for old turns in what this agent is sent: its `context` says."""
    context = getattr(node.config, "context", None)
    return context is not None and context.mode in ("full", "buffer")


class Compacting:
    """One compaction. `due`: there is something to sum up; `outcome`: what came of it."""

    def __init__(self, services: Services, node: PlanNode, shelf: Shelf, session_uid: str) -> None:
        assert node.memory is not None
        self._services, self._node, self._shelf = services, node, shelf
        self._session_uid = session_uid
        self._key = key_of(node.id, session_uid)
        self._enabled = bool(node.memory.config.compaction.enabled) and sums_up(node)
        self._rules = rules_of(node.memory.config.compaction)
        self._kept = Compacted()
        self._run: CompactionRun | None = None
        self.outcome: Outcome | None = None

    @property
    def due(self) -> bool:
        return self._run is not None

    async def wanted(self, reading: Reading | None, *, by_hand: bool) -> bool:
        """Take note of a turn's reading and see whether turns are to be summed up now."""
        if not (self._enabled or by_hand):
            return False
        found = await self._services.record.facts(self._shelf, keys=[self._key])
        self._kept = compacted(found[0].value if found else None)
        monitor = self._kept.monitor
        if reading is not None:
            monitor = monitor.recorded(reading, self._rules)
            self._kept = self._kept.watched(monitor)
        why = "by hand" if by_hand else monitor.due(self._rules)
        if why is not None:
            await self._plan(None if by_hand else monitor.latest, monitor.time_budget_ms(self._rules))
        if self._run is None and reading is not None:
            await self._keep(None)
        return self.due

    async def _plan(self, latest: Reading | None, time_budget_ms: int) -> None:
        history = await self._services.record.history(self._session_uid, self._node.id)
        run = plan(
            turns_of(history, self._kept.upto),
            current_tokens=0 if latest is None else latest.total_tokens,
            available_tokens=0 if latest is None else latest.available_tokens,
            time_budget_ms=time_budget_ms if latest else self._rules.critical_max_duration_ms,
            rules=self._rules,
            count=lambda text: self._services.gate.counter.text("", text),
        )
        if run.request() is not None:
            self._run = run

    async def carry_out(self, account: Account) -> None:
        """Ask for summaries until enough is free, time is up or a call fails; what was gained is kept."""
        run = self._run
        assert run is not None
        began = self._services.clock.monotonic()
        before = 0
        while True:
            elapsed_ms = (self._services.clock.monotonic() - began) * 1000
            run = run.at(elapsed_ms)
            wanted = run.request()
            if wanted is None:
                break
            left_s = max(0.1, (run.time_budget_ms - elapsed_ms) / 1000)
            text, error = await self._asked(account, wanted, run.calls, left_s)
            done = len(run.done)
            run = run.failed(error) if error else run.summarised(text, self._count)
            if len(run.done) > done:
                before += wanted.batch.tokens
                parts = (*self._kept.parts, text.strip())
                upto = int(wanted.batch.refs[-1])
                self._kept = msgspec.structs.replace(self._kept, parts=parts, upto=upto)
        self.outcome = run.outcome()
        self._kept = self._kept.watched(self._kept.monitor.completed())
        await account.journal.flush()
        await self._keep(account.run_id)
        account.journal.say(self._told(account, before, self.outcome))
        await tidy(account, self._shelf, self._rules)

    def _count(self, text: str) -> int:
        return self._services.gate.counter.text("", text)

    async def _asked(
        self, account: Account, wanted: SummaryCall, index: int, left_s: float
    ) -> tuple[str, str]:
        """The summary's text, or why there is none."""
        request = Request(
            model=account.model.name,
            messages=(Message("system", wanted.system), Message("user", wanted.user)),
            max_output_tokens=MAX_OUTPUT_TOKENS,
            timeout_s=min(account.provider.timeout_s, left_s),
            hints={"node_id": account.node_id, "purpose": "summary"},
        )
        try:
            asked = Asked(request=request, purpose="summary", index=index, warn=index == 0)
            answered = await self._services.gate.call(account, asked)
        except (ModelFailure, BudgetStop) as failure:
            return "", f"{failure.code}: {failure.message}"
        return answered.reply.text, ""

    async def _keep(self, run_id: str | None) -> None:
        now = self._services.clock.now()
        write = FactWrite(
            key=self._key,
            value=msgspec.to_builtins(self._kept),
            kind="summary",
            origin="derived",
            valid_from=now,
            source=run_id,
        )
        await self._services.record.write_fact(self._shelf, write, now, lambda _written: [], run_id=run_id)

    def _told(self, account: Account, before: int, outcome: Outcome) -> MemoryCompacted:
        late = ("the time budget was used up",) if outcome.out_of_time else ()
        return MemoryCompacted(
            at=self._services.clock.now(),
            run_id=account.run_id,
            node_id=account.node_id,
            namespace=self._shelf.namespace,
            scope=self._shelf.scope,
            keys=(self._key,),
            turns=outcome.turns_summarised,
            tokens_before=before,
            tokens_after=before - outcome.tokens_saved,
            target_met=outcome.target_met,
            errors=(*outcome.errors, *late),
        )

"""Which limits are known to this server: the user's own, and those of flows as they were last run."""

from __future__ import annotations

from collections.abc import Callable

from runtime.errors import BadFlow
from runtime.facts import Partition
from runtime.ledger import CounterKey, Rule
from runtime.plan import read_plan
from runtime.record import SessionFilter
from runtime.run.services import Services

LATEST_RUNS = 20
"""Runs of a flow's latest session that are looked at for a document that is still kept."""
OTHERS = frozenset({"", "settings", "limit"})
"""Beginnings of pots that belong to no flow."""


class Limits:
    """Known limits by what they count. Compiled documents are kept by hash, since lists ask often."""

    def __init__(self, services: Callable[[], Services]) -> None:
        self._services = services
        self._of_hash: dict[str, tuple[Rule, ...]] = {}

    async def flow_names(self, keys: list[CounterKey], partition: Partition) -> dict[str, str]:
        """What the flows of these counters are called, by pot: two flows may name their budgets alike."""
        from runtime.cli.flow_names import name_flows

        flows = {key.pot: flow for key in keys if (flow := _flow_of(key.pot))}
        names = await name_flows(self._services().record, sorted(set(flows.values())), partition)
        return {pot: names.get(flow, flow) for pot, flow in flows.items()}

    async def known(self, keys: list[CounterKey], partition: Partition) -> dict[tuple[str, str, str], Rule]:
        """The limits behind these counters and all of the user's own, by pot, metric and period."""
        rules = [budget.rule for budget in self._services().settings.budgets]
        for flow_id in sorted({_flow_of(key.pot) for key in keys} - {""}):
            rules += await self._of_flow(flow_id, partition)
        return {(rule.pot, rule.metric, rule.period): rule for rule in reversed(rules)}

    async def _of_flow(self, flow_id: str, partition: Partition) -> tuple[Rule, ...]:
        record = self._services().record
        for session in await record.sessions(SessionFilter(partition, flow_id=flow_id, limit=1)):
            for run in list(reversed(await record.runs(session.uid)))[:LATEST_RUNS]:
                if run.flow_hash in self._of_hash:
                    return self._of_hash[run.flow_hash]
                raw = await record.flow_bytes(run.flow_hash)
                if raw is not None:
                    self._of_hash[run.flow_hash] = self._compiled(raw)
                    return self._of_hash[run.flow_hash]
        return ()

    def _compiled(self, raw: bytes) -> tuple[Rule, ...]:
        try:
            plan = read_plan(raw, self._services().registry, lambda: None)
        except BadFlow:  # a node type of it may be gone
            return ()
        return tuple(rule for node in plan.reasoners for rule in node.rules)


def _flow_of(pot: str) -> str:
    """The id of the flow whose budget this is, empty where it is of none."""
    flow_id = pot.rpartition("/")[0]
    return "" if pot.startswith("shared:") or flow_id in OTHERS else flow_id

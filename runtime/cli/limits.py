"""The limits that are known: the user's own and those of flows, found again from what was run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from runtime.cli.find import flow_id_of
from runtime.errors import BadFlow
from runtime.facts import Partition
from runtime.ledger import Rule
from runtime.record import Record, SessionFilter

if TYPE_CHECKING:
    from runtime.plan import Plan
    from runtime.settings import Settings


class Known(NamedTuple):
    """A limit and the flow that it stands in; null: the user's own."""

    rule: Rule
    flow: str | None


def own(settings: Settings) -> list[Known]:
    """The user's own limits."""
    return [Known(budget.rule, None) for budget in settings.budgets]


async def of_flow(record: Record, given: str, partition: Partition) -> list[Known]:
    """The limits of a flow's file, or of a flow as it was last run. Raises what is wrong with a file."""
    if given.startswith("example:") or given.endswith(".json"):
        return of_file(given)
    return await as_last_run(record, await flow_id_of(record, given, partition), partition)


def of_file(given: str) -> list[Known]:
    """The limits of a flow's file."""
    from runtime.cli.files import read_flow

    return of_plan(_plan(read_flow(given).raw, given))


async def as_last_run(record: Record, flow_id: str, partition: Partition) -> list[Known]:
    """The limits of a flow as it was last run; none where that cannot be told any more."""
    for session in await record.sessions(SessionFilter(partition, flow_id=flow_id, limit=1)):
        for run in reversed(await record.runs(session.uid)):
            raw = await record.flow_bytes(run.flow_hash)
            if raw is None:
                continue
            try:
                return of_plan(_plan(raw, run.flow_name))
            except BadFlow:  # a node type of it may be gone
                return []
    return []


def _plan(raw: bytes, name: str) -> Plan:
    from runtime.plan import read_plan
    from runtime.registry import installed

    # Which functions its tools are is of no matter here, and they may not be registered just now.
    return read_plan(raw, installed(), lambda: None, name=name)


def of_plan(plan: Plan) -> list[Known]:
    """Each limit of a plan once."""
    return _once(Known(rule, plan.flow_id) for node in plan.nodes for rule in node.rules)


def _once(found: Iterable[Known]) -> list[Known]:
    return list(
        {(k.rule.pot, k.rule.metric, k.rule.period, k.rule.name, k.rule.limit): k for k in found}.values()
    )


def flows_in(pots: Iterable[str]) -> list[str]:
    """The flow ids whose pots these are."""
    ids = {pot.rpartition("/")[0] for pot in pots if not pot.startswith("shared:")}
    return sorted(ids - {"", "settings", "limit"})

"""Which budget a command means by a name, and on which counter it is."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import Any, NamedTuple

from runtime.cli import options
from runtime.cli.find import find_session, session_of_run
from runtime.cli.flow_names import name_flows
from runtime.cli.limits import Known, as_last_run, flows_in, of_flow, own
from runtime.errors import BadInput, NotFound
from runtime.facts import Partition
from runtime.ledger import CounterKey, Rule, Subject, counter_key
from runtime.record import Record


class Which(NamedTuple):
    """Whose budget of which flow is meant."""

    name: str
    user_id: str
    flow: str | None
    session: str | None
    run_id: str | None
    partition: Partition


async def named(record: Record, settings: Any, which: Which) -> Known:
    """The one limit of that name: the user's own, the named flow's, or that of a flow that was run."""
    name, flow, partition = which.name, which.flow, which.partition
    if flow is not None:
        candidates = await of_flow(record, flow, partition)
    else:
        candidates = own(settings)
        for flow_id in flows_in(line.key.pot for line in await record.all_counters(partition)):
            candidates += await as_last_run(record, flow_id, partition)
    found = [known for known in candidates if name in (known.rule.name, _own_name(known))]
    if len(found) == 1:
        return found[0]
    if not found:
        names = sorted({known.rule.name for known in candidates})
        raise NotFound(
            f"There is no budget {name!r}" + (f" in {flow}." if flow else "."),
            remedy=f"There are: {', '.join(names)}." if names else "Give --flow FLOW, the file it stands in.",
        )
    raise await _ambiguous(record, name, found, partition)


def _own_name(known: Known) -> str | None:
    """How one of the user's own is told from a flow's of that name: `settings/NAME`."""
    return known.rule.pot if known.flow is None else None


async def _ambiguous(record: Record, name: str, found: list[Known], partition: Partition) -> BadInput:
    """Several budgets of one name, each with the words that mean it alone."""
    ids = sorted({known.flow for known in found if known.flow is not None})
    own_names = [each for known in found if (each := _own_name(known)) is not None]
    if len(ids) + len(own_names) < len(found):
        return BadInput(
            f"{len(found)} budgets of one flow are called {name!r}.",
            remedy="Name each differently in the flow.",
        )
    names = await name_flows(record, ids, partition)
    called = {flow_id: names.get(flow_id, flow_id) for flow_id in ids}
    twice = [each for each in ids if called[each].endswith(f"({each})")]
    places = [*(f"the flow {called[each]}" for each in ids), *("your settings" for _ in own_names)]
    ways = [f"--flow {shlex.quote(each if each in twice else called[each])}" for each in ids]
    return BadInput(
        f"{len(found)} budgets are called {name!r}, in {' and '.join(places)}.",
        remedy=f"Give {' or '.join([*ways, *own_names])}.",
    )


async def key_of(record: Record, rule: Rule, which: Which, now: datetime) -> CounterKey:
    """The counter that is meant. Raises BadInput where its session or run is not named, or something is that
    says nothing about it, and NotFound where there is no such session or run."""
    _refuse_beside(rule)
    uid = ""
    if rule.period == "session":
        if which.session is None:
            raise BadInput(f"The budget {rule.name!r} counts by session.", remedy="Give --session NAME.")
        found = await find_session(
            record, which.session, partition=which.partition, user_id=which.user_id, flow=which.flow
        )
        uid = found.uid
    if rule.period == "run":
        if which.run_id is None:
            raise BadInput(
                f"The budget {rule.name!r} counts by run.", remedy="Give --run ID, or change the flow."
            )
        await session_of_run(record, which.run_id)
    return counter_key(rule, Subject(which.partition, which.user_id, uid, which.run_id or ""), now)


def _refuse_beside(rule: Rule) -> None:
    """Options that choose among other counters than this budget has."""
    each = {"run": "each run", "session": "each session"}.get(rule.period, f"{rule.period} for each user")
    why = f"for the budget {rule.name!r}, which counts {'all users together' if rule.everyone else each}"
    names = [name for name, period in (("run_id", "run"), ("session", "session")) if rule.period != period]
    options.refuse_unused(why, *names, *(["user_id"] if rule.everyone or rule.period == "run" else []))

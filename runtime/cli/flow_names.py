"""What people call flows, where a table has their ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runtime.facts import Partition
from runtime.record import Record, SessionFilter, SpendLine


async def flow_names(
    record: Record, lines: Sequence[SpendLine], groups: Sequence[str], partition: Partition
) -> dict[str, str]:
    """What people call the flows of these sums, by id; an id whose name is not its own stays."""
    if "flow" not in groups:
        return {}
    at = groups.index("flow")
    return await name_flows(record, {flow for line in lines if (flow := line.group[at])}, partition)


async def name_flows(record: Record, ids: Collection[str], partition: Partition) -> dict[str, str]:
    """What people call these flows, by id; a name that several have is told apart by the id."""
    names: dict[str, str] = {}
    for flow_id in ids:
        for session in await record.sessions(SessionFilter(partition, flow_id=flow_id, limit=1)):
            names[session.flow_id] = session.flow_name
    twice = [name for name in names.values() if list(names.values()).count(name) > 1]
    return {flow_id: name if name not in twice else f"{name} ({flow_id})" for flow_id, name in names.items()}

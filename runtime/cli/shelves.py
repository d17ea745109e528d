"""Which shelves of facts a command means, from the user, session, flow, namespace and scope given."""

from __future__ import annotations

from typing import NamedTuple

from runtime.cli.find import find_session, flow_id_of
from runtime.cli.plain import one_line
from runtime.errors import BadInput, NotFound
from runtime.facts import Partition, Scope, Shelf
from runtime.names import check_name, check_names
from runtime.record import Record


class Where(NamedTuple):
    """What the command line says about shelves; null: any."""

    partition: Partition = "real"
    user_id: str | None = None
    session: str | None = None
    flow: str | None = None
    namespace: str | None = None
    scope: Scope | None = None


async def matching(record: Record, where: Where) -> list[Shelf]:
    """The shelves with facts that fit."""
    namespace = await _namespace(record, where)
    uid = await _session_uid(record, where)
    return [
        shelf
        for shelf, _ in await record.shelves(where.partition, where.user_id)
        if namespace in (None, shelf.namespace)
        and where.scope in (None, shelf.scope)
        and uid in (None, shelf.owner)
    ]


async def one(record: Record, where: Where, *, user: str) -> Shelf:
    """The one shelf meant by a command that changes it: the flow's or the namespace's, of the session where
    one is named, else of the user. Raises BadInput or NotFound."""
    namespace = await _namespace(record, where)
    uid = await _session_uid(record, where)
    scope: Scope = where.scope or ("session" if uid is not None else "user")
    if scope == "session" and uid is None:
        raise BadInput("Facts of a session need a session.", remedy="Give --session NAME.")
    if scope == "user" and uid is not None:
        raise BadInput("Facts of a user belong to no session.", remedy="Leave --session or --scope out.")
    owner = uid if uid is not None else user
    if namespace is not None:
        return Shelf(where.partition, namespace, scope, owner)
    found = [
        s
        for s in await matching(record, where._replace(user_id=user))
        if (s.scope, s.owner) == (scope, owner)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(
            f"No facts of {'session' if uid else 'user'} {owner!r} are kept yet, so it is open where to.",
            remedy="Give --flow FLOW or --namespace NAME.",
        )
    names = ", ".join(one_line(shelf.namespace) for shelf in found)
    raise BadInput(f"There are {len(found)} namespaces: {names}.", remedy="Give --namespace NAME.")


def check_shelf(shelf: Shelf) -> None:
    """That facts may be put there: raises BadInput where its user or namespace can have no such name."""
    if shelf.scope == "user":
        check_names(user=shelf.owner)
    check_name(shelf.namespace, "The namespace", "Give another namespace.")


async def _namespace(record: Record, where: Where) -> str | None:
    if where.namespace is not None or where.flow is None:
        return where.namespace
    return await flow_id_of(record, where.flow, where.partition)


async def _session_uid(record: Record, where: Where) -> str | None:
    if where.session is None:
        return None
    line = await find_session(
        record, where.session, partition=where.partition, user_id=where.user_id, flow=where.flow
    )
    return line.uid

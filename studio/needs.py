"""What a flow needs granted before it may run here, and whether its user has granted it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from runtime.cli.files import examples_folder
from runtime.errors import NotGranted
from runtime.plan import Plan
from runtime.record import Record
from runtime.trust import Grants, add_grant, check_granted, grants_path, needs_hash, read_grants, say_needs
from studio.api.errors import Refused
from studio.api.route import forbidden
from studio.roles import Credential
from studio.state import Studio


class Wanted(NamedTuple):
    """What a flow needs, as `kind what`; `granted`: nothing stands in its way."""

    needs: tuple[str, ...]
    hash: str | None
    granted: bool

    def lines(self, who: Credential) -> list[str]:
        """One line for a person for each need. Only operators are told where other files lie."""
        if who.operator:
            return list(say_needs(self.needs))
        told = say_needs(need for need in self.needs if not need.startswith("id "))
        return [*told, *(["go by the id of another flow"] if len(told) < len(set(self.needs)) else [])]


async def wanted(studio: Studio, plan: Plan, place: Path | None, *, bundled: bool = False) -> Wanted:
    """What this flow needs, from what it says and from where its id was met before. `place` is its file,
    resolved. `bundled`: it came with Farthing and needs nothing."""
    if bundled:
        return Wanted((), None, True)
    needs = (*plan.needs, *await _met_elsewhere(studio.record, plan.flow_id, place))
    if not needs:
        return Wanted((), None, True)
    digest = needs_hash(needs)
    return Wanted(needs, digest, _grants(studio).has(plan.flow_id, digest))


async def require(studio: Studio, who: Credential, plan: Plan, found: Wanted, allow: str | None) -> None:
    """Passes where everything is granted, or `allow` grants it now, which only an operator may. Raises 422
    with the needs and their hash, or 403."""
    if found.granted:
        return
    if allow is not None and not who.operator:
        raise forbidden("Only an operator grants what a flow needs.")
    try:
        check_granted(plan.flow_id, found.needs, _grants(studio), allow)
    except NotGranted as error:
        raise Refused(
            422,
            error.code,
            f"This flow wants to {'; '.join(found.lines(who))}.",
            "Look at what it wants; an operator can allow it.",
            needs=found.lines(who),
            needs_hash=found.hash,
        ) from None
    place = grants_path(studio.settings.data)
    add_grant(place, plan.flow_id, found.needs, at=studio.services.clock.now(), by=who.user)


async def _met_elsewhere(record: Record, flow_id: str, place: Path | None) -> tuple[str, ...]:
    """Other files that this id was run from: a copy of it, or a draft from anywhere, could otherwise read
    what they remember. The examples' own files are no secret from their drafts."""
    examples = str(examples_folder().resolve())
    return tuple(
        f"id {path}"
        for path in await record.flow_paths(flow_id)
        if path != str(place) and not path.startswith(examples)
    )


def _grants(studio: Studio) -> Grants:
    return read_grants(grants_path(studio.settings.data))

"""Everything that can be refused is refused here, before a run is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from runtime.errors import BadInput
from runtime.ledger import EVERYONE, Rule
from runtime.messages import LanguageModel
from runtime.names import check_names
from runtime.plan import Plan, PlanNode, read_plan
from runtime.providers import SCRIPTED
from runtime.record import SessionKey
from runtime.run.input import shape_input
from runtime.run.limits import parse_limit
from runtime.run.services import Assignment, Assignments, Services, script_beside, side
from runtime.run.windows import check_windows


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, on what, for whom.

    `input` is a text, an object or null. `session` null: a new one. `user` null: nobody, which flows with
    user scope or user periods refuse. `limits` are `metric=amount`; `rules` are further limits of the
    caller's. `allow` is the hash of the needs that the user grants. `trusted`: the flow came with Farthing
    itself or from the caller's own program. `real_tools`: in a rehearsal, tools that change something run.
    """

    flow_bytes: bytes
    flow_path: Path | None = None
    input: Any = None
    session: str | None = None
    user: str | None = None
    model: str | None = None
    limits: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    allow: str | None = None
    real_tools: bool = False
    script: Path | None = None
    trusted: bool = False


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A run that may be started: everything about it was checked."""

    request: RunRequest
    plan: Plan
    assignments: Assignments
    value: Any
    session: SessionKey
    model: str | None

    @property
    def rehearsal(self) -> bool:
        return self.session.partition == "rehearsal"


def prepare(request: RunRequest, services: Services) -> Prepared:
    """Check everything that can be checked before a run. Raises InputError with what to do."""
    name = request.flow_path.name if request.flow_path is not None else "the flow"
    folder = request.flow_path.resolve().parent if request.flow_path is not None else None
    plan = read_plan(request.flow_bytes, services.registry, services.find_tools, folder, name=name)
    assignments = _assign(request, plan, services)
    check_names(request.user, request.session)
    _no_secret_names(request, services)
    _no_inner_session(request)
    _needs_user(request, plan, assignments)
    check_windows(plan, assignments)
    partition = _partition(assignments)
    model = next((str(given[0].model) for given in assignments.values()), None)
    return Prepared(
        request=request,
        plan=plan,
        assignments=assignments,
        value=shape_input(plan, request.input),
        session=SessionKey(partition, request.user, plan.flow_id, request.session or services.clock.new_id()),
        model=model,
    )


def _no_inner_session(request: RunRequest) -> None:
    """`@maintenance` of a flow and user takes the events of maintenance, which are no turns."""
    if request.session is not None and request.session.startswith("@"):
        raise BadInput(
            f"Sessions whose names begin with @ are Farthing's own, such as {request.session[:100]!r}.",
            remedy="Give the session another name.",
        )


async def check_trust(prepared: Prepared, services: Services) -> None:
    """Raises NotGranted where the flow needs what its user has not granted. What `allow` grants is kept."""
    plan, request = prepared.plan, prepared.request
    if request.trusted:
        return
    needs = set(plan.needs)
    if request.flow_path is not None:
        here = str(request.flow_path.resolve())
        known = await services.record.flow_paths(plan.flow_id)
        needs |= {f"id {path}" for path in known if path != here}
    if not needs:
        return
    from runtime.trust import add_grant, check_granted, grants_path, needs_hash, read_grants

    path = grants_path(services.settings.data)
    grants = read_grants(path)
    check_granted(plan.flow_id, needs, grants, request.allow)
    if not grants.has(plan.flow_id, needs_hash(needs)):
        add_grant(path, plan.flow_id, needs, at=services.clock.now(), by=request.user or "nobody")


def _assign(request: RunRequest, plan: Plan, services: Services) -> Assignments:
    """The models of every node that may call one, and the limits that govern them."""
    settings = services.settings
    given = (*request.rules, *(parse_limit(text) for text in request.limits))
    script = request.script or script_beside(request.flow_path)
    scripted: list[LanguageModel] = []

    def assign(node: PlanNode, wish: str | None) -> Assignment:
        provider, model = settings.resolve_model(request.model, wish)
        if provider.name != SCRIPTED:
            client = services.clients.client(provider)
        else:  # one script for the whole run
            client = scripted[0] if scripted else services.clients.client(provider, script)
            scripted[:] = [client]
        rules = (*node.rules, *settings.rules_for(plan.flow_id, provider.name), *given)
        return Assignment(provider, model, client, rules)

    found: Assignments = {}
    for node in plan.reasoners:
        wishes = [
            node.config.model,
            *(getattr(node.config, "fallback_models", ()) if not request.model else ()),
        ]
        found[node.id] = tuple(assign(node, wish) for wish in wishes)
        beside = getattr(getattr(node.config, "context", None), "model", None) or _compacts_with(node)
        if beside is not None:
            found[side(node.id)] = (assign(node, beside),)
    return found


def _compacts_with(node: PlanNode) -> str | None:
    """The model that sums up this agent's old turns, where its Memory names one."""
    if node.memory is None or not node.memory.config.compaction.enabled:
        return None
    model: str | None = node.memory.config.compaction.model
    return model


def _partition(assignments: Assignments) -> Any:
    """`rehearsal` where every model is scripted. Raises BadInput for a mixture."""
    used = [(name, given) for name, all_given in assignments.items() for given in all_given]
    kinds = {given.provider.name == SCRIPTED for _, given in used}
    if len(kinds) > 1:
        real, given = next(pair for pair in used if pair[1].provider.name != SCRIPTED)
        raise BadInput(
            f"Some agents would rehearse and {real!r} would call {given.model}.",
            code="model.mixed",
            remedy="Name a model for all of them with --model, or --model scripted to rehearse them all.",
        )
    return "rehearsal" if kinds == {True} else "real"


def _no_secret_names(request: RunRequest, services: Services) -> None:
    """Ids are stored exactly as given, so none may hold a configured secret."""
    redactor = services.redactor
    for what, name in (("session", request.session), ("user", request.user)):
        if redactor is not None and name is not None and redactor.text(name) != name:
            raise BadInput(
                f"The {what}'s name holds a configured secret, and names are stored as they are.",
                code="run.secret_name",
                remedy=f"Give another --{what}.",
            )


def _needs_user(request: RunRequest, plan: Plan, assignments: Assignments) -> None:
    if request.user == EVERYONE:
        raise BadInput(
            f"{EVERYONE!r} cannot be the id of a user: budgets count all users together under it.",
            code="run.bad_user",
            remedy="Give --user ID.",
        )
    if request.user is not None:
        return
    reason = plan.needs_user()
    for given in (each for all_given in assignments.values() for each in all_given):
        for rule in given.rules:
            if rule.period not in ("run", "session") and not rule.everyone:
                reason = reason or f"the budget {rule.name!r} counts {rule.period} use of a user"
    if reason is not None:
        raise BadInput(
            f"This run needs a user, since {reason}.", code="run.needs_user", remedy="Give --user ID."
        )

"""Starting a run and seeing it through: from a flow's bytes and an input to an outcome.

`execute` is what the command line, the studio and tests call. Everything that can be refused is refused
before the run is claimed; from then on the run always ends with a state, whatever happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from runtime.calls import to_the_end
from runtime.errors import BadInput, FarthingError, StoreError
from runtime.events import CallError, Entry, Event, Gauge, RunFinished, RunStarted
from runtime.journal import Journal
from runtime.ledger import Rule, Subject, counter_key, gauge
from runtime.messages import LanguageModel, Message
from runtime.plan import Plan, PlanNode, compile_flow
from runtime.providers import SCRIPTED
from runtime.record import Claimed, RunEnd, RunStart, RunTotals, SessionKey
from runtime.run.input import shape_input
from runtime.run.limits import parse_limit
from runtime.run.schedule import Run
from runtime.run.services import Assignment, Assignments, OnDelta, Services, script_beside, side
from runtime.spec import load_flow
from runtime.usage import Usage

OnEvent = Callable[[Entry], None]


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


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a run. `cost` sums the known costs in nano-dollars; `unknown` counts those without."""

    run_id: str
    session_uid: str
    session_name: str
    state: str
    outputs: dict[str, Any] = {}
    usage: Usage = Usage()
    cost: int = 0
    unknown: int = 0
    gauges: tuple[Gauge, ...] = ()
    error: CallError | None = None
    rehearsal: bool = False
    exit_code: int = 0


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
    loaded = load_flow(request.flow_bytes, name=name)
    plan = compile_flow(loaded, services.registry, services.find_tools, folder)
    assignments = _assign(request, plan, services)
    _needs_user(request, plan, assignments)
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


async def execute(
    request: RunRequest,
    services: Services,
    on_event: OnEvent | None = None,
    on_delta: OnDelta | None = None,
) -> Outcome:
    """Run a flow to its end. Raises InputError or StoreError where it cannot begin; a run that began gives
    an outcome, whatever its state. Cancelling the awaiting task ends the run as cancelled and re-raises."""
    return await start(prepare(request, services), services, on_event, on_delta).outcome()


def start(
    prepared: Prepared,
    services: Services,
    on_event: OnEvent | None = None,
    on_delta: OnDelta | None = None,
) -> ActiveRun:
    """Begin a prepared run in the background."""
    return ActiveRun(prepared, services, on_event, on_delta)


class ActiveRun:
    """A run under way: it can be awaited and cancelled; twice is harmless."""

    def __init__(
        self, prepared: Prepared, services: Services, on_event: OnEvent | None, on_delta: OnDelta | None
    ) -> None:
        self.run_id = services.clock.new_id()
        self.prepared, self._services = prepared, services
        self._on_delta = on_delta
        self._journal = Journal(services.record, self.run_id, services.clock, on_event)
        self._cancelled = False
        self._driving: asyncio.Task[None] | None = None
        self._began = services.clock.monotonic()
        self.claimed: asyncio.Future[Claimed] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._see_through())

    def cancel(self) -> None:
        """Ask the run to end at once; its model request is aborted and settled."""
        self._cancelled = True
        if self._driving is not None:
            self._driving.cancel()

    async def outcome(self) -> Outcome:
        """Wait for the end."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.wait([self._task])
            raise

    async def _see_through(self) -> Outcome:
        """Claim, drive, finish. Only the driving is ever cancelled: what was claimed is always finished."""
        claimed = await self._claim()
        run: Run | None = None
        state, error = "cancelled", None
        try:
            run = await self._run(claimed)
            if not self._cancelled:
                self._driving = asyncio.create_task(run.drive())
                await self._driving
                state, error = ("failed" if run.failure else "completed"), run.failure
        except asyncio.CancelledError:
            state = "cancelled"
        except FarthingError as failure:
            state, error = "failed", failure
        outcome, _ = await to_the_end(self._finish(claimed, run, state, error))
        return outcome

    async def _claim(self) -> Claimed:
        """Begin the run in the store, once its flow may do what it needs. Whoever waits for `claimed` is told
        an error too."""
        try:
            await check_trust(self.prepared, self._services)
            claimed = await self._claim_now()
        except BaseException as error:
            self.claimed.set_exception(error)
            self.claimed.exception()  # the task tells it too; nobody need ask here
            raise
        self.claimed.set_result(claimed)
        return claimed

    async def _claim_now(self) -> Claimed:
        prepared, services, now = self.prepared, self._services, self._services.clock.now()
        plan, request = prepared.plan, prepared.request
        begin = RunStart(
            run_id=self.run_id,
            session=prepared.session,
            flow_name=plan.name,
            flow_hash=plan.hash,
            flow=plan.raw,
            flow_path=None if request.flow_path is None else str(request.flow_path.resolve()),
            model=prepared.model,
            input=self._clean(prepared.value),
            at=now,
        )
        said = RunStarted(
            at=now,
            run_id=self.run_id,
            flow_id=plan.flow_id,
            flow_name=plan.name,
            flow_hash=plan.hash,
            model=prepared.model,
            rehearsal=prepared.rehearsal,
            input=begin.input,
        )
        (claimed, entries), _ = await to_the_end(services.record.claim(begin, [said]))
        self._journal.publish(entries)
        return claimed

    async def _run(self, claimed: Claimed) -> Run:
        prepared, services = self.prepared, self._services
        histories: dict[str, list[Message]] = {}
        for node in prepared.plan.reasoners if not claimed.session_new else ():
            context = getattr(node.config, "context", None)
            if context is not None and context.mode != "none":
                last = context.keep if context.mode == "buffer" else None
                histories[node.id] = await services.record.history(claimed.session_uid, node.id, last=last)
        return Run(
            prepared.plan,
            services,
            self._journal,
            run_id=self.run_id,
            session_uid=claimed.session_uid,
            user=prepared.session.user_id,
            partition=prepared.session.partition,
            assignments=prepared.assignments,
            value=self._clean(prepared.value),
            histories=histories,
            on_delta=self._on_delta,
            real_tools=prepared.request.real_tools,
        )

    async def _finish(
        self, claimed: Claimed, run: Run | None, state: str, failure: FarthingError | None
    ) -> Outcome:
        services, now = self._services, self._services.clock.now()
        outputs = dict(run.outputs) if run is not None and state == "completed" else {}
        error = None
        if failure is not None:
            error = CallError(code=failure.code, message=failure.message, remedy=failure.remedy)
        totals = RunTotals(Usage(), 0, 0)

        def said(found: RunTotals) -> list[Event]:
            nonlocal totals
            totals = found
            return [
                RunFinished(
                    at=now,
                    run_id=self.run_id,
                    state=state,
                    outputs=outputs,
                    usage=found.usage,
                    cost=found.cost,
                    unknown_cost=found.unknown,
                    error=error,
                    ms=round((services.clock.monotonic() - self._began) * 1000),
                )
            ]

        end = RunEnd(
            run_id=self.run_id,
            state=state,  # type: ignore[arg-type]
            outputs=outputs,
            error=None if error is None else msgspec.to_builtins(error),
            turns=tuple(run.turns) if run is not None and state == "completed" else (),
            at=now,
        )
        await self._journal.finish(end, said)
        return Outcome(
            run_id=self.run_id,
            session_uid=claimed.session_uid,
            session_name=self.prepared.session.name,
            state=state,
            outputs=outputs,
            usage=totals.usage,
            cost=totals.cost,
            unknown=totals.unknown,
            gauges=await self._gauges(claimed),
            error=error,
            rehearsal=self.prepared.rehearsal,
            exit_code=130 if state == "cancelled" else failure.exit_code if failure is not None else 0,
        )

    async def _gauges(self, claimed: Claimed) -> tuple[Gauge, ...]:
        """How the budgets that governed the run stand after it, each once, in plan order."""
        services, session, now = self._services, self.prepared.session, self._services.clock.now()
        rules: dict[tuple[Any, ...], Rule] = {}
        for given in (first for first, *_ in self.prepared.assignments.values()):
            for rule in given.rules:
                rules.setdefault((rule.pot, rule.metric, rule.period, rule.limit), rule)
        if not rules:
            return ()
        subject = Subject(session.partition, session.user_id, claimed.session_uid, self.run_id)
        keys = [counter_key(rule, subject, now) for rule in rules.values()]
        try:
            counters = await services.record.counters(keys)
        except StoreError:  # the run has ended and is recorded; its gauges can be read later
            return ()
        return tuple(gauge(rule, c, now) for rule, c in zip(rules.values(), counters, strict=True))

    def _clean(self, value: Any) -> Any:
        """The input with every configured secret's value replaced."""
        redactor = self._services.redactor
        return value if redactor is None else redactor.value(value)


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
        beside = getattr(getattr(node.config, "context", None), "model", None)
        if beside is not None:
            found[side(node.id)] = (assign(node, beside),)
    return found


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


def _needs_user(request: RunRequest, plan: Plan, assignments: Assignments) -> None:
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

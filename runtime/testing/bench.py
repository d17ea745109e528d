"""A place to run flows in one test: a store, a clock and scripted models of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from runtime.calls import Clients
from runtime.clock import Clock, VirtualClock
from runtime.errors import BadInput
from runtime.events import Entry, Event
from runtime.messages import LanguageModel, Request
from runtime.models.scripted import ScriptedModel
from runtime.providers import Provider
from runtime.record import Record
from runtime.registry import Registry
from runtime.run.services import Services, script_beside
from runtime.run.start import Outcome, RunRequest, execute
from runtime.settings import Settings, load_settings
from runtime.store.opening import open_record
from runtime.testing.golden import golden
from runtime.tools.registry import installed_tools

Flow = Path | str | bytes | Mapping[str, Any]


class Ran(NamedTuple):
    """What a test looks at: the outcome, the run's events in order, and what the model was sent."""

    outcome: Outcome
    events: tuple[Event, ...]
    requests: tuple[Request, ...]

    @property
    def text(self) -> str:
        """The one output as text. Raises BadInput where there is not exactly one."""
        if len(self.outcome.outputs) != 1:
            raise BadInput(
                f"The run gave {len(self.outcome.outputs)} outputs, not one.",
                remedy="Read `outcome.outputs`.",
            )
        return str(next(iter(self.outcome.outputs.values())))

    def of(self, *types: str) -> list[Any]:
        """The events of these types, in order."""
        return [event for event in self.events if event.__struct_config__.tag in types]

    def timeline(self) -> list[dict[str, Any]]:
        """The golden form of the events: see `golden`."""
        return golden(self.events)


class FixedClients(Clients):
    """Gives one model whatever the provider is: no request can leave the machine."""

    def __init__(self, clock: Clock, model: LanguageModel) -> None:
        super().__init__(clock)
        self.model = model

    def client(self, provider: Provider, script: Path | None = None) -> LanguageModel:
        return self.model


class Bench:
    """A place to run flows in one test: one store, one clock, one scripted model after another.

    `record` null: in memory. `settings` null: no file, no environment. `tools` are functions that flows can
    name beside the installed ones.
    """

    def __init__(
        self,
        *,
        record: Record | None = None,
        clock: Clock | None = None,
        settings: Settings | None = None,
        registry: Registry | None = None,
        tools: Sequence[Callable[..., Any]] = (),
    ) -> None:
        self.clock = clock or VirtualClock()
        self.record = record or open_record(None, self.clock)
        self.settings = settings or load_settings({"FARTHING_CONFIG": os.devnull}, folder=None)
        self._registry = registry
        self._tools = installed_tools(self.settings.tool_files, tools)
        self._opened = False

    async def __aenter__(self) -> Bench:
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.record.close()

    async def open(self) -> None:
        """Open the store, once."""
        if not self._opened:
            await self.record.open()
            self._opened = True

    async def run(
        self,
        flow: Flow,
        input: Any = None,  # noqa: A002  # the word that flows, commands and events use
        *,
        script: Script | None = None,
        user: str | None = "local",
        session: str | None = "test",
        model: LanguageModel | None = None,
        limits: Sequence[str] = (),
        strict: bool = False,
        name: str | None = None,
        streamed: bool = False,
        real_tools: bool = False,
    ) -> Ran:
        """Run a flow. `script` is a list of replies for any node, a mapping of lists by node id, or a script
        file's path; absent: the one beside the flow's file, else rehearsal by rule. `strict`: nothing is made
        up once the script is used up. `name` asks for a model by name, as --model does. `streamed`: answers
        are read as they come, as the command and the studio do. `real_tools`: tools that change something
        run too, as with --real-tools."""
        await self.open()
        raw, path = flow_bytes(flow)
        chosen = model or scripted(script if script is not None else script_beside(path), self.clock, strict)
        services = Services(
            self.record,
            self.settings,
            self.clock,
            registry=self._registry,
            clients=FixedClients(self.clock, chosen),
            tools=self._tools,
        )
        entries: list[Entry] = []
        request = RunRequest(
            flow_bytes=raw,
            flow_path=path,
            input=input,
            session=session,
            user=user,
            model=name,
            limits=tuple(limits),
            trusted=True,
            real_tools=real_tools,
        )
        outcome = await execute(request, services, entries.append, _unheard if streamed else None)
        await services.maintenance.idle()
        requests = tuple(chosen.requests) if isinstance(chosen, ScriptedModel) else ()
        ordered = sorted(entries, key=lambda entry: entry.seq)
        return Ran(outcome, tuple(entry.event for entry in ordered), requests)


async def run_flow(flow: Flow, input: Any = None, **how: Any) -> Ran:  # noqa: A002
    """Run a flow once in a store of its own; see `Bench.run` for the arguments."""
    async with Bench() as bench:
        return await bench.run(flow, input, **how)


def _unheard(_node_id: str, _text: str) -> None:
    """Nobody reads the pieces; that somebody could is what counts."""


def flow_bytes(flow: Flow) -> tuple[bytes, Path | None]:
    """A flow's bytes and path, from a path, JSON or a mapping."""
    if isinstance(flow, bytes):
        return flow, None
    if isinstance(flow, Mapping):
        return msgspec.json.encode(flow), None
    path = Path(flow)
    return path.read_bytes(), path


Script = Path | str | Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Mapping[str, Any]]]


def scripted(script: Script | None, clock: Clock, strict: bool = False) -> ScriptedModel:
    """The scripted model of a script file, of replies for any node, or of replies by node id."""
    if script is None:
        return ScriptedModel(clock=clock, strict=strict)
    if isinstance(script, (str, Path)):
        return ScriptedModel.from_file(Path(script), clock, strict=strict)
    replies = script if isinstance(script, Mapping) else {"*": script}
    return ScriptedModel.playing(replies, clock=clock, strict=strict)

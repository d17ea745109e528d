"""Starting a run and seeing it through: from a flow's bytes and an input to an outcome.

`execute` is what the command line, the studio and tests call. Everything that can be refused is refused
before the run is claimed; from then on the run always ends with a state, whatever happens.
"""

from __future__ import annotations

from runtime.run.active import ActiveRun, OnEvent, Outcome
from runtime.run.prepare import Prepared, RunRequest, check_trust, prepare
from runtime.run.services import OnDelta, Services

__all__ = [
    "ActiveRun",
    "OnEvent",
    "Outcome",
    "Prepared",
    "RunRequest",
    "check_trust",
    "execute",
    "prepare",
    "start",
]


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

"""`run --record`: the run is heard, and what the models answered becomes a script."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.cli.plain import visible
from runtime.cli.streams import say
from runtime.errors import FarthingError

if TYPE_CHECKING:
    from runtime.events import Entry
    from runtime.run.recording import Recording
    from runtime.run.services import Services


@contextlib.contextmanager
def recorded(
    path: Path | None, services: Services, on_event: Callable[[Entry], None]
) -> Iterator[Callable[[Entry], None]]:
    """Gives what a run's events go to. With a path, what its models answer is kept there, however it ends.

    Raises BadInput, before anything is run, where that file cannot be made.
    """
    if path is None:
        yield on_event
        return
    from runtime.run.recording import Recording

    recording = Recording(path)
    services.clients = recording.over(services.clients)

    def hear(entry: Entry) -> None:
        recording.hear(entry)
        on_event(entry)

    try:
        yield hear
    except FarthingError:  # the run could not begin, which is told elsewhere
        recording.drop()
        raise
    _write(recording, services)


def _write(recording: Recording, services: Services) -> None:
    """A script that cannot be written takes nothing from the run, which has been paid for."""
    name = visible(str(recording.path))
    try:
        count = recording.write(services.redactor)
    except OSError as error:
        say(f"not recorded: {name} cannot be written: {error.strerror}", "red")
        return
    if count:
        say(f"recorded {count} {'reply' if count == 1 else 'replies'} in {name}", "dim")
    else:
        say("nothing to record: no model answered", "dim")

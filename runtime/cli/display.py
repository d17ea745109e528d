"""How this command line shows things: `[display]` of the settings, read when it is first asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from runtime.settings import Display

KEPT = "runtime.cli.display"
"""Where a command line keeps it, for itself and the commands below it."""


def display() -> Display:
    """What the user chose; in a run, with what the flow's folder chose where the user did not."""
    kept = click.get_current_context(silent=True)
    found: Display | None = None if kept is None else kept.meta.get(KEPT)
    if found is None:
        from runtime.settings import load_display

        found = load_display(os.environ)
        keep_display(found)
    return found


def keep_display(chosen: Display) -> None:
    """Show things in this way for as long as this command line lasts."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[KEPT] = chosen

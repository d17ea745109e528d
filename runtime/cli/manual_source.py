"""The manual's source: what every command of Farthing's own says of itself, read from the commands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

import click

from runtime.cli.group import OWN, plugins

OURS = ("runtime.", "studio.")
"""Where Farthing's own commands live; those of other packages are not in its manual."""
EXIT_CODES = (
    (0, "done"),
    (1, "failed"),
    (2, "bad input or usage"),
    (3, "stopped by a budget"),
    (4, "paused"),
    (130, "cancelled"),
)
FILES = (
    ("$FARTHING_CONFIG", "the settings; else farthing/config.toml in the system's folder for settings"),
    ("$FARTHING_DB", "the database; else farthing/farthing.db in the system's folder for data"),
    ("NAME.script.json", "beside a flow: what the scripted model answers"),
)
VARIABLES = (
    ("FARTHING_MODEL", "the model, as provider:name"),
    ("FARTHING_BASE_URL, FARTHING_API_KEY", "one endpoint and its key for everything"),
    ("FARTHING_TRACEBACK", "show where an error of Farthing's own came from"),
    ("NO_COLOR", "no colours"),
)


class Entry(NamedTuple):
    """An option, and what it is for."""

    forms: str
    text: str


class Page(NamedTuple):
    """A command: its full name, how it is called, what it does, and examples. `depth` is 1 for a command, 2
    for one inside a group."""

    name: str
    depth: int
    usage: str
    paragraphs: tuple[str, ...]
    options: tuple[Entry, ...]
    examples: tuple[str, ...]


def pages() -> list[Page]:
    """Every command of Farthing's own, by name, each group followed by what is in it."""
    from runtime.cli.main import NAME, group

    found: list[Page] = []
    others = {name for name, (module, _) in plugins().items() if module.startswith(OURS)}
    with click.Context(group, info_name=NAME, color=False) as top:
        for name in sorted({*OWN, *others}):
            command = group.get_command(top, name)
            if command is not None:
                found += _pages(command, name, top, 1)
    return found


def _pages(command: click.Command, name: str, above: click.Context, depth: int) -> Iterator[Page]:
    with click.Context(command, info_name=name, parent=above) as ctx:
        usage = " ".join((ctx.command_path, *command.collect_usage_pieces(ctx)))
        yield Page(
            ctx.command_path,
            depth,
            usage,
            _paragraphs(command.help or ""),
            tuple(_entries(command, ctx)),
            _examples(command.epilog or ""),
        )
        if isinstance(command, click.Group):
            for each in command.list_commands(ctx):
                inner = command.get_command(ctx, each)
                if inner is not None:
                    yield from _pages(inner, each, ctx, depth + 1)


def _paragraphs(text: str) -> tuple[str, ...]:
    parts = inspect.cleandoc(text.replace("\b\n", "").replace("\f", "")).split("\n\n")
    return tuple(" ".join(part.split()) for part in parts if part.strip())


def _entries(command: click.Command, ctx: click.Context) -> Iterator[Entry]:
    for param in command.params:
        record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
        if record is not None:
            yield Entry(*(" ".join(part.split()) for part in record))


def _examples(epilog: str) -> tuple[str, ...]:
    lines = epilog.replace("\b", "").splitlines()
    return tuple(line.strip() for line in lines if line.startswith("  ") and line.strip())

"""The group of all commands: found by name or by the entry-point group, loaded when they are used."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

ENTRY_POINTS = "farthing.commands"


class Section(NamedTuple):
    """Commands that stand together in the help."""

    title: str
    commands: dict[str, str]


SECTIONS = (
    Section(
        "Flows",
        {
            "run": "Run a flow on your input.",
            "validate": "Check flows and say everything that is wrong.",
            "new": "Write a new flow to start from.",
        },
    ),
    Section(
        "What happened",
        {
            "events": "Read a session's timeline.",
            "context": "Show what a model was sent and what each part cost.",
            "sessions": "List sessions with their cost.",
            "cancel": "End a run, whichever process executes it.",
            "facts": "Look at and change what is remembered.",
            "memory": "Sum up old turns; retire, merge and mark facts.",
            "spend": "Sum up tokens and money, down to each call.",
            "budget": "Show budgets, raise one or reset it.",
        },
    ),
    Section(
        "Setting up",
        {
            "doctor": "Say what is configured, problems first.",
            "key": "Store API keys of providers.",
            "nodes": "List the node types and their fields.",
            "tools": "List the functions that flows may name as tools.",
            "schema": "Print the JSON Schema of a flow document.",
            "eval": "Measure what memory finds on your own conversations.",
            "completion": "Print the completion script of a shell.",
            "manual": "Print the manual page of all commands.",
        },
    ),
)
"""Farthing's own commands: `NAME` is `runtime.cli.NAME:command`, found without looking at what is
installed, which takes longer than most commands do."""
OWN = {name: text for section in SECTIONS for name, text in section.commands.items()}


class LazyGroup(click.Group):
    """Imports a command's module only when the command is used or its own help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*OWN, *sorted(set(plugins()) - set(OWN))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OWN:
            return _load(f"runtime.cli.{cmd_name}", "command")
        target = plugins().get(cmd_name)
        return _load(*target) if target else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        more = {name: summary(module) for name, (module, _) in plugins().items() if name not in OWN}
        for title, commands in (*SECTIONS, Section("More", dict(sorted(more.items())))):
            if commands:
                with formatter.section(title):
                    formatter.write_dl(list(commands.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        more = {name: summary(module) for name, (module, _) in plugins().items()}
        names = [
            CompletionItem(name, help=text)
            for name, text in {**more, **OWN}.items()
            if name.startswith(incomplete)
        ]
        return names or click.Command.shell_complete(self, ctx, incomplete)


def _load(module: str, attribute: str) -> click.Command:
    command: Any = getattr(importlib.import_module(module), attribute)
    if not isinstance(command, click.Command):
        raise click.UsageError(f"{module}:{attribute} is not a command.")
    return command


def plugins() -> dict[str, tuple[str, str]]:
    """Module and attribute of each command that an installed package registers, by its name."""
    from runtime.plugins import entry_points_of

    return {e.name: (e.module, e.attr) for e in entry_points_of(ENTRY_POINTS)}


def summary(module: str) -> str:
    """The first line of a module's docstring, read from its source without running it."""
    try:
        spec = importlib.util.find_spec(module)
        lines = Path(spec.origin).read_text("utf-8").splitlines() if spec and spec.origin else []
    except (ImportError, OSError, UnicodeDecodeError):
        return ""
    return _first_line(lines)


def _first_line(lines: Iterable[str]) -> str:
    for line in lines:
        if line.startswith(('"""', "'''")):
            return line.strip("\"' ")
        if line.strip() and not line.startswith("#"):
            break
    return ""

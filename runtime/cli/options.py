"""Options that several commands share, so that each has one name and one meaning."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from runtime.errors import BadInput
from runtime.names import check_name

F = TypeVar("F", bound=Callable[..., Any])

LOCAL_USER = "local"
"""Who works here where no user is named: the one person of their own machine."""


def database(function: F) -> F:
    """`--db`."""
    return click.option(
        "--db",
        type=click.Path(),
        metavar="PATH",
        callback=_database,
        help="The database; else $FARTHING_DB, else the one in your data folder.",
    )(function)


def _database(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Path | None:
    refuse_empty(("--db", value))
    if value is None:
        return None
    path = Path(value)
    if path.is_dir():
        raise BadInput(f"{value} is a folder, not a database.", remedy="Name a file with --db.")
    return path


def tools(function: F) -> F:
    """`--tools`, handed on as `tool_files`."""
    return click.option(
        "--tools",
        "tool_files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE.py",
        help="Functions that the flow's tool nodes may name; repeatable.",
    )(function)


def rehearsal(function: F) -> F:
    """`--rehearsal`, handed on as `partition`."""
    return click.option(
        "--rehearsal",
        "partition",
        is_flag=True,
        callback=lambda _ctx, _param, value: "rehearsal" if value else "real",
        help="Rehearsals (runs on the scripted model) instead of real runs.",
    )(function)


def as_json(function: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, callback=_one_form, help="Print JSON.")(function)


def as_csv(function: F) -> F:
    """`--csv`."""
    return click.option("--csv", "as_csv", is_flag=True, callback=_one_form, help="Print CSV.")(function)


def _one_form(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    other = {"as_json": "as_csv", "as_csv": "as_json"}[param.name or ""]
    if value and ctx.params.get(other):
        raise click.UsageError("--json and --csv are two forms of one output; give one of them.", ctx)
    return value


def filled(_ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """A name, or several, that are not empty. An empty one is, in a script, a variable that nobody set: it
    would mean somebody else's, or everybody's."""
    for each in value if isinstance(value, tuple) else (value,):
        refuse_empty((param.opts[0], each))
    return value


def user(function: F) -> F:
    """`--user`, as a filter."""
    return click.option("--user", "user_id", metavar="ID", callback=filled, help="Only this user's.")(
        function
    )


def flow(function: F) -> F:
    """`--flow`, as a filter: an id, a name or a file."""
    return click.option(
        "--flow", metavar="FLOW", callback=filled, help="Only this flow's: its name, id or file."
    )(function)


def actor(function: F) -> F:
    """`--actor`: who does it."""
    return click.option(
        "--actor",
        default=whoami,
        metavar="NAME",
        callback=_named,
        help="Who does it; else your login name.",
        show_default=False,
    )(function)


def _named(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    check_name(value, "The name after --actor", "Give --actor NAME.")
    return value


def whoami() -> str:
    """The login name, or `local` where there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return LOCAL_USER


def refuse_empty(*given: tuple[str, str | None]) -> None:
    """Raise BadInput for an option that was given nothing: in a script, a variable that nobody set."""
    for name, value in given:
        if value is not None and not value.strip():
            raise BadInput(f"{name} is empty.", remedy=f"Give it a value, or leave {name} out.")


def refuse_unused(why: str, *names: str) -> None:
    """Raise BadInput for the first of these parameters of the present command that was given: `why` it would
    do nothing (`with --schema`). What is dropped silently was meant to do something."""
    ctx = click.get_current_context()
    for param in ctx.command.params:
        given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and param.name in names:
            called = param.human_readable_name.upper() if isinstance(param, click.Argument) else param.opts[0]
            raise BadInput(f"{called} does nothing {why}.", remedy=f"Leave {called} out.")


def examples(*lines: str) -> str:
    """The end of a command's help: its examples, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)

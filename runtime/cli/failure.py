"""The one place where an error becomes a sentence, a remedy and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import click

from runtime.cli.entry import CANCELLED
from runtime.cli.plain import one_line, visible
from runtime.cli.streams import coloured, paint, say
from runtime.errors import BadFlow, FarthingError, Problem

USAGE = 2
FAILED = 1
NO_NUMBER = "is no whole number"
MOST_CHARS = 4_000
"""So much of a message is shown; what it repeats may be of any length."""
TRACEBACK_VARIABLE = "FARTHING_TRACEBACK"


def tell(error: BaseException) -> int:
    """Say on stderr what went wrong and what to do; the exit code for it."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, (KeyboardInterrupt, click.Abort)) or _cancelled(error):
        return CANCELLED
    if isinstance(error, BrokenPipeError):
        let_go()
        return 0
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, BadFlow):
        return _flow(error)
    if isinstance(error, FarthingError):
        sentence(error.message, error.remedy, node_id=error.node_id)
        return error.exit_code
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ", while the output was written"
        remedy = "Make room or allow it there, and try again."
        if isinstance(error, (PermissionError, FileNotFoundError, NotADirectoryError, IsADirectoryError)):
            remedy = "Name another place, or make that one fit."
        sentence(f"{error.strerror}{where}.", remedy)
        let_go()
        return FAILED
    return _internal(error)


def _cancelled(error: BaseException) -> bool:
    """Whether it is asyncio's; what raised it has loaded asyncio, which takes as long as many a command."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def sentence(message: str, remedy: str | None, *, node_id: str | None = None) -> None:
    """One error as a person reads it."""
    on = coloured(sys.stderr)
    where = f"node {one_line(node_id)}: " if node_id and repr(node_id) not in message else ""
    if len(message) > MOST_CHARS:
        message = message[:MOST_CHARS] + "…"
    say(f"{paint('error:', 'bold', 'red', on=on)} {where}{visible(message)}")
    if remedy:
        say(f"  {paint('do:', 'bold', on=on)} {visible(remedy)}")


def problem_lines(problem: Problem, *, on: bool) -> list[str]:
    """A flow's problem: where, what, and what to do."""
    colour = "red" if problem.level == "error" else "yellow"
    where = f"node {one_line(problem.node_id)} " if problem.node_id else ""
    lines = [
        f"  {paint(problem.level, colour, on=on)} {where}{paint(one_line(problem.path), 'dim', on=on)}: "
        f"{visible(problem.message.removeprefix(f'{problem.path}: '))}"
    ]
    if problem.remedy:
        lines.append(f"    {paint('do:', 'bold', on=on)} {visible(problem.remedy)}")
    return lines


def _flow(error: BadFlow) -> int:
    if len(error.problems) == 1:
        sentence(error.message, error.remedy, node_id=error.node_id)
        return error.exit_code
    sentence(error.message.split(" cannot be used:")[0] + " cannot be used:", None)
    for problem in error.problems:
        for line in problem_lines(problem, on=coloured(sys.stderr)):
            say(line)
    return error.exit_code


def _usage(error: click.ClickException) -> int:
    message = visible(_whole(error.format_message()))
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(message)
        return USAGE
    remedy = None
    if isinstance(error, click.UsageError) and error.ctx is not None:
        remedy = f"`{error.ctx.command_path} --help` shows how it is used."
    elif isinstance(error, click.BadOptionUsage):
        remedy = f"Give a value after {error.option_name}, or leave it out."
    sentence(message, remedy)
    return USAGE


def _whole(message: str) -> str:
    """What the parser says of numbers, in words."""
    return message.replace("is not a valid integer range", NO_NUMBER).replace(
        "is not a valid integer", NO_NUMBER
    )


def _reader_gone(descriptor: int) -> bool:
    """Whether it is a pipe that nobody reads any more."""
    import select

    if not hasattr(select, "poll"):  # Windows
        return False
    asked = select.poll()
    asked.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in asked.poll(0))


def let_go() -> None:
    """Drop what a stream cannot take (its reader has gone, its disk is full), so that nothing is said about
    it at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a stream without a file of its own
            try:
                stream.flush()
                taken = not _reader_gone(stream.fileno())
            except (OSError, ValueError):
                taken = False
            if not taken:
                os.dup2(devnull, stream.fileno())
    os.close(devnull)


def _internal(error: BaseException) -> int:
    text = "".join(traceback.format_exception(error))
    if os.environ.get(TRACEBACK_VARIABLE):
        say(visible(text))
        return FAILED
    kind = f"{type(error).__name__}: {one_line(str(error))}"[:200]
    written = crash_file(text)
    sentence(
        f"Farthing itself failed ({kind}).",
        f"Please report it; the details are in {written}."
        if written
        else f"Set {TRACEBACK_VARIABLE}=1 to see the details, and please report them.",
    )
    return FAILED


def crash_file(text: str) -> Path | None:
    """Write a traceback where only its user can read it; None where that cannot be done."""
    from runtime.settings.places import data_folder

    try:
        folder = data_folder(os.environ)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"crash-{os.getpid()}.txt"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
    except (OSError, ValueError):
        return None
    return path

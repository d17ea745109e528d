"""The command `farthing`: its group, and how every command ends."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from runtime.cli.failure import let_go, tell
from runtime.cli.group import LazyGroup
from runtime.cli.streams import prepare
from runtime.errors import BadInput

NAME = "farthing"
COMPLETE = "_FARTHING_COMPLETE"
"""The variable by which a shell asks for completions."""
EPILOG = """\b
Examples:
  farthing run example:support "My name is Ada." --user ada
  farthing events
  farthing spend --by user,model
"""


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"{NAME} {version(NAME)}")
    except PackageNotFoundError:
        click.echo(f"{NAME} (not installed)")
    ctx.exit()


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Print the version.",
)
def group() -> None:
    """Run agent flows in which every token and every farthing is accounted for."""


def _quick_start() -> None:
    """Pydantic looks through every installed package for plugins of its own; Farthing uses none."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def call(args: Sequence[str]) -> int:
    """Carry out one command line; its exit code: 0 done, 1 failed, 2 bad input or usage, 3 stopped by a
    budget, 130 cancelled."""
    _quick_start()
    try:
        _check_letters(args)
        # Not group.main, which ends a command whose reader has gone with exit code 1.
        with group.make_context(NAME, list(args)) as ctx:
            return _invoke(ctx)
    except BaseException as error:
        return tell(error)


def _invoke(ctx: click.Context) -> int:
    """What goes wrong is told inside of the context, which knows how things are to be shown."""
    try:
        group.invoke(ctx)
        sys.stdout.flush()
    except BaseException as error:
        return tell(error)
    return 0


def _check_letters(args: Sequence[str]) -> None:
    """Bytes that are no UTF-8 arrive as lone surrogates, which neither a database nor a model can take."""
    for number, text in enumerate(args, 1):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise BadInput(f"Argument {number} is not UTF-8 text.", remedy="Give it as UTF-8.") from None


def main() -> NoReturn:
    """The console script."""
    gc.disable()  # nothing that is imported is garbage; `opened` turns it on again for the work itself
    prepare()
    if COMPLETE in os.environ:
        group.main(prog_name=NAME)  # answers the shell and exits
    code = call(sys.argv[1:])
    let_go()  # or the interpreter gives 120 where stderr holds words that nobody takes
    sys.exit(code)

"""Print the completion script of a shell."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

from runtime.cli import options
from runtime.cli.main import COMPLETE, NAME, group
from runtime.errors import NotFound


@click.command(
    epilog=options.examples(
        'eval "$(farthing completion bash)"',
        "farthing completion zsh > ~/.zfunc/_farthing",
        "farthing completion fish > ~/.config/fish/completions/farthing.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print what makes SHELL complete commands and options of `farthing` with the Tab key."""
    found = get_completion_class(shell)
    if found is None:
        raise NotFound(f"There is no completion for {shell!r}.", remedy="Choose bash, zsh or fish.")
    sys.stdout.write(found(group, {}, NAME, COMPLETE).source() + "\n")

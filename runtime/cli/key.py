"""Store API keys of providers."""

from __future__ import annotations

import sys

import click

from runtime.cli import options
from runtime.cli.opening import read_settings
from runtime.cli.plain import one_line
from runtime.cli.streams import is_terminal, result_json, say
from runtime.cli.table import Column, show
from runtime.errors import BadInput, NotFound
from runtime.providers import ENV_PROVIDER, SCRIPTED
from runtime.settings import KeyPlace, Settings, write_key

NO_KEY = {
    SCRIPTED: "The scripted model needs none.",
    ENV_PROVIDER: "Set FARTHING_API_KEY beside FARTHING_BASE_URL.",
}
"""Providers for which nothing is looked up, and what to do instead."""
LONGEST = 10_000
"""Characters of a key that are read at most."""


@click.group(
    epilog=options.examples(
        "farthing key set openai", "farthing key set openai < key.txt", "farthing key list"
    )
)
def command() -> None:
    """Store API keys where only you can read them."""


@command.command(
    "set",
    short_help="Store a provider's key.",
    epilog=options.examples("farthing key set openai", "pass show openai | farthing key set openai --file"),
)
@click.argument("provider")
@click.option("--file", "to_file", is_flag=True, help="In the file even where there is a keyring.")
def set_key(provider: str, to_file: bool) -> None:
    """Store the key of PROVIDER: in the system's keyring where there is one, else in a file of mode 0600.

    The key is asked for without being shown, or read from what is piped in; it is never an argument, which
    other programs could see.
    """
    settings = read_settings(None)
    if provider not in settings.providers:
        raise NotFound(
            f"There is no provider {provider!r}.", remedy=f"There are: {', '.join(settings.providers)}."
        )
    if provider in NO_KEY:
        raise BadInput(f"No key that is stored is used for {provider!r}.", remedy=NO_KEY[provider])
    key = _ask(provider)
    place = write_key(settings.keys, provider, key, use_keyring=not to_file)
    where = "the keyring" if place is KeyPlace.KEYRING else str(settings.keys)
    say(f"Stored the key of {provider} in {where}.")
    _warn_of_others(settings, provider)


def _ask(provider: str) -> str:
    if is_terminal(sys.stdin):
        return str(click.prompt(f"Key of {provider}", hide_input=True, err=True))
    text = sys.stdin.read(LONGEST + 1)
    if len(text) > LONGEST or len(text.strip().splitlines()) > 1:
        raise BadInput("That is more than a key.", remedy="Pipe in the key alone.")
    return text


def _warn_of_others(settings: Settings, provider: str) -> None:
    """A variable goes before what is stored."""
    known = settings.providers[provider]
    stored = ("keyring", str(settings.keys))
    if known.key is not None and known.key_from and known.key_from not in stored:
        say(f"It is not used as long as {known.key_from} is set.", "yellow")


@command.command("list", short_help="Say which keys are there.", epilog=options.examples("farthing key list"))
@options.as_json
def list_keys(as_json: bool) -> None:
    """Say which providers have a key and where it comes from; never the key."""
    settings = read_settings(None)
    found = [
        (name, known.key is not None, known.key_from or "")
        for name, known in settings.providers.items()
        if known.key is not None or name in settings.needs_key
    ]
    if as_json:
        result_json([{"provider": n, "key": there, "from": where or None} for n, there, where in found])
        return
    columns = (Column("provider", style="bold"), Column("key"), Column("from", flexible=True))
    show(columns, [(n, "set" if there else "missing", one_line(where)) for n, there, where in found])

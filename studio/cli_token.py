"""Create, list and revoke tokens for programs."""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from runtime.cli import options
from runtime.cli.streams import result, result_json, say
from runtime.cli.table import Column, show
from runtime.cli.when import When, stamp, zone
from runtime.clock import SystemClock
from runtime.settings.places import database_path
from studio.roles import ROLES, RoleName

if TYPE_CHECKING:
    from studio.tokens import Token, Tokens

SPAN = re.compile(r"(\d{1,5})([hdwy])")
HOURS = {"h": 1, "d": 24, "w": 24 * 7, "y": 24 * 365}


class Expiry(click.ParamType["datetime | None"]):
    """A time to come: `30d` from now, a date, or `never`."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime | None:
        if isinstance(value, str) and value.strip().lower() == "never":
            return None
        span = SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
        if span is not None:
            try:
                return SystemClock().now() + timedelta(hours=int(span[1]) * HOURS[span[2]])
            except OverflowError:
                self.fail(f"{value!r} is later than any time there is; write never.", param, ctx)
        return When().convert(value, param, ctx)


@click.group(
    epilog=options.examples(
        "farthing token create --user ada --role runner --expires 30d",
        "farthing token list",
        "farthing token revoke 3f9a21c4",
    )
)
def command() -> None:
    """Tokens by which programs use the HTTP API. Only a hash of each is kept.

    Roles: a viewer reads what is its user's; a runner also runs saved flows and changes its user's facts;
    an editor also writes flows; an operator also acts for others, changes limits and grants needs.
    """


@command.command(epilog=options.examples("farthing token create --user ada --role runner --expires 30d"))
@click.option("--user", "user_id", required=True, metavar="ID", help="Who acts with it.")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option(
    "--expires", type=Expiry(), default="90d", show_default=True, metavar="TIME",
    help="When it ends: 12h, 30d, 1y, a date, or never.",
)  # fmt: skip
@options.database
def create(user_id: str, role: str, expires: datetime | None, db: Path | None) -> None:
    """Make a token and print it. It is shown this once."""
    token, text = _tokens(db).create(user_id, cast(RoleName, role), expires)
    until = "never expires" if token.expires is None else f"expires {stamp(token.expires)} {zone()}"
    say(f"Token {token.id} for {token.user}, {token.role}, {until}. It is not shown again.")
    result(text)


@command.command("list", epilog=options.examples("farthing token list", "farthing token list --json"))
@options.as_json
@options.database
def list_tokens(as_json: bool, db: Path | None) -> None:
    """List tokens; never the tokens themselves."""
    found, now = _tokens(db).all(), SystemClock().now()
    if as_json:
        result_json([_json(token, now) for token in found])
        return
    if not found:
        say("No tokens.")
        return
    columns = (
        Column("id", style="bold"),
        Column("user", flexible=True),
        Column("role"),
        Column(f"created ({zone()})"),
        Column(f"expires ({zone()})"),
    )
    show(columns, [_cells(token, now) for token in found])


@command.command(epilog=options.examples("farthing token revoke 3f9a21c4"))
@click.argument("token_id", metavar="ID")
@options.database
def revoke(token_id: str, db: Path | None) -> None:
    """Take the token ID back. It stops working at once, in running servers too."""
    token = _tokens(db).revoke(token_id)
    say(f"Revoked {token.id} of {token.user}.")


def _tokens(db: Path | None) -> Tokens:
    from studio.tokens import Tokens, tokens_path

    return Tokens(tokens_path(database_path(os.environ, db).parent), SystemClock())


def _json(token: Token, now: datetime) -> dict[str, object]:
    fields = {"id": token.id, "user": token.user, "role": token.role}
    times = {"created": token.created, "expires": token.expires, "expired": token.expired(now)}
    return {**fields, **times}


def _cells(token: Token, now: datetime) -> tuple[str, ...]:
    until = "never" if token.expires is None else stamp(token.expires)
    end = "expired" if token.expired(now) else until
    return token.id, token.user, token.role, stamp(token.created), end

"""Options that say whose facts a command means."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from runtime.cli import options
from runtime.cli.shelves import Where

F = TypeVar("F", bound=Callable[..., Any])


def where_options(function: F) -> F:
    """`--user`, `--session`, `--flow`, `--namespace`, `--scope` and `--rehearsal`, handed on as one `where`;
    and `--db`."""

    @functools.wraps(function)
    def call(
        *args: Any,
        user_id: str | None,
        session: str | None,
        flow: str | None,
        namespace: str | None,
        scope: Any,
        partition: Any,
        **others: Any,
    ) -> Any:
        where = Where(partition, user_id, session, flow, namespace, scope)
        return function(*args, where=where, **others)

    decorated: Any = call
    for decorate in (
        options.database,
        options.rehearsal,
        click.option("--scope", type=click.Choice(["session", "user"]), help="Only facts of this scope."),
        click.option(
            "--namespace",
            metavar="NAME",
            callback=options.filled,
            help="Only this namespace; else the flow's.",
        ),
        options.flow,
        click.option(
            "--session", metavar="NAME", callback=options.filled, help="Of this session: its name or id."
        ),
        click.option("--user", "user_id", metavar="ID", callback=options.filled, help="Of this user."),
    ):
        decorated = decorate(decorated)
    return decorated  # type: ignore[no-any-return]

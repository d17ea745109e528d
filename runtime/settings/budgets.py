"""The user's own budgets as rules, with the one that is there unless replaced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import BadSettings
from runtime.ledger import Rule
from runtime.settings.model import UserBudget
from runtime.usage import NANO

if TYPE_CHECKING:
    from runtime.settings.document import BudgetTable

DEFAULT_NAME = "default-daily"
DEFAULT_LIMIT = 5 * NANO
"""$5 a UTC day for each user on paid providers (SPEC 5)."""


def default_daily(path: Path) -> UserBudget:
    """The built-in budget, replaced by an entry of its name."""
    rule = Rule(
        name=DEFAULT_NAME,
        pot=f"settings/{DEFAULT_NAME}",
        metric="spend",
        period="daily",
        limit=DEFAULT_LIMIT,
        field=f"[[budget]] {DEFAULT_NAME} in {path}",
    )
    return UserBudget(rule, paid_only=True)


def user_budgets(tables: Sequence[BudgetTable], path: Path) -> tuple[UserBudget, ...]:
    """Every limit that the user set, by name. Raises BadSettings for a name used twice."""
    found: dict[str, UserBudget | None] = {DEFAULT_NAME: default_daily(path)}
    seen: set[str] = set()
    for table in tables:
        if table.name in seen:
            raise BadSettings(
                f"The settings file {path} has two budgets called {table.name!r}.",
                remedy="Give one of them another name.",
            )
        seen.add(table.name)
        found[table.name] = _budget(table, path)
    return tuple(each for each in found.values() if each is not None)


def _budget(table: BudgetTable, path: Path) -> UserBudget | None:
    limit = table.nanos()
    if limit is None:
        return None
    rule = Rule(
        name=table.name,
        pot=f"settings/{table.name}",
        metric=table.metric,
        period=table.period,
        limit=limit if table.metric == "spend" else limit // NANO,
        threshold_pct=table.threshold(),
        strict=table.strict,
        unknown_cost=table.unknown_cost,
        everyone=table.whose == "all_users_together",
        field=f"[[budget]] {table.name} in {path}",
    )
    paid_only = table.name == DEFAULT_NAME and table.provider is None
    return UserBudget(rule, table.flow, table.provider, paid_only)

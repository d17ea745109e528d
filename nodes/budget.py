"""The budget node: how many tokens or how much money may be used, over which period."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from msgspec import Meta

from runtime.errors import BadConfig, Problem
from runtime.ledger import Rule, amount_text
from runtime.node import Config, FlowView, NodeType, Port
from runtime.shape import Wrong
from runtime.shape.own import percent
from runtime.usage import parse_count, parse_money

PERIOD_NAMES = {
    "run": "a run",
    "session": "a session",
    "daily": "a day",
    "weekly": "a week",
    "monthly": "a month",
    "lifetime": "in all",
}


WRITTEN: list[dict[str, str]] = [{"type": "string"}, {"type": "null"}]
Amount = Annotated[Any, Meta(extra_json_schema={"anyOf": [{"type": "number"}, *WRITTEN]})]
"""A number, or a text that is one; as it was written."""
Share = Annotated[
    Any, Meta(extra_json_schema={"anyOf": [{"type": "number", "minimum": 0, "maximum": 100}, *WRITTEN]})
]
"""A percentage, as it was written."""


WRITE_LIMIT = 'Write dollars such as "0.50", or whole tokens such as 20000.'
WRITE_PERCENT = "Write a number from 0 to 100 such as 80, or null for no warning."


class BudgetConfig(Config):
    """A limit on tokens or spend."""

    metric: Literal["tokens", "spend"] = "tokens"
    """`tokens` counts input and output; `spend` counts dollars."""
    limit: Amount = None
    """Where calls stop: whole tokens, or dollars as 0.50 (at most 9 decimals). Empty or 0 blocks the first
    step."""
    period: Literal["run", "session", "daily", "weekly", "monthly", "lifetime"] = "session"
    """What is counted together. All but run and session belong to a user; days, weeks (from Monday) and
    months are UTC."""
    threshold_pct: Share = 80
    """From this percentage of the limit on, each step warns. Empty: no warning."""
    name: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """What people call it. Absent: the node's id."""
    strict: bool = False
    """Also refuse a call whose estimate would not fit any more."""
    unknown_cost: Literal["warn", "block"] = "warn"
    """What to do about a model that has no price and reports no cost."""
    pot: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """Budgets with equal pots count together; `shared:NAME` counts across flows."""
    applies_to: Literal["attached", "flow"] = "attached"
    """`flow` governs every model call of the flow, attached or not."""
    on_limit: Literal["stop", "pause"] = "stop"
    """What happens at the limit."""

    def __post_init__(self) -> None:
        if isinstance(self.limit, bool):
            words = f"a number belongs here, not {str(self.limit).lower()}"
            raise Wrong(words, "limit", WRITE_LIMIT)
        try:
            self.amount()
        except BadConfig as error:
            raise Wrong(error.message.rstrip("."), "limit", error.remedy) from None
        try:
            self.threshold()
        except ValueError as error:
            raise Wrong(str(error), "threshold_pct", WRITE_PERCENT) from None

    def amount(self) -> int:
        """The limit in whole tokens or nano-dollars; empty is 0."""
        if self.limit is None or (isinstance(self.limit, str) and not self.limit.strip()):
            return 0
        return parse_money(self.limit) if self.metric == "spend" else parse_count(self.limit)

    def threshold(self) -> Decimal | None:
        """The percentage; empty: no warning. Raises ValueError."""
        return None if self.threshold_pct is None else percent(self.threshold_pct)


def rule(config: BudgetConfig, node_id: str, flow_id: str) -> Rule:
    name = config.name or node_id
    pot = config.pot or name
    return Rule(
        name=name,
        pot=pot if pot.startswith("shared:") else f"{flow_id}/{pot}",
        metric=config.metric,
        period=config.period,
        limit=config.amount(),
        threshold_pct=config.threshold(),
        strict=config.strict,
        unknown_cost=config.unknown_cost,
        node_id=node_id,
        field=f"`limit` of the budget {node_id!r}",
    )


def check(config: BudgetConfig, view: FlowView) -> list[Problem]:
    problems = []
    if config.amount() == 0:
        problems.append(
            Problem(
                "budget.zero",
                f"the budget {view.node_id!r} has no limit, so it blocks the first step",
                "Give `limit` a positive amount.",
                view.node_id,
                "config.limit",
                "warning",
            )
        )
    if config.on_limit == "pause":
        problems.append(
            Problem(
                "config.not_built",
                "`on_limit: pause` is not available in this version",
                "Use `stop`; a raise lets the next run go on.",
                view.node_id,
                "config.on_limit",
            )
        )
    return problems


def summary(config: BudgetConfig) -> str:
    return f"≤ {amount_text(config.metric, config.amount())} {PERIOD_NAMES[config.period]}"


node = NodeType(
    name="budget",
    config=BudgetConfig,
    title="Budget",
    category="Budget",
    icon="gauge",
    help="Stops the agents it is attached to before a step once so much has been used.",
    outputs=(Port("budget", "budget"),),
    summary=summary,
    check=check,
    rule=rule,
    keywords=("limit", "cost", "spend", "tokens", "money"),
)

"""Usage as facts to read: views of the budgets that govern an agent, straight from the ledger's counters.

They are not stored, cannot be written and are never sent by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.clock import Clock
from runtime.ledger import Rule, Subject, counter_key, limit_of, period_end
from runtime.memory_service.gate import USAGE_PREFIX
from runtime.record import Record
from runtime.usage import decimal_text


class UsageFacts(msgspec.Struct, frozen=True):
    """The budgets of one agent in one run. The key of each is `usage/POT/METRIC/PERIOD`."""

    record: Record
    clock: Clock
    rules: tuple[Rule, ...]
    subject: Subject

    async def read(self, keys: Sequence[str]) -> dict[str, Any]:
        """The views by these keys; `usage/` stands for all of them. A key that is none is left out."""
        rules = self._wanted(keys)
        now = self.clock.now()
        counters = await self.record.counters([counter_key(rule, self.subject, now) for rule in rules])
        found: dict[str, Any] = {}
        for rule, counter in zip(rules, counters, strict=True):
            limit, end = limit_of(rule, counter), period_end(rule.period, now)
            view = {
                "used": _amount(rule, counter.used),
                "limit": _amount(rule, limit),
                "left": _amount(rule, max(0, limit - counter.used)),
                "unit": "tokens" if rule.metric == "tokens" else "dollars",
                "resets_at": None if end is None else end.isoformat(),
            }
            if counter.unknown:
                view["calls_of_unknown_cost"] = counter.unknown
            found[usage_key(rule)] = view
        return found

    def _wanted(self, keys: Sequence[str]) -> list[Rule]:
        """One rule for each key, the narrowest: it is the one that binds."""
        by_key: dict[str, Rule] = {}
        for rule in sorted(self.rules, key=lambda rule: -rule.limit):
            by_key[usage_key(rule)] = rule
        return [rule for key, rule in sorted(by_key.items()) if key in keys or USAGE_PREFIX in keys]


def usage_key(rule: Rule) -> str:
    """Under which key a budget's usage is read."""
    return f"{USAGE_PREFIX}{rule.pot}/{rule.metric}/{rule.period}"


def _amount(rule: Rule, amount: int) -> Any:
    """Whole tokens, or dollars as an exact decimal text."""
    return amount if rule.metric == "tokens" else decimal_text(amount)

"""Watches how full each turn's prompt was and says when compaction is due. State in, state out."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from runtime.memory.compaction_rules import Compaction

Severity = Literal["normal", "elevated", "warning", "critical", "overage"]

PRESSING: frozenset[str] = frozenset({"critical", "overage"})
"""Severities that give a run the longer time budget."""


def severity(utilization_pct: float, rules: Compaction | None = None) -> Severity:
    """What a utilization in percent is called; a value right on a boundary belongs to the lower one."""
    rules = rules or Compaction()
    if utilization_pct > rules.overage_pct:
        return "overage"
    if utilization_pct > rules.critical_threshold * 100:
        return "critical"
    if utilization_pct > rules.warning_pct:
        return "warning"
    return "elevated" if utilization_pct > rules.elevated_pct else "normal"


class Reading(NamedTuple):
    """How full one prompt was: its tokens, those available (window without output buffer), percent."""

    total_tokens: int
    available_tokens: int
    utilization_pct: float


class Monitor(msgspec.Struct, frozen=True):
    """What is known of a session's prompts.

    `readings`: of the last turns, oldest first, at most `trend_window`. `turns_since`: turns recorded since
    the last finished compaction. `finished`: compactions that ended. `running`: one is under way.
    """

    readings: tuple[Reading, ...] = ()
    turns_since: int = 0
    finished: int = 0
    running: bool = False

    @property
    def latest(self) -> Reading | None:
        """The newest reading."""
        return self.readings[-1] if self.readings else None

    @property
    def trend(self) -> float:
        """Percentage points a turn over the readings: (last - first) / count; 0 with fewer than two."""
        if len(self.readings) < 2:
            return 0.0
        first, last = self.readings[0], self.readings[-1]
        return (last.utilization_pct - first.utilization_pct) / len(self.readings)

    def recorded(self, reading: Reading, rules: Compaction) -> Monitor:
        """After one more turn."""
        readings = (*self.readings, reading)[-rules.trend_window :]
        return msgspec.structs.replace(self, readings=readings, turns_since=self.turns_since + 1)

    def started(self) -> Monitor:
        """After a compaction began; none is due until it ends."""
        return msgspec.structs.replace(self, running=True)

    def completed(self) -> Monitor:
        """After a compaction ended, well or not; the cooldown begins anew."""
        return msgspec.structs.replace(self, running=False, turns_since=0, finished=self.finished + 1)

    def severity(self, rules: Compaction) -> Severity:
        """The newest reading's severity; normal where there is none."""
        return severity(self.latest.utilization_pct, rules) if self.latest else "normal"

    def due(self, rules: Compaction) -> str | None:
        """Why compaction is due now (`warning`, `critical`, `overage` or `trend`), or None.

        The cooldown holds for every severity, and for the first turns of a session too. A rising trend asks
        only above `compaction_threshold`.
        """
        if not rules.enabled or self.running or self.turns_since < rules.cooldown_turns or not self.latest:
            return None
        level = self.severity(rules)
        if level not in ("normal", "elevated"):
            return level
        above = self.latest.utilization_pct > rules.compaction_threshold * 100
        return "trend" if above and self.trend > 0 else None

    def time_budget_ms(self, rules: Compaction) -> int:
        """How long a run that starts now may take, in milliseconds."""
        pressing = self.severity(rules) in PRESSING
        return rules.critical_max_duration_ms if pressing else rules.max_duration_ms

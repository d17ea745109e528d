"""The settings of compaction: when the monitor asks for it, and what a run of it may do."""

from __future__ import annotations

import msgspec

from runtime.memory.ranges import check


class Compaction(msgspec.Struct, frozen=True):
    """When and how old turns are replaced by summaries. Shares are of the window without the output buffer.

    `enabled`: off unless asked for. `compaction_threshold`: share above which a rising trend asks for a run.
    `critical_threshold`: share above which a reading is critical and the longer time budget holds.
    `target_utilization`: share to come down to. `cooldown_turns`: turns from one run to the next.
    `max_duration_ms`, `critical_max_duration_ms`: time budgets of a run. `min_turns_to_summarize`: fewer are
    left alone. `max_turns_per_summary`: size of a batch. `least_batch`: a smaller one is left alone.
    `compaction_recency_window`: newest turns that are never touched. `clip_chars`: code points shown of a
    message. `insight_dedup_enabled`: whether like insights are merged; `insight_similarity_threshold`: from
    which likeness on; `max_insights_to_check`: newest first. `trend_window`: turns that a trend looks back.
    `promote_hits`: accesses from which a short-term item stays. `elevated_pct`, `warning_pct`,
    `overage_pct`: percent above which a reading is called so.
    """

    enabled: bool = False
    compaction_threshold: float = 0.85
    critical_threshold: float = 0.95
    target_utilization: float = 0.70
    cooldown_turns: int = 3
    max_duration_ms: int = 15_000
    critical_max_duration_ms: int = 45_000
    min_turns_to_summarize: int = 5
    max_turns_per_summary: int = 8
    least_batch: int = 2
    compaction_recency_window: int = 4
    clip_chars: int = 500
    insight_dedup_enabled: bool = True
    insight_similarity_threshold: float = 0.90
    max_insights_to_check: int = 50
    trend_window: int = 10
    promote_hits: int = 3
    elevated_pct: float = 70
    warning_pct: float = 85
    overage_pct: float = 100

    def __post_init__(self) -> None:
        for field in ("compaction_threshold", "critical_threshold", "insight_similarity_threshold"):
            check(field, getattr(self, field), 0.5, 1)
        check("target_utilization", self.target_utilization, 0.3, 0.95)
        check("max_duration_ms", self.max_duration_ms, 100, 120_000)
        check("critical_max_duration_ms", self.critical_max_duration_ms, 500, 180_000)
        check("compaction_recency_window", self.compaction_recency_window, 2, 50)
        check("trend_window", self.trend_window, 3, 50)
        check("max_insights_to_check", self.max_insights_to_check, 5)
        for field in ("cooldown_turns", "promote_hits", "clip_chars"):
            check(field, getattr(self, field), 1)
        for field in ("min_turns_to_summarize", "max_turns_per_summary", "least_batch"):
            check(field, getattr(self, field), 2)

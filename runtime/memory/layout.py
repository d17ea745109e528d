"""How a model's window is divided: fixed costs, what is left, the supporting part; how full it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from runtime.errors import BadConfig
from runtime.memory.compaction_rules import Compaction
from runtime.memory.monitor import Severity, severity
from runtime.memory.ranges import check

SUPPORTING_RATIO = 0.30
"""Share of the dynamic budget that supporting context may take, unless a flow says otherwise."""


class WindowBudget(NamedTuple):
    """Tokens: what is spent in any case, what is left of the window, what of that supporting context gets."""

    fixed: int
    dynamic: int
    supporting: int


def window_budget(
    window: int,
    output_buffer: int,
    *,
    system_tokens: int = 0,
    tool_tokens: int = 0,
    ratio: float = SUPPORTING_RATIO,
) -> WindowBudget:
    """fixed = system + tools + output buffer; dynamic = max(0, window - fixed); supporting = its share.

    All in tokens; the share is rounded down. Where nothing is left the rest is 0; `check_window` is for
    refusing that. Raises BadConfig for a ratio outside 0 to 1.
    """
    check("ratio", ratio, 0, 1)
    fixed = system_tokens + tool_tokens + output_buffer
    dynamic = max(0, window - fixed)
    return WindowBudget(fixed, dynamic, int(dynamic * ratio))


def check_window(window: int, output_buffer: int) -> int:
    """Tokens that a prompt may have. Raises BadConfig where the output buffer leaves none."""
    if window > output_buffer:
        return window - output_buffer
    raise BadConfig(
        f"The context window of {window} tokens leaves nothing beside an output buffer of {output_buffer}.",
        remedy="Lower max_output_tokens, or use a model with a larger window.",
    )


class PromptStatus(msgspec.Struct, frozen=True):
    """How full a prompt is, in tokens and percent of what is available (window - output buffer)."""

    total_tokens: int
    available_tokens: int
    utilization_pct: float
    overage_tokens: int
    severity: Severity
    message_tokens: int
    tool_tokens: int


def prompt_status(
    window: int,
    output_buffer: int,
    message_tokens: Sequence[int],
    tool_tokens: int = 0,
    rules: Compaction | None = None,
) -> PromptStatus:
    """Add up a prompt and classify it. Raises BadConfig where the output buffer leaves no window."""
    available = check_window(window, output_buffer)
    messages = sum(message_tokens)
    total = messages + tool_tokens
    percent = total / available * 100
    overage = max(0, total - available)
    return PromptStatus(total, available, percent, overage, severity(percent, rules), messages, tool_tokens)

"""Pieces of HTML. Whatever others wrote passes `esc`, which leaves nothing that could act in a page."""

from __future__ import annotations

from html import escape

from runtime.cli.plain import visible
from runtime.cli.run_result import left_text
from runtime.cli.timeline import Row
from runtime.cli.timeline_numbers import money
from runtime.cli.when import duration, stamp_utc
from runtime.events import Gauge
from runtime.ledger import amount_text, gauge_text

WIDTH = 1000
"""Units of a waterfall's axis."""
NARROWEST = 3


def esc(text: object) -> str:
    """A text for HTML: controls and direction marks spelled out, nothing taken for a tag or an attribute."""
    return escape(visible(str(text)))


def waterfall(row: Row, whole_ms: int) -> str:
    """A bar of when a row happened within its run; time spent waiting for a budget is apart."""
    whole = max(1, whole_ms)
    start = min(WIDTH, row.offset_ms * WIDTH // whole)
    if row.ms is None or row.kind not in ("node", "call", "tool"):
        return ""
    long = max(NARROWEST, min(WIDTH - start, row.ms * WIDTH // whole))
    start = min(start, WIDTH - long)
    bars = f'<rect class="{row.kind}" x="{start}" y="3" width="{long}" height="6" rx="1"/>'
    if row.waited_ms:
        waited = max(NARROWEST, min(long, row.waited_ms * WIDTH // whole))
        bars += f'<rect class="wait" x="{start}" y="3" width="{waited}" height="6"/>'
    words = f"from {duration(row.offset_ms)}, {duration(row.ms)} long"
    return _svg(f"<title>{esc(words)}</title>{bars}")


def _svg(inner: str) -> str:
    axis = f'<rect class="axis" x="0" y="5" width="{WIDTH}" height="2"/>'
    box = f'viewBox="0 0 {WIDTH} 12" preserveAspectRatio="none"'
    return f'<svg class="flow" {box} role="img">{axis}{inner}</svg>'


def meter(gauge: Gauge) -> str:
    """A budget: how full it is, and in words."""
    limit = gauge.limit or 0
    full = WIDTH if gauge.used >= limit else gauge.used * WIDTH // max(1, limit)
    tight = gauge.threshold_pct is not None and gauge.used * 100 >= gauge.threshold_pct * limit
    return (
        f'<span><svg viewBox="0 0 {WIDTH} 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="axis" width="{WIDTH}" height="10"/>'
        f'<rect class="{"tight" if tight else "full"}" width="{full}" height="10"/></svg>'
        f"{esc(gauge.budget)}: {esc(left_text(gauge))}, used {esc(gauge_text(gauge))}</span>"
    )


def figures(row: Row, left: str) -> str:
    """The cells of tokens, cached tokens, cost and what is left."""
    tokens = cached = cost = ""
    if row.usage is not None:
        mark = "~" if row.estimated else ""
        tokens = f"{mark}{row.usage.input:,} → {row.usage.output:,}"
        cached = f"{row.usage.cached:,}" if row.usage.cached else ""
        cost = "unknown" if row.cost is None else money(row.cost)
    return (
        f'<span class="num">{tokens}</span><span class="num faint wide">{cached}</span>'
        f'<span class="num">{cost}</span><span class="num wide">{esc(left)}</span>'
    )


def facts_of(row: Row) -> list[tuple[str, str]]:
    """What else is known of a row, as names and words."""
    known = [
        ("event", f"{row.seq:,}"),
        ("at", f"{stamp_utc(row.at)}:{row.at:%S.%f} UTC"),
        ("took", duration(row.ms)),
        ("waited for a budget", duration(row.waited_ms) if row.waited_ms else ""),
        ("model", row.model or ""),
        ("purpose", row.purpose or ""),
        ("code", row.code or ""),
        ("reasoning tokens", f"{row.usage.reasoning:,}" if row.usage and row.usage.reasoning else ""),
        ("left out of the context", f"{row.left_out:,} items" if row.left_out else ""),
    ]
    for gauge in row.gauges:
        limit = "no limit known" if gauge.limit is None else amount_text(gauge.metric, gauge.limit)
        known.append(
            (f"budget {gauge.budget}", f"{amount_text(gauge.metric, gauge.used)} of {limit} afterwards")
        )
    return [(name, words) for name, words in known if words]

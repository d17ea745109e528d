"""Made-up timelines for the tests of what is drawn from them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from runtime import events as ev
from runtime.usage import Usage

BEGAN = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
RUN = "run-1"


def at(ms: int) -> datetime:
    """So many milliseconds after the beginning."""
    return BEGAN + timedelta(milliseconds=ms)


def gauge(used: int, limit: int | None = 500_000_000, **more: Any) -> ev.Gauge:
    """A daily spend budget."""
    return ev.Gauge(
        budget="daily", pot="f/daily", metric="spend", period="daily", used=used, held=0, limit=limit, **more
    )


def call(
    ms: int,
    step: int,
    *,
    tools: tuple[str, ...] = (),
    text: str = "",
    cost: int | None = 1_000_000,
    used: int = 1_000_000,
    node: str = "helper",
) -> list[ev.Event]:
    """A model call from reservation to answer, as the gate tells it: 800 ms long."""
    usage = Usage(1200, 400, 0, 56)
    where: dict[str, Any] = {"run_id": RUN, "node_id": node, "step": step}
    key = f"{node}#1/{step}/0"
    return [
        ev.BudgetReserved(
            at=at(ms), **where, call=key, purpose="main", estimate_tokens=5000, estimate_cost=9_000_000
        ),
        ev.ModelCalled(at=at(ms), **where, call=key, purpose="main", model="local:small"),
        ev.BudgetSettled(
            at=at(ms + 800), **where, call=key, tokens=usage.tokens, cost=cost, gauges=(gauge(used),)
        ),
        ev.AgentUsage(
            at=at(ms + 800),
            **where,
            call=key,
            purpose="main",
            model="local:small",
            usage=usage,
            cost=cost,
            ms=800,
        ),
        ev.AgentResponse(at=at(ms + 800), **where, text=text, tool_calls=tools, final=not tools, call=key),
    ]


def started(ms: int = 0) -> list[ev.Event]:
    """A run and its agent begin."""
    return [
        ev.RunStarted(
            at=at(ms), run_id=RUN, flow_id="f", flow_name="support", flow_hash="h", model="local:small"
        ),
        ev.NodeStarted(at=at(ms), run_id=RUN, node_id="helper"),
        ev.AgentRequest(at=at(ms), run_id=RUN, node_id="helper", text="What is my name?"),
    ]


def finished(ms: int, *, state: str = "completed", error: ev.CallError | None = None) -> list[ev.Event]:
    """They end."""
    last: ev.Event = ev.NodeFinished(at=at(ms), run_id=RUN, node_id="helper", output="Ada")
    if error is not None:
        last = ev.NodeFailed(at=at(ms), run_id=RUN, node_id="helper", error=error)
    return [
        last,
        ev.RunFinished(
            at=at(ms),
            run_id=RUN,
            state=state,
            usage=Usage(2400, 800, 0, 112),
            cost=2_000_000,
            ms=ms,
            error=error,
        ),
    ]


def usual() -> list[ev.Event]:
    """A run of two steps with a tool between them."""
    where: dict[str, Any] = {"run_id": RUN, "node_id": "helper", "step": 1}
    return [
        *started(),
        *call(10, 1, tools=("memory_read",)),
        ev.ToolRequest(at=at(820), **where, call="t1", tool="memory_read", arguments='{"keys":["name"]}'),
        ev.MemoryRead(at=at(825), **where, namespace="f", scope="user", keys=("name",), found=1),
        ev.ToolResponse(at=at(830), **where, call="t1", tool="memory_read", result={"name": "Ada"}, ms=10),
        *call(840, 2, text="Your name is Ada.", used=2_000_000),
        *finished(1700),
    ]


def stopped() -> list[ev.Event]:
    """A run that a budget warns and then stops."""
    where: dict[str, Any] = {"run_id": RUN, "node_id": "helper"}
    error = ev.CallError(
        code="budget.exceeded", message="The budget 'daily' is used up.", remedy="Raise its limit."
    )
    return [
        *started(),
        ev.AgentWarning(
            at=at(5),
            **where,
            step=1,
            code="budget.threshold",
            message="The budget 'daily' is nearly used up",
            gauge=gauge(410_000_000),
        ),
        *call(10, 1, tools=("look",), used=520_000_000),
        ev.AgentError(
            at=at(900), **where, step=2, code=error.code, message=error.message, remedy=error.remedy,
            gauge=gauge(520_000_000),
        ),
        *finished(910, state="failed", error=error),
    ]  # fmt: skip


def numbered(events: list[ev.Event]) -> list[tuple[int, ev.Event | ev.Unknown]]:
    """Events with the numbers that a commit gives them."""
    return list(enumerate(events, 1))

"""A plan that an agent keeps: a tool to write it, a place in the prompt, an event for each change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runtime.errors import InputError
from runtime.events import PlanUpdated
from runtime.memory_service import Where
from runtime.messages import ToolSpec

if TYPE_CHECKING:
    from runtime.reasoning.desk import Desk

PLAN_KEY = "__plan/"
"""Internal facts of kind `plan`, one for each agent."""
MAX_ITEMS = 50
MAX_TEXT = 500
TOOL = "plan_update"


class PlanTool:
    """`plan_update`: the model writes its plan and marks what is done."""

    effect = "idempotent"
    spec = ToolSpec(
        TOOL,
        "Write down your plan for this task, or mark what is done. Give the whole plan each time.",
        {
            "type": "object",
            "properties": {
                "items": {
                    "type": "array",
                    "maxItems": MAX_ITEMS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "text": {"type": "string", "description": "One step, in a few words."},
                            "done": {"type": "boolean"},
                        },
                        "required": ["text"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["items"],
            "additionalProperties": False,
        },
    )

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def call(self, arguments: Mapping[str, Any], where: Where) -> Any:
        """Keep the plan and say how far it is. Raises InputError."""
        items = _items(arguments.get("items"))
        account = self._desk.account
        done = sum(item["done"] for item in items)
        finished = bool(items) and done == len(items)
        await self._desk.internal.write(PLAN_KEY + account.node_id, None if finished else items, "plan")
        account.journal.say(
            PlanUpdated(
                at=account.journal.clock.now(), run_id=where.run_id, node_id=where.node_id, step=where.step,
                items=items, done=done,
            )
        )  # fmt: skip
        return {"items": len(items), "done": done}


def _items(given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, list) or len(given) > MAX_ITEMS:
        raise InputError(f"`items` must be a list of {MAX_ITEMS} steps at most.", code="tool.bad_arguments")
    items = []
    for item in given:
        text = item.get("text") if isinstance(item, dict) else None
        if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
            raise InputError(
                f"Each step needs a `text` of {MAX_TEXT} characters at most.", code="tool.bad_arguments"
            )
        items.append({"text": text.strip(), "done": item.get("done") is True})
    return items


async def plan_text(desk: Desk) -> str:
    """The active plan as the prompt shows it; without one, how to begin one."""
    items = await desk.internal.read(PLAN_KEY + desk.account.node_id)
    if not items:
        return f"For a task of several steps, first write a plan with {TOOL}; mark steps as done as you go."
    lines = [f"{i}. [{'x' if item['done'] else ' '}] {item['text']}" for i, item in enumerate(items, 1)]
    return "\n".join([f"Your active plan (keep it up to date with {TOOL}):", *lines])

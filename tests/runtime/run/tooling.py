"""Agents that are lent functions, for tests of tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.testing import Bench, Ran
from tests.flows import Document, agent_flow, node


def with_tools(
    *functions: str, memory: Document | None = None, agent: Document | None = None, **config: Any
) -> Document:
    """An agent that is lent these functions."""
    document = agent_flow(memory=memory, agent=agent)
    for name in functions:
        document["nodes"].append(node(f"t_{name}", "tool", function=name, **config))
        document["edges"].append({"source": f"t_{name}", "target": "a", "target_port": "tool"})
    return document


async def run(document: Document, script: Sequence[Document], *tools: Any, **how: Any) -> Ran:
    """Run with these functions registered, and let every tool really run."""
    async with Bench(tools=tools) as bench:
        return await bench.run(document, "go", script=script, strict=True, **{"real_tools": True} | how)


def add(a: int, b: int = 1) -> int:
    """Add two whole numbers."""
    return a + b

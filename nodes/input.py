"""The input node: where a run's input enters the flow."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import field

from runtime.errors import Problem
from runtime.node import Config, FlowView, Inputs, NodeContext, NodeResult, NodeType, Port, schema_problems


class InputConfig(Config):
    """What the flow is given."""

    title: str = ""
    """What the form asks for, in a word or two."""
    input_schema: dict[str, Any] | None = field(default=None, name="schema")
    """JSON Schema of the input object. Absent: one text, which later nodes see as it is."""


async def run(config: InputConfig, inputs: Inputs, ctx: NodeContext) -> NodeResult:
    return NodeResult(inputs.value)


def check(config: InputConfig, view: FlowView) -> list[Problem]:
    return [
        msgspec.structs.replace(problem, node_id=view.node_id, path=f"config.schema{problem.path[1:]}")
        for problem in schema_problems(config.input_schema)
    ]


def summary(config: InputConfig) -> str:
    if config.input_schema is None:
        return "a text"
    return ", ".join(config.input_schema.get("properties", {})) or "an object"


node = NodeType(
    name="input",
    config=InputConfig,
    title="Input",
    category="Flow",
    icon="log-in",
    help="Takes what the run is given: a text, or an object of the fields you list.",
    outputs=(Port("out"),),
    run=run,
    summary=summary,
    check=check,
    entry_of_flow=True,
    instant=True,
    keywords=("start", "question", "form"),
)

"""The output node: what a run gives back, named by the node's id."""

from __future__ import annotations

from runtime.node import Config, Inputs, NodeContext, NodeResult, NodeType, Port


class OutputConfig(Config):
    """What the flow gives."""

    template: str | None = None
    """Text with `{{ input }}` or `{{ inputs.<node id> }}`. Absent: the incoming value as it is."""


async def run(config: OutputConfig, inputs: Inputs, ctx: NodeContext) -> NodeResult:
    return NodeResult(inputs.value if config.template is None else ctx.render(config.template, inputs))


node = NodeType(
    name="output",
    config=OutputConfig,
    title="Output",
    category="Flow",
    icon="log-out",
    help="Gives the flow's result; its id names the result.",
    inputs=(Port("in", required=True),),
    outputs=(Port("out"),),
    run=run,
    summary=lambda config: "a template" if config.template else "what comes in",
    templates=("template",),
    result_of_flow=True,
    instant=True,
    keywords=("end", "result", "answer"),
)

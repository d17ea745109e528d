"""The template node: a text or an object made from what comes in."""

from __future__ import annotations

from typing import Any

from msgspec import field

from runtime.node import Config, Inputs, NodeContext, NodeResult, NodeType, Port
from runtime.shape import Wrong


class TemplateConfig(Config):
    """A text or an object with values of the inputs in it."""

    text: str | None = None
    """Text with `{{ input }}` or `{{ inputs.<node id> }}`."""
    json_value: Any = field(default=None, name="json")
    """An object or list whose texts are templates; a text that is one expression alone keeps its type."""

    def __post_init__(self) -> None:
        if (self.text is None) == (self.json_value is None):
            raise Wrong(
                "give either text or json", remedy="Write `text` for a text, or `json` for a value, not both."
            )


async def run(config: TemplateConfig, inputs: Inputs, ctx: NodeContext) -> NodeResult:
    if config.text is not None:
        return NodeResult(ctx.render(config.text, inputs))
    return NodeResult(_filled(config.json_value, inputs, ctx))


def _filled(value: Any, inputs: Inputs, ctx: NodeContext) -> Any:
    if isinstance(value, str):
        return ctx.evaluate(value, inputs)
    if isinstance(value, dict):
        return {key: _filled(item, inputs, ctx) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, inputs, ctx) for item in value]
    return value


def summary(config: TemplateConfig) -> str:
    if config.text is None:
        return "an object"
    return next((line.strip()[:60] for line in config.text.splitlines() if line.strip()), "")


node = NodeType(
    name="template",
    config=TemplateConfig,
    title="Template",
    category="Text",
    icon="text",
    help="Makes a text or an object from what comes in.",
    inputs=(Port("in"),),
    outputs=(Port("out"),),
    run=run,
    summary=summary,
    templates=("text",),
    instant=True,
    keywords=("text", "format", "json", "prompt"),
)

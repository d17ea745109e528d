"""The input of a run, checked against the input node before anything happens."""

from __future__ import annotations

from typing import Any

from runtime.errors import BadInput
from runtime.plan import Plan
from runtime.schema_check import Schema


def shape_input(plan: Plan, given: Any) -> Any:
    """What the input node gives: a text where it has no schema, else the object that its schema asks for.

    `given` is a text, an object or None. Raises BadInput that says what is asked for.
    """
    entry = plan.entry
    if entry is None:
        if given not in (None, "", {}):
            raise BadInput(
                "This flow has no input node, so it takes no input.", remedy="Leave the text away."
            )
        return None
    schema = entry.config.input_schema
    if schema is None:
        return _text(given, entry.id)
    if isinstance(given, str):
        fields = [*schema.get("properties", {})]
        if len(fields) != 1:
            raise BadInput(
                f"The input node {entry.id!r} takes an object of {', '.join(fields) or 'fields'}.",
                remedy="Use --input FILE.json or --set field=value.",
            )
        given = {fields[0]: given}
    value = {} if given is None else given
    Schema(schema).require(value)
    return value


def _text(given: Any, node_id: str) -> str:
    if isinstance(given, dict) and set(given) == {"text"}:
        given = given["text"]
    if isinstance(given, str):
        return given
    if given is None:
        raise BadInput(
            f"The input node {node_id!r} asks for a text and there is none.",
            remedy='Give it after the flow: farthing run FLOW "your text", or pipe it in.',
        )
    raise BadInput(
        f"The input node {node_id!r} asks for a text.",
        remedy='Give a text, or an object with the one field "text".',
    )

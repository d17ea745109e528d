"""Actions as JSON: how a model without native tool calls says what it wants, and how that is read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from runtime.messages import ToolCall, ToolSpec

ANSWER = "answer"
_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


class Action(msgspec.Struct, frozen=True):
    """What a model wants: an answer, or a call; or what is wrong with what it said."""

    answer: str | None = None
    call: ToolCall | None = None
    wrong: str | None = None


def instructions(tools: Sequence[ToolSpec]) -> str:
    """How to answer with an action; goes behind the agent's own instructions."""
    lines = [
        "Answer with one JSON object and nothing else.",
        'To give your answer: {"action": "answer", "answer": "your text"}',
    ]
    if tools:
        lines.append(
            'To call a tool: {"action": "the tool\'s name", "arguments": {…}}. You are told its result.'
        )
        lines.append("Tools:")
        lines += [
            f"- {tool.name}: {tool.description} Arguments: {msgspec.json.encode(tool.parameters).decode()}"
            for tool in tools
        ]
    return "\n".join(lines)


def action_schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """JSON Schema of an action: an answer, or a call of one of the tools."""
    options = [
        _object({"action": {"const": ANSWER}, "answer": {"type": "string"}}),
        *(_object({"action": {"const": tool.name}, "arguments": tool.parameters}) for tool in tools),
    ]
    return options[0] if len(options) == 1 else {"anyOf": options}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_action(text: str, number: int) -> Action:
    """The action that a text says; a text without any JSON object is an answer. `number` names the call."""
    value = find_object(text)
    if value is None:
        if "{" not in text and text.strip():
            return Action(answer=text.strip())
        return Action(wrong="That is not one JSON object.")
    name = value.get("action")
    if name == ANSWER or (name is None and ANSWER in value):
        answer = value.get(ANSWER)
        if isinstance(answer, str):
            return Action(answer=answer)
        return Action(answer=json.dumps(answer, ensure_ascii=False)) if answer is not None else _no_answer()
    if not isinstance(name, str) or not name:
        return Action(wrong='The object has no "action".')
    arguments = value.get("arguments")
    raw = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return Action(call=ToolCall(f"call_{number}", name, raw))


def _no_answer() -> Action:
    return Action(wrong='The object has no "answer".')


def find_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or has in a code fence, or begins with at its first brace."""
    fenced = _FENCED.search(text)
    tries = [text, *([fenced[1]] if fenced else []), text[text.find("{") :] if "{" in text else ""]
    for part in tries:
        try:
            value, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(part.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None


def find_value(text: str) -> Any:
    """The JSON value that a text is, or has in a code fence. Raises ValueError."""
    fenced = _FENCED.search(text)
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        if fenced is None:
            found = find_object(text)
            if found is None:
                raise ValueError("it is not JSON") from None
            return found
    try:
        return json.loads(fenced[1], parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None


def _refuse(text: str) -> Any:
    raise ValueError(text)

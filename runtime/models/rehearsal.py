"""A rehearsal by rule: what to answer, without any model, from the instructions, facts and tools given.

It exists to see a flow work: the same request always gets the same answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from runtime.messages import Message, Request, ToolSpec
from runtime.models.extract import sentences, summary_of
from runtime.models.instance import smallest
from runtime.models.known import Known, asked_about, asks_for_all, facts_in, fitting, stated_in, value_text

QUOTED = 160
"""Characters of a message that an answer repeats."""
FACTS_NAMED = 5
"""Facts that an answer names before it counts the rest."""
LONG_TEXT = 120
"""Characters from which a text that is to be summed up is not simply repeated."""
SUMMARY_PURPOSES = frozenset({"summary", "consolidation"})
ASKS_SUMMARY = re.compile(
    r"\bsummar(?:y|i[sz]e)|\bsums? up\b|\btl;?dr\b|\bcondense\b|\bshorten\b", re.IGNORECASE
)
EXPRESSION = re.compile(r"(?<![\w.])[(\d][\d\s.,()*/+^%×÷-]*[*/+^%×÷-][\d\s.()*/+^%×÷-]*\d\)?")
ASKS_TIME = re.compile(
    r"\bwhat (?:time|day|date)\b|\bcurrent (?:time|date)\b|\btime is it\b|\btoday's date\b", re.IGNORECASE
)
RECALLED = re.compile(r"\A(?:<(memory|recalled)>\n.*?\n</\1>\n\n)+", re.DOTALL)
"""What stands before a question that something was recalled for."""
OFFLINE = "Offline rehearsal: no model was asked."


class Said(NamedTuple):
    """A rehearsed answer: a text or tool calls (name and arguments)."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


def rehearse(request: Request) -> Said:
    """The answer to a request."""
    asked = newest(request.messages)
    if request.hints.get("purpose") in SUMMARY_PURPOSES and request.schema is None:
        return Said(summary_of(_material(request.messages)) or OFFLINE)
    if request.hints.get("purpose") == "consolidation":
        from runtime.models.judged import judged

        return Said(judged(asked))
    if request.messages and request.messages[-1].role == "tool":
        said = Said(_after_tools(request, asked))
    else:
        calls = () if request.schema is not None and not request.tools else _wanted(request, asked)
        said = Said(calls=calls) if calls else Said(_answer(request, asked))
    if request.schema is not None and not said.calls:
        return Said(msgspec.json.encode(smallest(request.schema, said.text)).decode())
    return said


def newest(messages: Sequence[Message]) -> str:
    """The newest user message, without what was recalled for it."""
    said = next((m.content or "" for m in reversed(messages) if m.role == "user"), "")
    return RECALLED.sub("", said)


def _material(messages: Sequence[Message]) -> str:
    """What there is to summarise: everything but the instructions."""
    return "\n".join(m.content for m in messages if m.role != "system" and m.content)


def _wanted(request: Request, asked: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The tool calls that the user's message plainly asks for."""
    tools = {tool.name: tool for tool in request.tools}
    known = facts_in(request.messages)
    if "memory_write" in tools:
        news = [fact for fact in stated_in(asked) if fact not in known]
        if news:
            return tuple(("memory_write", {"key": fact.key, "value": fact.value}) for fact in news)
    if "memory_read" in tools and not known and (asks_for_all(asked) or asked_about(asked)):
        return (("memory_read", {}),)
    wanted = [_use(tool, asked) for tool in request.tools if not tool.name.startswith("memory_")]
    return tuple((name, arguments) for name, arguments in wanted if arguments is not None)


def _use(tool: ToolSpec, asked: str) -> tuple[str, dict[str, Any] | None]:
    """How to call a tool if the message asks for what it does, by its arguments or by its name."""
    properties = tool.parameters.get("properties") or {}
    if "expression" in properties or "calc" in tool.name:
        found = EXPRESSION.search(asked)
        field = "expression" if "expression" in properties else next(iter(properties), "expression")
        return tool.name, {field: found[0].strip()} if found else None
    words = [word for word in re.split(r"[\W_]+", tool.name.lower()) if len(word) > 2]
    if "time" in words or "clock" in words or "date" in words:
        return tool.name, _arguments(tool, asked) if ASKS_TIME.search(asked) else None
    named = re.search(rf"\b{re.escape(tool.name)}\b", asked, re.IGNORECASE)
    said = words and all(re.search(rf"\b{re.escape(word)}\b", asked, re.IGNORECASE) for word in words)
    return tool.name, _arguments(tool, asked) if named or said else None


def _arguments(tool: ToolSpec, asked: str) -> dict[str, Any]:
    """The fewest arguments that fit, with the message where a text is asked for."""
    made = smallest(tool.parameters)
    properties = tool.parameters.get("properties") or {}
    for name, value in (made or {}).items():
        if value == "rehearsal" and not properties.get(name, {}).get("enum"):
            made[name] = asked[:QUOTED]
    return made if isinstance(made, dict) else {}


def _after_tools(request: Request, asked: str) -> str:
    """An answer made of the results that came back for the newest question."""
    results: list[str] = []
    calls = {call.id: call for message in request.messages for call in message.tool_calls}
    for message in reversed(request.messages):
        if message.role != "tool":
            break
        call = calls.get(message.tool_call_id or "")
        name = call.name if call is not None else "the tool"
        results.insert(0, _result(name, call.arguments if call else "", message.content or "", asked))
    return " ".join(results[:4])


def _result(name: str, arguments: str, result: str, asked: str) -> str:
    value = _json(result)
    if isinstance(value, dict) and set(value) == {"error"}:
        return f"The tool {name} failed: {_short(value_text(value['error']))}"
    if name == "memory_write":
        wrote = _json(arguments)
        if isinstance(wrote, dict) and "key" in wrote:
            return f"I have noted that {wrote['key']} is {value_text(wrote.get('value'))}."
    if name == "memory_read":
        facts = _facts_of(value)
        about = asked_about(asked)
        fact = fitting(facts, about) if about else None
        return _fact_sentence(fact) if fact else _facts_sentence(facts)
    return f"{name} answered: {_short(value_text(value) if not isinstance(value, str) else value)}."


def _facts_of(value: Any) -> list[Known]:
    """Facts in a memory tool's result: an object by key, or a list of objects with key and value."""
    if isinstance(value, dict) and isinstance(value.get("facts"), (list, dict)):
        value = value["facts"]
    if isinstance(value, dict):
        return [Known(key, value_text(of)) for key, of in value.items()]
    items = value if isinstance(value, list) else []
    return [
        Known(str(i["key"]), value_text(i.get("value"))) for i in items if isinstance(i, dict) and "key" in i
    ]


def _answer(request: Request, asked: str) -> str:
    known = facts_in(request.messages)
    about = asked_about(asked)
    if about:
        said = [fact for m in request.messages if m.role == "user" for fact in stated_in(m.content or "")]
        fact = fitting(known, about) or fitting(said, about)
        return _fact_sentence(fact) if fact else f"I do not know your {about.replace('_', ' ')} yet."
    if asks_for_all(asked):
        return _facts_sentence(known)
    instructions = next((m.content or "" for m in request.messages if m.role == "system"), "")
    if len(asked) >= LONG_TEXT and ASKS_SUMMARY.search(f"{instructions} {asked[:200]}"):
        return summary_of(_without_order(asked))
    return _default(instructions, asked, known)


def _without_order(asked: str) -> str:
    """A text to summarise without the order to do so before its colon."""
    order, colon, text = asked.partition(":")
    return text if colon and len(order) < QUOTED and ASKS_SUMMARY.search(order) else asked


def _default(instructions: str, asked: str, known: Sequence[Known]) -> str:
    parts = [OFFLINE]
    role = sentences(re.sub(r"<(\w+)\b[^>]*>.*?</\1>", "", instructions, flags=re.DOTALL))
    if role:
        parts.append(f"Told “{_short(role[0])}”, I was asked: “{_short(asked)}”.")
    else:
        parts.append(f"I was asked: “{_short(asked)}”.")
    if known:
        parts.append(_facts_sentence(known))
    return " ".join(parts)


def _fact_sentence(fact: Known) -> str:
    return f"Your {fact.key.replace('_', ' ')}: {fact.value}."


def _facts_sentence(known: Sequence[Known]) -> str:
    if not known:
        return "I know no facts about you yet."
    named = "; ".join(
        f"{fact.key} = {fact.value}" if fact.key else fact.value for fact in known[:FACTS_NAMED]
    )
    more = len(known) - FACTS_NAMED
    return f"I know: {named}" + (f"; and {more} more." if more > 0 else ".")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _short(text: str) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= QUOTED else text[: QUOTED - 1].rstrip() + "…"

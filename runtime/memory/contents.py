"""What the sections of the supporting context hold, and each of them as lines of plain or markdown text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

Section = Literal["known_facts", "passages", "insights", "summaries", "tools", "state"]
Style = Literal["plain", "markdown", "json", "xml"]


class Passage(NamedTuple):
    """A recalled episode or older message. `label` says how it got here (`ingested`, `from grep`)."""

    text: str
    source: str = "memory"
    label: str = ""
    score: float = 0.0


class Dated(NamedTuple):
    """An insight or a summary, with the time that is shown before it, where there is one."""

    text: str
    at: str = ""


class Recommended(NamedTuple):
    """A tool worth using: why, with which parameters (name, value), and how fitting."""

    name: str
    reason: str
    parameters: tuple[tuple[str, str], ...] = ()
    score: float = 0.0


class Contents(msgspec.Struct, frozen=True):
    """What was selected, best first in each section; `tools` and `hints` are one section."""

    known_facts: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    insights: tuple[Dated, ...] = ()
    summaries: tuple[Dated, ...] = ()
    tools: tuple[Recommended, ...] = ()
    hints: tuple[str, ...] = ()
    state: str = ""


Quote = Callable[[str], str]
"""How stored text is put into a line: as it is, or escaped."""


def section_text(section: Section, contents: Contents, most: int | None, style: Style, quote: Quote) -> str:
    """One section with its heading, plain or markdown, of at most `most` items; empty where it has none."""
    return "\n".join(_WRITERS[section](contents, most, style == "markdown", quote))


def titled(text: str, heading: str) -> str:
    """A section's text under another heading than its own."""
    before, mark, rest = text.partition("## ")
    return f"{before}{mark}{heading}{rest[len(rest.partition(chr(10))[0]) :]}" if mark else text


def _known_facts(contents: Contents, most: int | None, markdown: bool, quote: Quote) -> list[str]:
    facts = contents.known_facts[:most]
    if not facts:
        return []
    if markdown:
        rows = [f"| {quote(fact)} |" for fact in facts]
        return ["## Known Facts", "", "| Fact |", "|------|", *rows]
    return ["## Known Facts", *(quote(fact) for fact in facts)]


def _passages(contents: Contents, most: int | None, markdown: bool, quote: Quote) -> list[str]:
    lines: list[str] = []
    for passage in contents.passages[:most]:
        source, label = quote(passage.source), quote(passage.label)
        if markdown:
            lines += [f"### {source}" + (f" *({label})*" if label else "")]
            lines += [f"*Relevance: {passage.score:.2f}*", "", quote(passage.text), ""]
        else:
            lines += [f"### [{source}]" + (f" ({label})" if label else ""), quote(passage.text), ""]
    return _headed("Relevant Context", lines, markdown)


def _insights(contents: Contents, most: int | None, markdown: bool, quote: Quote) -> list[str]:
    return _headed("Recent Insights", _dated(contents.insights[:most], markdown, quote), markdown)


def _summaries(contents: Contents, most: int | None, markdown: bool, quote: Quote) -> list[str]:
    return _headed("Conversation Summaries", _dated(contents.summaries[:most], True, quote), markdown)


def _dated(items: tuple[Dated, ...], bold: bool, quote: Quote) -> list[str]:
    marks = [
        (f"**[{quote(item.at)}]** " if bold else f"[{quote(item.at)}] ") if item.at else "" for item in items
    ]
    return [f"- {mark}{quote(item.text)}" for mark, item in zip(marks, items, strict=True)]


def _tools(contents: Contents, most: int | None, markdown: bool, quote: Quote) -> list[str]:
    rows = [_tool(tool, markdown, quote) for tool in contents.tools[:most]]
    if rows and markdown:
        rows = ["| Tool | Relevance | Reason |", "|------|-----------|--------|", *rows]
    hints = [f"- {quote(hint)}" for hint in contents.hints]
    return _headed("Recommended Tools", rows, markdown) + _headed("Tool Usage Notes", hints, markdown)


def _tool(tool: Recommended, markdown: bool, quote: Quote) -> str:
    if markdown:
        return f"| `{quote(tool.name)}` | {tool.score:.2f} | {quote(tool.reason)} |"
    given = ", ".join(f"{quote(name)}={quote(value)}" for name, value in tool.parameters)
    return f"- {quote(tool.name)}: {quote(tool.reason)}" + (f" (suggested: {given})" if given else "")


def _state(contents: Contents, most: int | None, markdown: bool, quote: Quote) -> list[str]:
    return _headed("Active Plan", [quote(contents.state)] if contents.state else [], markdown)


def _headed(title: str, lines: list[str], markdown: bool) -> list[str]:
    """The lines under a heading that an empty line sets off; nothing where there are none."""
    if not lines:
        return []
    return ["", f"## {title}", *([""] if markdown else []), *lines]


Writer = Callable[[Contents, int | None, bool, Quote], list[str]]

_WRITERS: dict[Section, Writer] = {
    "known_facts": _known_facts,
    "passages": _passages,
    "insights": _insights,
    "summaries": _summaries,
    "tools": _tools,
    "state": _state,
}

SECTIONS: tuple[Section, ...] = tuple(_WRITERS)
"""All sections, in the order of importance that is used unless a flow gives another."""

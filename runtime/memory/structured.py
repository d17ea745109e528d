"""The supporting context as JSON or XML: item by item, the most important first, always well-formed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from runtime.memory.contents import Contents, Recommended, Section
from runtime.memory.estimate import Estimator
from runtime.memory.fence import Fence, clean, escape
from runtime.memory.section_rules import Layout, SectionReport, Supporting

Fields = dict[str, str]
"""One item: `text`, and what is known about it."""

_JSON_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Entry(NamedTuple):
    """An item and its section."""

    section: Section
    fields: Fields


def place_structured(
    contents: Contents, budget: int | None, count: Estimator, layout: Layout, fence: Fence
) -> Supporting:
    """As `sections.place`, in the styles `json` and `xml`: the first item that does not fit ends the text."""
    entries = [
        Entry(name, item) for name in layout.order for item in items_of(name, contents, layout.most(name))
    ]
    write = as_json if layout.style == "json" else as_xml

    def sent(number: int) -> str:
        return fence.frame(layout.header, [write(entries[:number])]) if number else ""

    shown = 0
    if budget is None:
        shown = len(entries)
    else:
        while shown < len(entries) and count(sent(shown + 1)) <= budget:
            shown += 1
    text = sent(shown)
    return Supporting(text, count(text) if text else 0, _report(entries, shown, layout, count))


def items_of(section: Section, contents: Contents, most: int | None) -> list[Fields]:
    """The items of a section, at most `most` (hints besides)."""
    if section == "known_facts":
        return [{"text": fact} for fact in contents.known_facts[:most]]
    if section == "passages":
        rows = contents.passages[:most]
        return [_known(text=p.text, source=p.source, label=p.label, score=f"{p.score:.2f}") for p in rows]
    if section in ("insights", "summaries"):
        dated = contents.insights if section == "insights" else contents.summaries
        return [_known(text=item.text, at=item.at) for item in dated[:most]]
    if section == "tools":
        return [_tool(tool) for tool in contents.tools[:most]] + [{"text": hint} for hint in contents.hints]
    return [{"text": contents.state}] if contents.state else []


def _known(**fields: str) -> Fields:
    return {name: value for name, value in fields.items() if value or name == "text"}


def _tool(tool: Recommended) -> Fields:
    parameters = {f"parameter {name}": value for name, value in tool.parameters}
    return {"text": tool.reason, "tool": tool.name, **parameters}


def _grouped(entries: Sequence[Entry]) -> dict[Section, list[Fields]]:
    groups: dict[Section, list[Fields]] = {}
    for section, fields in entries:
        groups.setdefault(section, []).append({name: clean(value) for name, value in fields.items()})
    return groups


def as_json(entries: Sequence[Entry]) -> str:
    """An object of lists by section, on one line, in which nothing looks like a tag."""
    return json.dumps(_grouped(entries), ensure_ascii=False).translate(_JSON_ESCAPES)


def as_xml(entries: Sequence[Entry]) -> str:
    """An element for each section with an element for each item; what is known about it in elements too."""
    return "\n".join(
        f"<{section}>{''.join(map(_xml_item, items))}</{section}>"
        for section, items in _grouped(entries).items()
    )


def _xml_item(fields: Fields) -> str:
    about = "".join(
        f'<about name="{escape(name).replace(chr(34), "&quot;")}">{escape(value)}</about>'
        for name, value in fields.items()
        if name != "text"
    )
    return f"<item>{about}{escape(fields['text'])}</item>"


def _report(
    entries: Sequence[Entry], shown: int, layout: Layout, count: Estimator
) -> tuple[SectionReport, ...]:
    reports = []
    for name in layout.order:
        positions = [i for i, entry in enumerate(entries) if entry.section == name]
        if not positions:
            continue
        inside = sum(position < shown for position in positions)
        status: Literal["full", "cut", "dropped"] = (
            "full" if inside == len(positions) else "cut" if inside else "dropped"
        )
        sizes = [count(entries[position].fields["text"]) for position in positions]
        reports.append(SectionReport(name, status, sum(sizes), sum(sizes[:inside])))
    return tuple(reports)

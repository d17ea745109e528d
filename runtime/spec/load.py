"""Reading a document: from bytes, through migrations, to its shape or every problem of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from runtime.errors import BadFlow, Problem
from runtime.shape import Misfit, read
from runtime.spec.document import FORMAT, FORMAT_VERSION, FlowSpec, LoadedFlow, NodeSpec
from runtime.spec.text import MAX_BYTES, bad_file, parse_json

VERSION = re.compile("[1-9][0-9]{0,8}")
"""The number of a format: versions begin at 1."""
Migration = Callable[[dict[str, Any]], tuple[dict[str, Any], list[str]]]
LookAtNodes = Callable[[Sequence[tuple[str, NodeSpec]]], Sequence[Problem]]
"""What else is wrong with nodes, given with their JSON paths."""
MIGRATIONS: dict[int, Migration] = {}
"""From version n to n + 1; a list of what changed goes to the person who opens the file."""


def load_flow(raw: bytes, *, name: str = "the flow file", look: LookAtNodes | None = None) -> LoadedFlow:
    """Read a document. Raises BadFlow with every problem of its shape and where it is; `look` adds what is
    wrong with those of its nodes whose own shape is sound.
    """
    document = parse_json(raw, name=name, limit=MAX_BYTES)
    if not isinstance(document, dict):
        raise bad_file(
            "flow.not_an_object", f"{name} holds {_kind(document)} where a flow object is expected", name
        )
    document, warnings, changes = _to_current(document, name)
    try:
        spec = read(FlowSpec, document)
    except Misfit as misfit:
        from runtime.spec.shape import shape_problems, sound_nodes

        found = shape_problems(misfit)
        if look is not None:
            found += look(sound_nodes(misfit))
        raise BadFlow(found, name=_name_of(document)) from None
    return LoadedFlow(spec, raw, sha256(raw).hexdigest(), tuple(warnings), tuple(changes))


def _to_current(document: dict[str, Any], name: str) -> tuple[dict[str, Any], list[Problem], list[str]]:
    version, warnings = FORMAT_VERSION, list[Problem]()
    if "format" not in document:
        remedy = f'Add "format": "{FORMAT}".'
        warnings.append(
            Problem(
                "flow.no_format",
                "the file names no format and is read as version 1",
                remedy,
                path="$.format",
                level="warning",
            )
        )
    else:
        prefix, _, number = str(document["format"]).rpartition("/")
        if prefix != "farthing.flow" or VERSION.fullmatch(number) is None:
            from runtime.spec.shape import shown

            raise bad_file(
                "flow.format",
                f"$.format is {shown(document['format'])}, which is not a Farthing flow",
                name,
                f"A flow begins with {FORMAT!r}.",
            )
        version = int(number)
    if version > FORMAT_VERSION:
        types = sorted({str(n.get("type")) for n in document.get("nodes", []) if isinstance(n, dict)})
        uses = f" (its node types: {', '.join(types)})" if types else ""
        raise bad_file(
            "flow.newer",
            f"the file has format {version} and this Farthing reads up to {FORMAT_VERSION}{uses}",
            _name_of(document) or name,
            "Update Farthing, or save it from there in the older format.",
        )
    changes: list[str] = []
    for step in range(version, FORMAT_VERSION):
        document, done = MIGRATIONS[step](document)
        changes += done
    return {**document, "format": FORMAT}, warnings, changes


def _name_of(document: dict[str, Any]) -> str | None:
    name = document.get("name")
    return name if isinstance(name, str) else None


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}.get(
        type(value), "a number"
    )

"""The Flow document: its shape, how it is read, migrated and saved. Nothing here knows node types."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.errors import BadFlow, Problem
from runtime.field_help import add_help

FORMAT = "farthing.flow/1"
FORMAT_VERSION = 1
MAX_BYTES = 8 * 1024 * 1024
"""A flow document is at most 8 MiB: 10,000 nodes with a page of instructions each do not reach it."""
MAX_DEPTH = 64
"""JSON nested deeper than this is refused; bodies of loops and schemas stay far below."""
ID_PATTERN = r"^[^\W\d][\w-]*$"
ID_CHARS = 64
"""Node ids: a letter or `_`, then up to 63 letters, digits, `_` or `-`, so that paths and templates can name
them."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=add_help)


class NodeSpec(_Part):
    """A node as written."""

    id: str = Field(pattern=ID_PATTERN, max_length=ID_CHARS)
    """Unique in the flow."""
    type: str
    """A node type's name."""
    version: int | None = None
    """Version of the node type's config; absent: the current one."""
    config: dict[str, Any] = Field(default_factory=dict)
    """The node type's own settings."""
    ui: dict[str, Any] | None = None
    """Position and the like; never changes a run."""


class EdgeSpec(_Part):
    """An edge as written; an absent port is the node's main one."""

    source: str
    """Id of the node it comes from."""
    target: str
    """Id of the node it goes to."""
    source_port: str | None = None
    """Output port; absent: the main one."""
    target_port: str | None = None
    """Input port; absent: the main one."""


class GraphSpec(_Part):
    """Nodes and edges: a flow's own or a body's."""

    nodes: tuple[NodeSpec, ...] = ()
    edges: tuple[EdgeSpec, ...] = ()


class FlowSpec(GraphSpec):
    """A flow document."""

    json_schema: str | None = Field(default=None, alias="$schema")
    """Where editors find the schema."""
    format: str = FORMAT
    """`farthing.flow/` and the version of the format."""
    id: str | None = None
    """Given once by `farthing new`; absent, the name serves."""
    name: str = Field(min_length=1, max_length=200)
    """What people call it."""
    description: str = ""
    """What it does, in a sentence or two."""
    ui: dict[str, Any] | None = None
    """`groups`, `notes`, `viewport`; never changes a run."""

    @property
    def flow_id(self) -> str:
        """What sessions, facts and budgets of this flow are kept under."""
        return self.id or self.name


class LoadedFlow(NamedTuple):
    """A document that was read: `warnings` are problems of level `warning`; `changes` say what a migration
    did; `raw` are the bytes as given and `hash` their SHA-256."""

    spec: FlowSpec
    raw: bytes
    hash: str
    warnings: tuple[Problem, ...] = ()
    changes: tuple[str, ...] = ()


Migration = Callable[[dict[str, Any]], tuple[dict[str, Any], list[str]]]
MIGRATIONS: dict[int, Migration] = {}
"""From version n to n + 1; a list of what changed goes to the person who opens the file."""


def load_flow(raw: bytes, *, name: str = "the flow file") -> LoadedFlow:
    """Read a document. Raises BadFlow with every problem of its shape and where it is."""
    document = parse_json(raw, name=name, limit=MAX_BYTES)
    if not isinstance(document, dict):
        raise _bad(
            "flow.not_an_object", f"{name} holds {_kind(document)} where a flow object is expected", name
        )
    document, warnings, changes = _to_current(document, name)
    try:
        spec = FlowSpec.model_validate(document)
    except ValidationError as error:
        raise BadFlow(shape_problems(error, document), name=_name_of(document)) from None
    return LoadedFlow(spec, raw, sha256(raw).hexdigest(), tuple(warnings), tuple(changes))


def save_flow(spec: FlowSpec) -> bytes:
    """The document's one spelling: fixed key order, nodes by id, edges by ends, two spaces, a final newline.

    Saving what was loaded from these bytes gives these bytes again.
    """
    document: dict[str, Any] = {}
    if spec.json_schema:
        document["$schema"] = spec.json_schema
    document["format"] = FORMAT
    if spec.id:
        document["id"] = spec.id
    document["name"] = spec.name
    if spec.description:
        document["description"] = spec.description
    document |= _graph(spec)
    if spec.ui:
        document["ui"] = _sorted(spec.ui)
    encoded = msgspec.json.Encoder(decimal_format="number").encode(document)
    return msgspec.json.format(encoded, indent=2) + b"\n"


def parse_json(raw: bytes, *, name: str, limit: int) -> Any:
    """JSON of a file, strictly: UTF-8 (a byte-order mark is accepted), no NaN, no key twice, bounded size
    and depth; fractions come as Decimal. Raises BadFlow that says where."""
    if len(raw) > limit:
        raise _bad(
            "flow.too_large",
            f"{name} has {len(raw):,} bytes, more than the {limit:,} that are read",
            name,
            "Split it, or move long texts into facts or files.",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad(
            "flow.not_utf8", f"{name} is not UTF-8 text (byte {error.start})", name, "Save it as UTF-8."
        ) from None
    if "\x00" in text:
        raise _bad("flow.nul", f"{name} contains NUL bytes", name, "It is not a text file; save it anew.")
    if not text.strip():
        raise _bad("flow.empty", f"{name} is empty", name, "`farthing new` makes one to begin with.")
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise _bad(
            "flow.broken_json",
            f"{name} is not complete JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            name,
            "Mend the text there.",
        ) from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        raise _bad("flow.broken_json", f"{name}: {error}", name, "Mend the text there.") from None
    if _deeper_than(value, MAX_DEPTH):
        raise _too_deep(name)
    return value


def plain_numbers(value: Any) -> Any:
    """The same tree with floats in place of Decimals, for everything that is not money."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_numbers(item) for item in value]
    return value


def shape_problems(error: ValidationError, document: Any, *, base: str = "$") -> list[Problem]:
    """Pydantic's errors as problems with JSON paths, node ids and words for people."""
    return [_shape_problem(dict(item), document, base) for item in error.errors(include_url=False)]


def _shape_problem(item: dict[str, Any], document: Any, base: str) -> Problem:
    path, node_id, here = base, None, document
    for key in item["loc"]:
        if isinstance(key, int):
            path += f"[{key}]"
        elif isinstance(here, dict) and (key in here or item["type"] == "missing"):
            path += f".{key}"
        else:
            continue  # pydantic's own tags of unions are no part of the document
        try:
            here = here[key]
        except (KeyError, IndexError, TypeError):
            here = None
        if isinstance(here, dict) and isinstance(here.get("id"), str) and node_id is None and base == "$":
            node_id = here["id"] if path.startswith("$.nodes") else None
    return Problem(*_words(item, path), node_id=node_id, path=path)


def _words(item: dict[str, Any], path: str) -> tuple[str, str, str]:
    name = path.rsplit(".", 1)[-1]
    if item["type"] == "extra_forbidden":
        return (
            "flow.unknown_field",
            f"{path} is not a field that exists",
            f"Remove {name!r} or mend its name.",
        )
    if item["type"] == "missing":
        return "flow.missing_field", f"{path} is missing", f"Add {name!r}."
    if item["type"] == "string_pattern_mismatch":
        return (
            "flow.bad_id",
            f"{path} is {item.get('input')!r}, which is no usable id",
            "Use a letter first, then letters, digits, - or _, 64 at most.",
        )
    text = str(item["msg"]).removeprefix("Value error, ").rstrip(".")
    return "flow.bad_value", f"{path}: {text[:1].lower()}{text[1:]}", "Change the value."


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
        if prefix != "farthing.flow" or not number.isdecimal():
            raise _bad(
                "flow.format",
                f"$.format is {document['format']!r}, which is not a Farthing flow",
                name,
                f"A flow begins with {FORMAT!r}.",
            )
        version = int(number)
    if version > FORMAT_VERSION:
        types = sorted({str(n.get("type")) for n in document.get("nodes", []) if isinstance(n, dict)})
        raise _bad(
            "flow.newer",
            f"the file has format {version} and this Farthing reads up to {FORMAT_VERSION}"
            f" (its node types: {', '.join(types) or 'none'})",
            _name_of(document) or name,
            "Update Farthing, or save it from there in the older format.",
        )
    changes: list[str] = []
    for step in range(version, FORMAT_VERSION):
        document, done = MIGRATIONS[step](document)
        changes += done
    return {**document, "format": FORMAT}, warnings, changes


def _graph(graph: GraphSpec) -> dict[str, Any]:
    return {
        "nodes": [_node(node) for node in sorted(graph.nodes, key=lambda node: node.id)],
        "edges": [
            {key: value for key, value in _edge(edge).items() if value is not None}
            for edge in sorted(graph.edges, key=lambda edge: tuple(v or "" for v in _edge(edge).values()))
        ],
    }


def _node(node: NodeSpec) -> dict[str, Any]:
    document: dict[str, Any] = {"id": node.id, "type": node.type}
    if node.version is not None:
        document["version"] = node.version
    config = dict(sorted(node.config.items()))
    if isinstance(config.get("body"), dict):  # a body is a graph of its own and is spelled like one
        config["body"] = _graph(GraphSpec.model_validate(config["body"]))
    document["config"] = config
    if node.ui:
        document["ui"] = _sorted(node.ui)
    return document


def _edge(edge: EdgeSpec) -> dict[str, str | None]:
    return {
        "source": edge.source,
        "source_port": edge.source_port,
        "target": edge.target,
        "target_port": edge.target_port,
    }


def _sorted(value: Any) -> Any:
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _bad(code: str, message: str, name: str | None, remedy: str = "Check the file.") -> BadFlow:
    return BadFlow([Problem(code, message, remedy)], name=name)


def _too_deep(name: str) -> BadFlow:
    return _bad("flow.too_deep", f"{name} is nested deeper than {MAX_DEPTH} levels", name, "Flatten it.")


def _name_of(document: dict[str, Any]) -> str | None:
    name = document.get("name")
    return name if isinstance(name, str) else None


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}.get(
        type(value), "a number"
    )

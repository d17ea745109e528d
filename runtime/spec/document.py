"""The Flow document: its shape. Nothing here knows node types."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from runtime.errors import Problem
from runtime.names import fault_in
from runtime.shape import Shape, Wrong

FORMAT = "farthing.flow/1"
FORMAT_VERSION = 1
ID_PATTERN = r"^[^\W\d][\w-]*$"
ID_CHARS = 64
"""Node ids: a letter or `_`, then up to 63 letters, digits, `_` or `-`, so that paths and templates can name
them."""
RESERVED_IDS = ("settings", "limit", "@admin", "*")
"""Ids under which the user's own budgets, `--limit`, what happens outside runs, and what belongs to everyone
are kept."""


class NodeSpec(Shape):
    """A node as written."""

    id: Annotated[str, Meta(pattern=ID_PATTERN, max_length=ID_CHARS)]
    """Unique in the flow."""
    type: str
    """A node type's name."""
    version: Annotated[int, Meta(ge=1)] | None = None
    """Version of the node type's config; absent: the current one."""
    config: dict[str, Any] = {}
    """The node type's own settings."""
    ui: dict[str, Any] | None = None
    """Position and the like; never changes a run."""


class EdgeSpec(Shape):
    """An edge as written; an absent port is the node's main one."""

    source: str
    """Id of the node it comes from."""
    target: str
    """Id of the node it goes to."""
    source_port: str | None = None
    """Output port; absent: the main one."""
    target_port: str | None = None
    """Input port; absent: the main one."""


class GraphSpec(Shape):
    """Nodes and edges: a flow's own or a body's."""

    nodes: tuple[NodeSpec, ...] = ()
    edges: tuple[EdgeSpec, ...] = ()


class FlowSpec(GraphSpec, kw_only=True):
    """A flow document."""

    json_schema: str | None = field(default=None, name="$schema")
    """Where editors find the schema."""
    format: str = FORMAT
    """`farthing.flow/` and the version of the format."""
    id: str | None = None
    """Given once by `farthing new`; absent, the name serves."""
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    """What people call it."""
    description: str = ""
    """What it does, in a sentence or two."""
    ui: dict[str, Any] | None = None
    """`groups`, `notes`, `viewport`; never changes a run."""

    @property
    def flow_id(self) -> str:
        """What sessions, facts and budgets of this flow are kept under."""
        return self.id or self.name

    def __post_init__(self) -> None:
        """A pot is `flow id/budget`: an id that reads like a part of another pot would count there."""
        found = self.flow_id
        for field_, text in (("id", found), ("name", self.name)):
            fault = fault_in(text)
            if fault is not None:
                raise Wrong(f"it {fault}", field_, f"Give the flow another `{field_}`.")
        if "/" in found or found.startswith("shared:") or found in RESERVED_IDS:
            raise Wrong(
                f"{found!r} cannot be the id of a flow (`id`, else its name): one has no /, does not begin"
                f" with shared:, and is none of {', '.join(RESERVED_IDS)}",
                remedy="Give the document another `id`.",
            )


class LoadedFlow(msgspec.Struct, frozen=True):
    """A document that was read: `warnings` are problems of level `warning`; `changes` say what a migration
    did; `raw` are the bytes as given and `hash` their SHA-256."""

    spec: FlowSpec
    raw: bytes
    hash: str
    warnings: tuple[Problem, ...] = ()
    changes: tuple[str, ...] = ()

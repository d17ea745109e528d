"""The Flow document: its shape. Nothing here knows node types."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from runtime.errors import Problem
from runtime.field_help import add_help

FORMAT = "farthing.flow/1"
FORMAT_VERSION = 1
ID_PATTERN = r"^[^\W\d][\w-]*$"
ID_CHARS = 64
"""Node ids: a letter or `_`, then up to 63 letters, digits, `_` or `-`, so that paths and templates can name
them."""
RESERVED_IDS = ("settings", "limit", "@admin", "*")
"""Ids under which the user's own budgets, `--limit`, what happens outside runs, and what belongs to everyone
are kept."""


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

    @model_validator(mode="after")
    def _id_is_no_others(self) -> Self:
        """A pot is `flow id/budget`: an id that reads like a part of another pot would count there."""
        found = self.flow_id
        if "/" in found or found.startswith("shared:") or found in RESERVED_IDS:
            raise ValueError(
                f"{found!r} cannot be the id of a flow (`id`, else its name): one has no /, does not begin"
                f" with shared:, and is none of {', '.join(RESERVED_IDS)}"
            )
        return self


class LoadedFlow(NamedTuple):
    """A document that was read: `warnings` are problems of level `warning`; `changes` say what a migration
    did; `raw` are the bytes as given and `hash` their SHA-256."""

    spec: FlowSpec
    raw: bytes
    hash: str
    warnings: tuple[Problem, ...] = ()
    changes: tuple[str, ...] = ()

"""Reading a flow's nodes: their types, their configs, and no credentials in them."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from runtime.node import Config, NodeType
from runtime.plan.draft import Compiled, Draft, nearest
from runtime.shape import Misfit, read
from runtime.spec import NodeSpec, plain_numbers

MAY_BE_CREDENTIAL = re.compile(
    r"[A-Za-z0-9_+/=-]{16,}|(?i:pass|pwd|secret|token|key|bearer)\S*\s*[:=\s]\s*\S{6,}"
)
"""Texts without any of these are not looked at for credentials; it saves loading the detector."""


def read_node(draft: Draft, spec: NodeSpec, path: str) -> None:
    if draft.path_of[spec.id] != path:
        titles = [str((n.ui or {}).get("title") or n.type) for n in draft.spec.nodes if n.id == spec.id]
        draft.say(
            "flow.duplicate_id",
            f"two nodes have the id {spec.id!r} ({' and '.join(titles)})",
            "Give each node an id of its own.",
            spec.id,
            f"{path}.id",
        )
    kind = draft.registry.get(spec.type)
    if kind is None:
        near = nearest(spec.type, draft.registry.names())
        draft.say(
            "flow.unknown_type",
            f"there is no node type {spec.type!r}",
            f"Did you mean {near!r}?" if near else f"Known: {', '.join(draft.registry.names())}.",
            spec.id,
            f"{path}.type",
        )
        return
    config = _config(draft, spec, kind, path)
    if config is not None:
        no_credentials(draft, spec.config, spec.id, f"{path}.config")
        outputs = {port.name: port for port in (*kind.outputs, *kind.more_outputs(config))}
        inputs = {port.name: port for port in kind.inputs}
        draft.nodes.setdefault(spec.id, Compiled(spec, kind, config, outputs, inputs))


def _config(draft: Draft, spec: NodeSpec, kind: NodeType, path: str) -> Config | None:
    raw = dict(spec.config) if kind.rule is not None else plain_numbers(spec.config)
    version = kind.version if spec.version is None else spec.version
    if version > kind.version:
        draft.say(
            "flow.newer_node",
            f"the node {spec.id!r} has version {version} of {kind.name!r}; here it is {kind.version}",
            "Update Farthing or the package that brings the node type.",
            spec.id,
            f"{path}.version",
        )
        return None
    if version < kind.version and kind.migrate is not None:
        raw = kind.migrate(raw, version)
    try:
        return read(kind.config, raw)
    except Misfit as misfit:
        from runtime.spec.shape import shape_problems

        for problem in shape_problems(misfit, base=f"{path}.config"):
            draft.problems.append(msgspec.structs.replace(problem, node_id=spec.id))
        return None


def no_credentials(draft: Draft, value: Any, node_id: str, path: str) -> None:
    """A flow is shared; a key in it would be too."""
    if isinstance(value, dict):
        for key, item in value.items():
            no_credentials(draft, item, node_id, f"{path}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            no_credentials(draft, item, node_id, f"{path}[{i}]")
    elif isinstance(value, str) and MAY_BE_CREDENTIAL.search(value):
        from runtime.secrets.detect import find_credential

        found = find_credential(value)
        if found is not None:
            draft.say(
                "flow.credential",
                f"{path} holds what looks like a credential ({found.kind})",
                'Keep it in the settings as a secret and write {"secret": "NAME"} here.',
                node_id,
                path,
            )

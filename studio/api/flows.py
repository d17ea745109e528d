"""Flows as files: list, open, save, duplicate, delete, and a cheap look whether one was changed outside."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import msgspec

from runtime.errors import BadFlow, Problem
from runtime.secrets.detect import find_credential
from runtime.spec import FlowSpec, load_flow, save_flow
from studio.api.errors import Refused
from studio.api.route import LARGE_BODY, Call, Endpoint
from studio.api.shapes import raw
from studio.folder import Stale

EXAMPLE_ID = "example-"
"""Ids of the examples begin so; a copy of one is a flow of its own."""


class FlowLine(msgspec.Struct, frozen=True, kw_only=True):
    """A flow in the folder; `error` says why it cannot be opened."""

    path: str
    id: str | None
    name: str
    description: str
    modified: datetime
    hash: str
    error: str | None


class FlowsOut(msgspec.Struct, frozen=True):
    """The folder and its flows, by path."""

    folder: str
    flows: list[FlowLine]


class FlowOut(msgspec.Struct, frozen=True):
    """An opened flow. `hash` is that of the file's bytes; `changes` say what a migration did."""

    path: str
    hash: str
    flow: msgspec.Raw
    warnings: list[dict[str, Any]]
    changes: list[str]


class SaveIn(msgspec.Struct, frozen=True):
    """A document to save. `base_hash` is the file's hash when it was opened; null: it must not exist."""

    flow: msgspec.Raw
    base_hash: str | None


class SavedOut(msgspec.Struct, frozen=True):
    """A saved flow as it stands in the file now."""

    path: str
    hash: str
    flow: msgspec.Raw


class HashOut(msgspec.Struct, frozen=True):
    """The file's hash now."""

    hash: str


class DuplicateIn(msgspec.Struct, frozen=True):
    """Where the copy goes."""

    to: str


class DeleteQuery(msgspec.Struct, frozen=True):
    """The file's hash when it was seen last."""

    base_hash: str


async def list_flows(call: Call) -> FlowsOut:
    """List the flows of the folder."""
    found = await asyncio.to_thread(call.studio.folder.flows)
    root = str(call.studio.folder.root) if call.who.operator else call.studio.folder.root.name
    return FlowsOut(root, [FlowLine(**flow._asdict()) for flow in found])


async def open_flow(call: Call) -> FlowOut:
    """Open a flow."""
    path = call.path["path"]
    loaded = await asyncio.to_thread(call.studio.folder.open, path)
    warnings = [msgspec.structs.asdict(problem) for problem in loaded.warnings]
    return FlowOut(path, loaded.hash, raw(save_flow(loaded.spec)), warnings, list(loaded.changes))


async def flow_hash(call: Call) -> HashOut:
    """The hash of a flow's file, to notice changes from outside."""
    return HashOut(await asyncio.to_thread(call.studio.folder.hash, call.path["path"]))


async def save(call: Call) -> SavedOut:
    """Save a flow in its one spelling; a first save gives it an id of its own."""
    path, folder = call.path["path"], call.studio.folder
    folder.place(path)
    spec = load_flow(bytes(call.body.flow), name=path).spec
    refuse_credentials(spec)
    async with call.studio.saving:
        known = await asyncio.to_thread(folder.ids, path)
        if call.body.base_hash is None and (
            spec.id is None or spec.id.startswith(EXAMPLE_ID) or spec.id in known
        ):
            spec = msgspec.structs.replace(spec, id=call.studio.services.clock.new_id())
        return await _write(call, path, spec, call.body.base_hash)


async def duplicate(call: Call) -> SavedOut:
    """Copy a flow to another path, under an id of its own."""
    folder = call.studio.folder
    loaded = await asyncio.to_thread(folder.open, call.path["path"])
    spec = msgspec.structs.replace(loaded.spec, id=call.studio.services.clock.new_id())
    async with call.studio.saving:
        return await _write(call, call.body.to, spec, None)


async def delete(call: Call) -> None:
    """Delete a flow's file, if it still is what the caller saw."""
    async with call.studio.saving:
        await _checked(asyncio.to_thread(call.studio.folder.delete, call.path["path"], call.query.base_hash))


async def _write(call: Call, path: str, spec: FlowSpec, base_hash: str | None) -> SavedOut:
    body = save_flow(spec)
    digest = await _checked(asyncio.to_thread(call.studio.folder.save, path, body, base_hash))
    return SavedOut(path, digest, raw(body))


async def _checked(work: Any) -> Any:
    """What the work gives; a stale write as 409 with the hash that the file has now."""
    try:
        return await work
    except Stale as error:
        raise Refused(409, error.code, error.message, error.remedy, current_hash=error.current_hash) from None


def refuse_credentials(spec: FlowSpec) -> None:
    """Raises BadFlow for every literal that looks like a key: flows are passed around."""
    found = [
        Problem(
            "flow.credential",
            f"{path} looks like a credential, and flows never hold those",
            'Put it under [secrets] in your settings and write {"secret": "NAME"} here.',
            node.id,
            path,
        )
        for index, node in enumerate(spec.nodes)
        for path, text in _texts(node.config, f"$.nodes[{index}].config")
        if find_credential(text) is not None
    ]
    if found:
        raise BadFlow(found, name=spec.name)


def _texts(value: Any, path: str) -> list[tuple[str, str]]:
    if isinstance(value, str):
        return [(path, value)]
    if isinstance(value, dict):
        return [found for key, item in value.items() for found in _texts(item, f"{path}.{key}")]
    if isinstance(value, (list, tuple)):
        return [found for i, item in enumerate(value) for found in _texts(item, f"{path}[{i}]")]
    return []


ENDPOINTS = (
    Endpoint("GET", "/flows", "viewer", list_flows, gives=FlowsOut, tag="flows"),
    Endpoint("GET", "/flows/{path:path}/hash", "viewer", flow_hash, gives=HashOut, tag="flows"),
    Endpoint(
        "POST", "/flows/{path:path}/duplicate", "editor", duplicate, body=DuplicateIn, gives=SavedOut,
        status=201, tag="flows",
    ),
    Endpoint("GET", "/flows/{path:path}", "viewer", open_flow, gives=FlowOut, tag="flows"),
    Endpoint(
        "PUT", "/flows/{path:path}", "editor", save, body=SaveIn, gives=SavedOut, tag="flows",
        max_body=LARGE_BODY,
    ),
    Endpoint(
        "DELETE", "/flows/{path:path}", "editor", delete, query=DeleteQuery, status=204, tag="flows"
    ),
)  # fmt: skip

"""The OpenAPI document, made from the table of routes and the models that check requests."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from studio.api.errors import ErrorBody
from studio.api.route import BASE, Call, Endpoint
from studio.version import version

PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
REF = "#/components/schemas/{name}"


async def openapi(_call: Call) -> dict[str, Any]:
    """This document."""
    from studio.api.table import endpoints

    return document(endpoints())


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """OpenAPI 3.1 of these routes."""
    table = list(endpoints)
    models = [m for e in table for m in (e.query, e.body, e.gives) if m is not None]
    kinds = list(dict.fromkeys([*models, ErrorBody]))
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REF)
    known = dict(zip(map(repr, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in table:
        path = BASE + PARAMETER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint, known, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Farthing",
            "version": version(),
            "description": "Design, run and inspect flows in which every token and every farthing counts.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "`farthing token create`"}
            },
        },
        "security": [{"token": []}],
    }


def _operation(endpoint: Endpoint, known: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.handler.__name__ + "_" + endpoint.tag,
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint, components)],
        "responses": _responses(endpoint, known),
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": known[repr(endpoint.body)]}}
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.role is None:
        operation["security"] = []
    else:
        operation["x-role"] = endpoint.role
    return operation


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in PARAMETER.findall(endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint, components: dict[str, Any]) -> list[dict[str, Any]]:
    shape = components.get(endpoint.query.__name__, {})
    needed = shape.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": schema}
        for name, schema in shape.get("properties", {}).items()
    ]


def _responses(endpoint: Endpoint, known: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "Done."}
    if endpoint.gives is not None:
        success["content"] = {"application/json": {"schema": known[repr(endpoint.gives)]}}
    found: dict[str, Any] = {str(endpoint.status): success}
    if endpoint.streams:
        success["content"]["text/event-stream"] = {"schema": {"type": "string"}}
        found["204"] = {"description": "A stream has nothing more to give."}
    for kind in endpoint.also:
        success["content"][kind] = {"schema": {"type": "string"}}
    error = {"application/json": {"schema": known[repr(ErrorBody)]}}
    words = {"400": "Not as asked for.", "401": "No credential.", "403": "The role is too small."}
    words |= {"404": "Not there.", "405": "No such method.", "409": "Something changed meanwhile."}
    words |= {"413": "Too large.", "422": "Cannot be run.", "503": "Not now."}
    for status, text in words.items():
        found[status] = {"description": text, "content": error}
    return found


ENDPOINTS = (Endpoint("GET", "/openapi.json", "viewer", openapi, gives=dict[str, Any], tag="catalog"),)

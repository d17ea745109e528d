"""Truth values where a number belongs: pydantic reads true as 1, which nobody means by a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel


def as_numbers(raw: Any, made: Any, path: str) -> Iterator[tuple[str, str]]:
    """Truth values in `raw` that became numbers in `made`, the config read from it: JSON path, JSON text."""
    if isinstance(raw, bool):
        if not isinstance(made, bool) and made == raw:
            yield path, "true" if raw else "false"
    elif isinstance(raw, dict):
        fields = _members(made)
        for key, item in raw.items():
            if key in fields:
                yield from as_numbers(item, fields[key], f"{path}.{key}")
    elif isinstance(raw, list) and isinstance(made, (list, tuple)):
        for i, (item, read) in enumerate(zip(raw, made, strict=False)):
            yield from as_numbers(item, read, f"{path}[{i}]")


def _members(made: Any) -> dict[str, Any]:
    if isinstance(made, BaseModel):
        return {(type(made).model_fields[name].alias or name): value for name, value in made}
    return made if isinstance(made, dict) else {}

"""The gate: what the model may not write, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from runtime.errors import InputError
from runtime.facts import INTERNAL_PREFIX, MODEL_KINDS

USAGE_PREFIX = "usage/"
LONGEST_TTL_S = 10 * 365 * 86_400
"""Ten years: what lasts longer needs no end."""


class Refusal(InputError):
    """The memory's gate refuses a write."""

    default_code = "memory.refused"


class Refused(NamedTuple):
    """Why a write is refused, in a code and in words."""

    code: str
    message: str


def refused(gate: Any, key: Any, value: Any, kind: str, ttl_s: float | None) -> Refused | None:
    """What is wrong with a write by the Memory's `write` settings; None where it may be made."""
    return _bad_key(gate, key) or _bad_shape(kind, ttl_s) or _bad_value(gate, key, value)


def _bad_key(gate: Any, key: Any) -> Refused | None:
    if not isinstance(key, str) or not key.strip() or not key.isprintable():
        return Refused("memory.bad_key", "a key is a short printable text")
    if len(key) > gate.max_key_chars:
        return Refused("memory.bad_key", f"the key is longer than {gate.max_key_chars} characters")
    if key.startswith((INTERNAL_PREFIX, USAGE_PREFIX)):
        return Refused(
            "memory.reserved_key",
            f"keys that begin with {INTERNAL_PREFIX!r} or {USAGE_PREFIX!r} are reserved",
        )
    return None


def _bad_shape(kind: str, ttl_s: float | None) -> Refused | None:
    if kind not in MODEL_KINDS:
        return Refused("memory.bad_kind", f"the kind is one of {', '.join(sorted(MODEL_KINDS))}")
    if ttl_s is not None and not 0 < ttl_s <= LONGEST_TTL_S:
        return Refused("memory.bad_ttl", "ttl is a positive number of seconds, ten years at most")
    return None


def _bad_value(gate: Any, key: str, value: Any) -> Refused | None:
    encoded = msgspec.json.encode(value)
    if len(encoded) > gate.max_value_bytes:
        return Refused(
            "memory.too_long", f"the value has {len(encoded)} bytes, more than {gate.max_value_bytes}"
        )
    from runtime.secrets.detect import find_credential

    text = encoded.decode()
    if find_credential(f"{key}={text}") is not None or find_credential(text) is not None:
        return Refused("memory.credential", "it looks like a credential, and those are never kept as facts")
    return None

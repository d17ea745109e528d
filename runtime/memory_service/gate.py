"""The gate: what the model may not write, and why."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.errors import InputError
from runtime.facts import INTERNAL_PREFIX, MODEL_KINDS, Kind

USAGE_PREFIX = "usage/"
LONGEST_TTL_S = 10 * 365 * 86_400
"""Ten years: what lasts longer needs no end."""


class Refusal(InputError):
    """The memory's gate refuses a write."""

    default_code = "memory.refused"


class Refused(msgspec.Struct, frozen=True):
    """Why a write is refused, in a code and in words."""

    code: str
    message: str


class Statement(msgspec.Struct, frozen=True):
    """What is to be written. `subject` and `attribute` say what it states, where both are given."""

    key: Any
    value: Any
    kind: Kind = "fact"
    ttl_s: float | None = None
    subject: str | None = None
    attribute: str | None = None


def refused(gate: Any, said: Statement) -> Refused | None:
    """What is wrong with a write by the Memory's `write` settings; None where it may be made."""
    return (
        _bad_key(gate, said.key)
        or _bad_shape(said.kind, said.ttl_s)
        or _bad_names(gate, said.subject, said.attribute)
        or _bad_value(gate, said)
        or _transient(gate, said)
    )


def with_end(gate: Any, said: Statement) -> Statement:
    """The statement with an end, where it has none and will not hold for long."""
    from runtime.memory.transient import is_transient

    if gate.transient != "expire" or said.ttl_s is not None or not is_transient(said.value):
        return said
    return msgspec.structs.replace(said, ttl_s=gate.transient_ttl_s)


def normal(name: str | None) -> str | None:
    """A subject or attribute in the one spelling by which it is found again; None where it is blank."""
    return None if name is None else " ".join(name.split()).casefold() or None


def _transient(gate: Any, said: Statement) -> Refused | None:
    from runtime.memory.transient import is_transient

    if gate.transient != "refuse" or said.ttl_s is not None or not is_transient(said.value):
        return None
    return Refused("memory.transient", "it will not hold for long; give it a `ttl`, or leave it out")


def _bad_names(gate: Any, subject: str | None, attribute: str | None) -> Refused | None:
    if (subject is None) != (attribute is None):
        return Refused("memory.bad_subject", "`subject` and `attribute` are given together or not at all")
    names = (subject or "", attribute or "")
    if any(not name.isprintable() or len(name) > gate.max_key_chars for name in names):
        most = gate.max_key_chars
        return Refused(
            "memory.bad_subject", f"subject and attribute are printable, of {most} characters at most"
        )
    return None


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


def _bad_value(gate: Any, said: Statement) -> Refused | None:
    key, encoded = said.key, msgspec.json.encode(said.value)
    if len(encoded) > gate.max_value_bytes:
        return Refused(
            "memory.too_long", f"the value has {len(encoded)} bytes, more than {gate.max_value_bytes}"
        )
    from runtime.secrets.detect import find_credential

    text = encoded.decode()
    about = f"{said.subject or ''} {said.attribute or ''}"
    if any(find_credential(told) is not None for told in (f"{key}={text}", text, about)):
        return Refused("memory.credential", "it looks like a credential, and those are never kept as facts")
    return None

"""Replacing the exact values of configured secrets, in every form in which they travel.

Everything that is stored passes here, so the case that nothing is found must cost next to nothing: a
text without the rarest characters of a secret cannot hold it, and those are looked for first.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

SHORTEST_BASE64 = 12
"""A shorter piece of base64 would also be found where there is no secret."""
COMMON = " etaoinsrhld\",:ucmfpgwyb.v_k{}[]01-25/3'48679EATISNRCOxLDPMBUjFHGWqzVYKJXQZ"
"""Characters of JSON and prose from frequent to rare; others are rarer still."""
RARE = 3
"""How many rare characters are looked for before the value itself."""


class _Needle(msgspec.Struct, frozen=True):
    """A form of a secret, what stands in its place, and its rarest characters."""

    text: str
    mark: str
    rare: tuple[str, ...]
    raw: bytes
    raw_mark: bytes
    raw_rare: tuple[int, ...]


class Redactor:
    """Replaces configured secrets by `[secret NAME]`. Immutable; may be shared by threads."""

    __slots__ = ("_needles", "_raw", "_texts")

    def __init__(self, values: Mapping[str, str]) -> None:
        """`values`: secrets by the name that replaces them. Empty values are left out."""
        forms: dict[str, str] = {}
        for name, value in values.items():
            for form in _forms(value):
                forms.setdefault(form, f"[secret {name}]")
        # The longest first: one secret may be part of another, and so may one of its forms.
        needles = [_needle(form, forms[form]) for form in sorted(forms, key=lambda each: (-len(each), each))]
        self._needles = tuple(needles)
        self._texts = tuple((*_three(needle.rare), needle.text, needle.mark) for needle in needles)
        self._raw = tuple((*_three(needle.raw_rare), needle.raw, needle.raw_mark) for needle in needles)

    def __repr__(self) -> str:
        return f"Redactor({len(self._needles)} forms)"

    def text(self, text: str) -> str:
        """The text without secrets; the same object where it has none."""
        for one, two, three, needle, mark in self._texts:
            if one in text and two in text and three in text and needle in text:
                text = text.replace(needle, mark)
        return text

    def raw(self, raw: bytes) -> bytes:
        """Bytes, as of an encoded event, without secrets; the same object where they have none."""
        for one, two, three, needle, mark in self._raw:
            if one in raw and two in raw and three in raw and needle in raw:
                raw = raw.replace(needle, mark)
        return raw

    def value(self, value: Any) -> Any:
        """A JSON value without secrets in its texts and keys; the same object where it has none."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.raw(value)
        if isinstance(value, Mapping):
            clean = {self.value(key): self.value(inner) for key, inner in value.items()}
            same = all(a is b and value[a] is clean[b] for a, b in zip(value, clean, strict=False))
            return value if same and len(clean) == len(value) else clean
        if isinstance(value, (list, tuple)):
            parts = [self.value(inner) for inner in value]
            return value if all(a is b for a, b in zip(value, parts, strict=True)) else parts
        return value

    def settled(self, text: str) -> int:
        """How many first characters of a text that goes on no secret can reach into: the rest may begin one,
        or is a part of one that does."""
        if not text:
            return 0
        cut = len(text) - max((_begun(needle.text, text) for needle in self._needles), default=0)
        before = -1
        while cut != before:
            before, cut = cut, min((_around(needle.text, text, cut) for needle in self._needles), default=cut)
        return cut


def _begun(needle: str, text: str) -> int:
    """How many last characters of the text are the first ones of the needle, and not all of it."""
    size = needle.rfind(text[-1:], 0, len(needle) - 1) + 1
    while size and not text.endswith(needle[:size]):
        size = needle.rfind(text[-1:], 0, size - 1) + 1
    return size


def _around(needle: str, text: str, cut: int) -> int:
    """Where the first occurrence of the needle begins that goes over the cut; the cut where none does."""
    found = text.find(needle, max(0, cut - len(needle) + 1), cut + len(needle) - 1)
    return found if 0 <= found < cut else cut


def _forms(value: str) -> Iterator[str]:
    """The value as it is, as JSON writes it (once and twice), percent-encoded, and in base64."""
    if not value:
        return
    yield value
    for ascii_only in (False, True):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
    raw = value.encode("utf-8", "surrogatepass")
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield encoded
        yield _small_escapes(encoded)
    for offset in range(3):
        # Base64 of the value wherever it stands in what was encoded: only the characters that depend on
        # nothing before or after it.
        whole = base64.b64encode(bytes(offset) + raw).decode()
        core = whole[-(-8 * offset // 6) : 8 * (offset + len(raw)) // 6]
        if len(core) >= SHORTEST_BASE64:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def _small_escapes(encoded: str) -> str:
    """`%2F` as `%2f`."""
    head, *rest = encoded.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _needle(form: str, mark: str) -> _Needle:
    raw = form.encode("utf-8", "surrogatepass")
    return _Needle(
        form, mark, _rarest(form), raw, mark.encode(), tuple(map(ord, _rarest(raw.decode("latin-1"))))
    )


def _rarest(text: str) -> tuple[str, ...]:
    def commonness(char: str) -> int:
        place = COMMON.find(char)
        return place if place >= 0 else len(COMMON)

    return tuple(sorted(set(text), key=lambda char: (-commonness(char), char))[:RARE])


def _three(rare: tuple[Any, ...]) -> tuple[Any, ...]:
    """Always three, so that the loop needs no inner one; a repeated test costs little."""
    return (rare * RARE)[:RARE]

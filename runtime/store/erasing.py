"""Erasing a value from what was written down: how it looks in texts and in JSON, and documents without it.

Pure. A copy is known by its exact text where that has `SHORTEST` characters or more, in every form in which
texts travel here (JSON in JSON, the fence of a prompt), and by its place: under its key, whatever its length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from runtime.memory.fence import escape
from runtime.store.values import canonical

SHORTEST = 6
"""Characters of a value from which on its text alone says that it is a copy."""

TEXTS = frozenset({"text", "message", "remedy", "content", "reason", "question", "why"})
"""Fields of our own documents that hold words of people, models and tools."""
FREE = frozenset(
    {"input", "output", "outputs", "arguments", "result", "value", "answer", "data", "items", "extra"}
)
"""Fields of our own documents under which everything is theirs."""
OURS = frozenset({"usage", "gauge", "gauges", "holds", "sections", "left_out", "gave_way"})
"""Fields that hold only amounts and names of ours."""


class Cleaned(msgspec.Struct, frozen=True):
    """A document without the values. `hits`: replacements; `left`: short values that still stand in it."""

    raw: bytes
    hits: int
    left: int


class Eraser:
    """Replaces every value of some keys by a mark."""

    def __init__(self, values: Mapping[str, Iterable[Any]], mark: str) -> None:
        """`values`: each key with every value that it ever had."""
        self.mark = mark
        self._of = {key: {canonical(value) for value in them} for key, them in values.items()}
        texts = {text for them in values.values() for value in them for text in _texts(value)}
        pairs = {
            f"{key}: {_compact(value)}": f"{key}: {mark}"
            for key, them in values.items()
            for value in them
            if value not in (None, "")
        }
        marks = {form: mark for text in texts if len(text) >= SHORTEST for form in _forms(text)}
        marks |= {form: new for old, new in pairs.items() for form in _forms(old)}
        self._marks = {form: marks[form] for form in sorted(marks, key=lambda f: (-len(f), f))}
        self._find = re.compile("|".join(map(re.escape, self._marks))) if marks else None
        short = sorted({re.escape(text) for text in texts if 0 < len(text) < SHORTEST})
        self._short = re.compile(rf"(?<!\w)(?:{'|'.join(short)})(?!\w)") if short else None

    def needles(self) -> list[bytes]:
        """Bytes of which a stored document with a copy has one; that of a key stands for its short values."""
        texts = [*self._marks, *self._of]
        return sorted({_inner(text) for text in texts if text}, key=lambda raw: (len(raw), raw))

    def traces(self) -> list[bytes]:
        """Bytes that must be in no file any more: of the texts that are long enough to be searched for."""
        return sorted({_inner(form) for form, mark in self._marks.items() if mark == self.mark})

    def clean(self, raw: bytes, *, free: bool) -> Cleaned:
        """A stored JSON document without the values; the same bytes where it has none."""
        work = _Work(self)
        value = work.free(json_value(raw)) if free else work.ours(json_value(raw))
        return Cleaned(msgspec.json.encode(value) if work.hits else raw, work.hits, work.left)

    def value(self, value: Any) -> Any:
        """A fact's value without the values."""
        return _Work(self).free(value)

    def text(self, text: str) -> str:
        """A text without the values."""
        return _Work(self).text(text)

    # -- asked by the work

    def is_value(self, key: Any, value: Any) -> bool:
        known = self._of.get(key) if isinstance(key, str) else None
        return bool(known) and value is not None and canonical(value) in known  # type: ignore[operator]

    def is_number(self, value: Any) -> bool:
        """Whether this is the value, or its digits, written as a number."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and _compact(value) in self._marks

    def replace(self, text: str) -> tuple[str, int]:
        if self._find is None:
            return text, 0
        return self._find.subn(lambda match: self._marks[match.group()], text)

    def stands_in(self, text: str) -> bool:
        return self._short is not None and self._short.search(text) is not None

    def may_hold(self, text: str) -> bool:
        """Whether a text is worth being read as JSON."""
        return text[:1] in ("{", "[") and any(key in text for key in self._of)


class _Work:
    """One document's walk."""

    def __init__(self, eraser: Eraser) -> None:
        self._eraser = eraser
        self.hits = 0
        self.left = 0

    def ours(self, node: Any) -> Any:
        """A document of ours: only the fields that hold words of others."""
        if isinstance(node, list):
            return [self.ours(inner) for inner in node]
        if not isinstance(node, dict):
            return node
        erased = self._write_event(node)
        return {name: erased if name == "value" and erased else self._field(name, inner)
                for name, inner in node.items()}  # fmt: skip

    def _write_event(self, node: dict[str, Any]) -> str | None:
        """The mark, where this is the event of a write of one of the values."""
        keys = node.get("keys")
        if isinstance(keys, list) and len(keys) == 1 and self._eraser.is_value(keys[0], node.get("value")):
            self.hits += 1
            return self._eraser.mark
        return None

    def _field(self, name: str, value: Any) -> Any:
        if name in OURS:
            return value
        if name in FREE:
            return self.free(value)
        if isinstance(value, str):
            return self.text(value) if name in TEXTS else value
        return self.ours(value)

    def free(self, node: Any) -> Any:
        """What is theirs through and through."""
        if isinstance(node, str):
            return self.text(node)
        if isinstance(node, list):
            return [self.free(inner) for inner in node]
        if not isinstance(node, dict):
            if self._eraser.is_number(node):
                self.hits += 1
                return self._eraser.mark
            return node
        return {self._key(name): self._member(name, inner, node) for name, inner in node.items()}

    def _key(self, name: str) -> str:
        new, count = self._eraser.replace(name)
        self.hits += count
        return new

    def _member(self, name: str, value: Any, node: dict[str, Any]) -> Any:
        named = self._eraser.is_value(name, value)
        if named or (name == "value" and self._eraser.is_value(node.get("key"), value)):
            self.hits += 1
            return self._eraser.mark
        return self.free(value)

    def text(self, text: str) -> str:
        new, count = self._eraser.replace(text)
        self.hits += count
        if self._eraser.may_hold(new):
            new = self._nested(new)
        self.left += self._eraser.stands_in(new)
        return new

    def _nested(self, text: str) -> str:
        """A text that is JSON itself, such as a tool's arguments, in which a key may name its value."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        inner = _Work(self._eraser)
        clean = inner.free(value)
        self.hits += inner.hits
        return _compact(clean) if inner.hits else text


def json_value(raw: bytes) -> Any:
    return msgspec.json.decode(raw)


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _inner(text: str) -> bytes:
    """A text as it stands between the quotes of stored JSON."""
    return msgspec.json.encode(text)[1:-1]


def _texts(value: Any) -> Iterator[str]:
    """The texts of a value: itself, or what it is made of and its JSON as a whole."""
    if isinstance(value, str):
        yield value
        yield value.strip()
    elif isinstance(value, dict):
        yield from (_compact(value), json.dumps(value, ensure_ascii=False))
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        yield from (_compact(value), json.dumps(value, ensure_ascii=False))
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield _compact(value)


def _forms(text: str) -> Iterator[str]:
    """A text as it is, in the fence of a prompt, and each as JSON writes it, up to twice."""
    fenced = escape(text)
    for form in (text, fenced, fenced.replace("\n", "\n  ")):
        yield form
        for ascii_only in (False, True):
            once = json.dumps(form, ensure_ascii=ascii_only)[1:-1]
            yield once
            yield escape(once)
            yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]

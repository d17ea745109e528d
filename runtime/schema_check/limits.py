"""How large a schema and a value to check may be."""

from __future__ import annotations

import msgspec


class SchemaLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of one schema and of checking one value. Reaching one is an error that names it."""

    values: int = 10_000
    """JSON values in the schema."""
    chars: int = 200_000
    """Characters of all texts and keys in the schema."""
    depth: int = 40
    """Nesting of the schema."""
    patterns: int = 100
    """Regular expressions in the schema."""
    pattern_chars: int = 500
    """Length of one regular expression."""
    pattern_bytes: int = 64_000
    """Memory of one compiled expression; a count such as `(a{1000}){100}` needs more."""
    pattern_cache_bytes: int = 1_000_000
    """Memory that matching one expression may use."""
    value_depth: int = 100
    """Nesting of a value to check."""
    value_chars: int = 20_000_000
    """Characters of a value to check."""
    work: int = 5_000_000
    """How many times a part of the schema may have to look at a part of the value (about 15 ns each)."""
    matched_chars: int = 500_000
    """Characters that regular expressions may have to read (at worst about 2 µs each)."""


LIMITS = SchemaLimits()

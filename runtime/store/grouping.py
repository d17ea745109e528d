"""What both stores must agree on when they list and sum: group names, days, how a text is found."""

from __future__ import annotations

import string
from datetime import UTC, datetime

from runtime.errors import BadInput

FIELDS: dict[str, str] = {
    "user": "user_id",
    "flow": "flow_id",
    "model": "model",
    "purpose": "purpose",
    "day": "day",
    "session": "session_uid",
    "run": "run_id",
    "node": "node_id",
}
"""The ledger's field of each group. `day` is the UTC day in which the call was reserved, as in a budget."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def field_of(group: str) -> str:
    try:
        return FIELDS[group]
    except KeyError:
        raise BadInput(
            f"Spending cannot be grouped by {group!r}.", remedy=f"Use one of: {', '.join(FIELDS)}."
        ) from None


def day_of(at: datetime) -> str:
    """The UTC day of a time, as `2026-03-08`."""
    return (at.astimezone(UTC) if at.tzinfo else at).date().isoformat()


def holds_text(text: str, part: str) -> bool:
    """Whether a text has that part; ASCII letters match in either case, as SQLite's LIKE does."""
    return part.translate(_LOWER) in text.translate(_LOWER)

"""What a provider says in an error, in whatever shape it says it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

LONGEST = 4_000
"""Characters of an error that are looked at."""
MAX_RETRY_AFTER_S = 86_400.0
"""A longer wait than a day is read as a day."""


class Said(NamedTuple):
    """A provider's error, whatever its shape. `all` is everything it said, for recognising."""

    message: str
    code: str
    all: str
    retry_after: float | None = None


def said_in(body: bytes) -> Said:
    """The error in a body: any of the shapes in use, or the text itself; a web page says nothing."""
    text = body.decode("utf-8", "replace").strip()
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Said("" if text.startswith("<") else text, "", text[:LONGEST])
    data = _first_of(data)
    if isinstance(data, dict):
        data = data.get("error") or data.get("detail") or data.get("errors") or data
    return said_by(data)


def said_by(error: object) -> Said:
    """An error object (or what stands in its place). Only its own fields are read for recognising: some
    servers repeat the request in an error, and words of a user must not decide."""
    error = _first_of(error)
    if not isinstance(error, dict):
        text = error if isinstance(error, str) else json.dumps(error, default=str)
        return Said(text, "", text[:LONGEST])
    message = str(error.get("message") or error.get("msg") or error.get("error") or "")
    code = str(error.get("code") or error.get("type") or error.get("status") or "")
    metadata = error.get("metadata")
    upstream = metadata.get("raw") if isinstance(metadata, dict) else None
    fields = (message, *(error.get(f) for f in ("code", "type", "status", "reason")), upstream)
    everything = " ".join(str(field) for field in fields if field)
    return Said(message or code, code, everything[:LONGEST], _retry_delay(error.get("details")))


def _first_of(value: object) -> object:
    return value[0] if isinstance(value, list) and value else value


def _retry_delay(details: Any) -> float | None:
    """Google's RetryInfo: `{"retryDelay": "34s"}` among the error's details."""
    for detail in details if isinstance(details, list) else ():
        found = re.fullmatch(
            r"(\d+(?:\.\d+)?)s", str(detail.get("retryDelay") if isinstance(detail, dict) else "")
        )
        if found:
            return min(float(found[1]), MAX_RETRY_AFTER_S)
    return None


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the provider asks to wait: `retry-after-ms`, or `Retry-After` as seconds or HTTP date."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,12})?", value):
            return min(float(value) / unit, MAX_RETRY_AFTER_S)
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError):
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return min(max(0.0, (at - now).total_seconds()), MAX_RETRY_AFTER_S)

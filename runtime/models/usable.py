"""Whether a provider can be asked at all: a sound URL, and a key where one belongs."""

from __future__ import annotations

from urllib.parse import urlsplit

from runtime.errors import ModelFailure
from runtime.models.failures import failure
from runtime.providers import Provider

KEY_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "x-goog-api-key"})
"""Headers that carry a key of their own, in lower case."""


def unusable(provider: Provider) -> ModelFailure | None:
    """Why this provider is not asked at all, for want of a sound URL or key."""
    if not _is_http(provider.base_url):
        return failure("unreachable", provider, "base_url is not an http or https URL.", retryable=False)
    for name, value in (("the key", provider.key or ""), *provider.headers.items()):
        if not (value.isascii() and value.isprintable()):
            what = f"{name} has characters that cannot be sent, such as a line's end."
            return failure("auth", provider, what)
    has_key = provider.key or any(name.lower() in KEY_HEADERS for name in provider.headers)
    if has_key or provider.free or not provider.key_from:
        return None
    what = f"no key is set; it is read from {provider.key_from}."
    return failure("auth", provider, what, remedy="Set {key_from}, then ask `farthing doctor`.")


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False

"""Providers made whole: the built-in one, the user's table, and the key from where it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from runtime.errors import BadSettings
from runtime.providers import BUILT_IN, ENV_PROVIDER, SCRIPTED, Price, Provider
from runtime.settings.keys import Stored, stored_key
from runtime.settings.model import Secret

if TYPE_CHECKING:
    from runtime.settings.document import PriceTable, ProviderTable


class Filling(msgspec.Struct, frozen=True):
    """What keys and headers are filled from."""

    env: Mapping[str, str]
    secrets: Mapping[str, Secret]
    stored: Stored
    keys_path: Path


class Key(msgspec.Struct, frozen=True):
    """A key and where it came from or should come from; `source` empty where none is needed."""

    value: str | None
    source: str


def fill(name: str, base: Provider | None, table: ProviderTable | None, filling: Filling) -> Provider:
    """A provider as the user has it. Raises BadSettings where something it needs is missing."""
    if name == SCRIPTED and base is not None:
        return base if table is None else _rehearsed(base, table)
    if base is None:
        if table is None or table.base_url is None:
            raise BadSettings(
                f"[providers.{name}] has no base_url.", remedy="Add the address of its endpoint, up to /v1."
            )
        base = Provider(name=name, base_url=table.base_url, price_as=price_as(table.base_url))
    url = base.base_url if table is None or table.base_url is None else table.base_url
    key = _key(base, url, table, filling)
    changes: dict[str, object] = {"key": key.value, "key_from": key.source}
    if table is not None:
        changes |= _changes(name, url, table, filling)
    return msgspec.structs.replace(base, **changes)


def _rehearsed(base: Provider, table: ProviderTable) -> Provider:
    """The scripted model with a window, so that a rehearsal shows what gives way when one gets tight."""
    if table != type(table)(window=table.window, max_output=table.max_output):
        raise BadSettings(
            "[providers.scripted] can only have window and max_output.", remedy="Remove the other keys."
        )
    return msgspec.structs.replace(base, window=table.window, max_output=table.max_output)


def env_provider(env: Mapping[str, str], table: ProviderTable | None, filling: Filling) -> Provider | None:
    """The endpoint of `FARTHING_BASE_URL`, with prices and limits from `[providers.env]` where given."""
    url = env.get("FARTHING_BASE_URL", "").strip()
    if table is not None and (table.base_url or table.key or table.key_env):
        raise BadSettings(
            "[providers.env] is set by FARTHING_BASE_URL and FARTHING_API_KEY.",
            remedy="Leave base_url, key and key_env out, or give the provider another name.",
        )
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        raise BadSettings(
            "FARTHING_BASE_URL is not an http or https address.", remedy="Set it to the address up to /v1."
        )
    base = Provider(
        name=ENV_PROVIDER,
        base_url=url,
        key=env.get("FARTHING_API_KEY", "").strip() or None,
        key_from="FARTHING_API_KEY",
        price_as=price_as(url),
    )
    return msgspec.structs.replace(base, **_changes(ENV_PROVIDER, url, table, filling)) if table else base


def price_as(base_url: str) -> str | None:
    """The id in genai-prices of the built-in provider that answers at this host."""
    host = urlsplit(base_url).hostname
    for provider in BUILT_IN:
        if provider.price_as and urlsplit(provider.base_url).hostname == host:
            return provider.price_as
    return None


def _changes(name: str, url: str, table: ProviderTable, filling: Filling) -> dict[str, object]:
    """What the table sets, by field of Provider; `url` is where its headers go."""
    changes: dict[str, object] = {
        field: getattr(table, field)
        for field in ("base_url", "default_model", "window", "max_output", "free", "timeout_s")
        if getattr(table, field) is not None
    }
    if table.base_url is not None:
        changes["price_as"] = price_as(table.base_url)
    if table.headers:
        headers = {
            header: value if isinstance(value, str) else _secret(name, url, value.secret, filling).value
            for header, value in table.headers.items()
        }
        changes["headers"] = {header: value for header, value in headers.items() if value is not None}
    if table.prices:
        changes["prices"] = {model: _price(price) for model, price in table.prices.items()}
    return changes


def _key(base: Provider, url: str, table: ProviderTable | None, filling: Filling) -> Key:
    """Order: the table's secret, the environment variable, the keyring, the file of keys."""
    if table is not None and table.key is not None:
        secret = _secret(base.name, url, table.key.secret, filling)
        return Key(secret.value, f"{secret.source} (secret {secret.name})")
    variable = (table.key_env if table is not None else None) or base.key_from
    value = filling.env.get(variable, "").strip() if variable else ""
    if value:
        return Key(value, variable)
    stored = stored_key(base.name, filling.stored, filling.keys_path)
    if stored is not None:
        return Key(stored.value, stored.source)
    return Key(None, variable)


def _secret(provider: str, url: str, name: str, filling: Filling) -> Secret:
    """A secret that goes to this address. Raises BadSettings where there is none, or where it may not."""
    secret = filling.secrets.get(name)
    if secret is None:
        raise BadSettings(
            f"[providers.{provider}] names the secret {name!r}, which is not there.",
            remedy=f"Add [secrets.{name}] with value or env.",
        )
    if not secret.may_go_to(url):
        host = urlsplit(url).hostname or url
        raise BadSettings(
            f"[providers.{provider}] would send the secret {name!r} to {host}, which is none of its hosts:"
            f" {', '.join(secret.hosts)}.",
            code="settings.secret_host",
            remedy=f"Add {host!r} to hosts of [secrets.{name}], or name another secret.",
        )
    return secret


def _price(table: PriceTable) -> Price:
    """Nano-dollars for a million tokens."""
    return Price(
        input=int(table.input),
        output=int(table.output),
        cached=None if table.cached is None else int(table.cached),
        cache_write=None if table.cache_write is None else int(table.cache_write),
    )

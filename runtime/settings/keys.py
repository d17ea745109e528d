"""API keys that the user stored: in the system's keyring, or in a file that only the user may read."""

from __future__ import annotations

import importlib.util
import os
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import msgspec

from runtime.errors import BadSettings, NotFound
from runtime.settings.files import mode_of, parse, read_text, toml_string, write_private

SERVICE = "farthing"
"""The name under which the keyring keeps the keys."""
WHAT = "file of keys"


class KeyPlace(StrEnum):
    """Where a key was written."""

    KEYRING = "keyring"
    FILE = "file"


class Stored(msgspec.Struct, frozen=True):
    """The keys of `keys.toml`: `keys` themselves, `in_keyring` the providers whose key the keyring has."""

    keys: dict[str, str]
    in_keyring: frozenset[str]
    warnings: tuple[str, ...] = ()


class FoundKey(msgspec.Struct, frozen=True):
    """A stored key and where it was."""

    value: str
    source: str


def _keyring() -> ModuleType | None:
    """The keyring library where it is installed and has somewhere to keep things."""
    if importlib.util.find_spec("keyring") is None:
        return None
    import keyring
    from keyring.backends import fail, null

    usable = not isinstance(keyring.get_keyring(), (fail.Keyring, null.Keyring))
    return keyring if usable else None


def read_keys(path: Path) -> Stored:
    """What `keys.toml` has. Raises BadSettings where it is broken."""
    text = read_text(path, WHAT)
    if text is None:
        return Stored({}, frozenset())
    keys: dict[str, str] = {}
    in_keyring = set()
    for name, value in parse(text, path, WHAT).items():
        if isinstance(value, str):
            keys[name] = value
        elif value == {"keyring": True}:
            in_keyring.add(name)
        else:
            raise BadSettings(
                f"The {WHAT} {path} has something else than a key for {name!r}.",
                remedy="Delete that line and store the key again.",
            )
    warnings: tuple[str, ...] = ()
    mode = mode_of(path)
    if keys and mode is not None and mode & 0o077:
        warnings = (f"Others can read your keys in {path}. Run: chmod 600 {path}",)
    return Stored(keys, frozenset(in_keyring), warnings)


def stored_key(provider: str, stored: Stored, path: Path) -> FoundKey | None:
    """The stored key of a provider: keyring before file."""
    if provider in stored.in_keyring:
        value = _ask_keyring(provider)
        if value:
            return FoundKey(value, "keyring")
    value = stored.keys.get(provider)
    return FoundKey(value, str(path)) if value else None


def _ask_keyring(provider: str) -> str | None:
    library = _keyring()
    if library is None:
        return None
    from keyring.errors import KeyringError

    try:
        value: str | None = library.get_password(SERVICE, provider)
    except KeyringError:
        return None
    return value


def write_key(path: Path, provider: str, key: str, *, use_keyring: bool = True) -> KeyPlace:
    """Store a provider's key: in the keyring where there is one (and `use_keyring`), else in `path` (0600).

    `path` is `Settings.keys`. Raises BadSettings where the key has spaces or unprintable characters, or
    nothing can be written.
    """
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise BadSettings(
            "That is not an API key: it is empty or has spaces or unusual characters.",
            code="settings.key_invalid",
            remedy="Copy the key again from your provider's page.",
        )
    if not provider.replace("-", "").replace("_", "").isalnum():
        raise NotFound(
            f"{provider!r} cannot be the name of a provider.",
            remedy="Give one that `farthing key list` shows.",
        )
    if os.name == "posix" and path.parent == Path(os.devnull).parent:
        raise BadSettings(
            f"Beside {os.devnull} no key can be kept.",
            remedy="Name a settings file in FARTHING_CONFIG, or unset it.",
        )
    stored = read_keys(path)
    in_keyring = use_keyring and _give_keyring(provider, key)
    keys = {name: value for name, value in stored.keys.items() if name != provider}
    rings = set(stored.in_keyring) - {provider}
    if in_keyring:
        rings.add(provider)
    else:
        keys[provider] = key
    lines = [f"{toml_string(name)} = {toml_string(value)}" for name, value in sorted(keys.items())]
    lines += [f"{toml_string(name)} = {{ keyring = true }}" for name in sorted(rings)]
    write_private(path, "\n".join(lines) + "\n")
    return KeyPlace.KEYRING if in_keyring else KeyPlace.FILE


def _give_keyring(provider: str, key: str) -> bool:
    library = _keyring()
    if library is None:
        return False
    from keyring.errors import KeyringError

    try:
        library.set_password(SERVICE, provider, key)
    except KeyringError:
        return False
    return True

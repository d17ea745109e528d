"""Putting the settings together from the environment, the user's file, stored keys and the flow's folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from runtime.errors import BadSettings
from runtime.providers import BUILT_IN, ENV_PROVIDER, Provider
from runtime.settings.budgets import default_daily, user_budgets
from runtime.settings.files import mode_of, read_text
from runtime.settings.keys import read_keys
from runtime.settings.model import Display, FromEnv, Secret, Settings
from runtime.settings.places import config_path, database_path, keys_path
from runtime.settings.providers import Filling, env_provider, fill

if TYPE_CHECKING:
    from runtime.settings.document import Document, FolderDocument

FOLDER_FILE = "farthing.toml"
SHORTEST_CREDENTIAL = 8
"""What follows a word such as `Bearer` in a header is hidden by itself from this length on."""


def load_settings(env: Mapping[str, str], *, folder: Path | None = None, db: Path | None = None) -> Settings:
    """The settings of this user. `folder` is the flow's, `db` the path of `--db`.

    An absent file is fine, unless `$FARTHING_CONFIG` names it; the null device is an empty one. Raises
    BadSettings, with file, line and remedy, for one that cannot be used.
    """
    path = config_path(env)
    text = _text(env, path)
    document = _document(text, path)
    warnings = list(_warnings(env, path, document))
    stored = read_keys(keys_path(path))
    warnings += stored.warnings
    secrets = _secrets(document, env)
    filling = Filling(env, secrets, stored, keys_path(path))
    providers, needs_key = _providers(document, filling, env)
    _check_budgets(document, providers, path)
    beside = _folder_document(folder)
    return Settings(
        path=path,
        db=database_path(env, db),
        exists=text is not None,
        providers=providers,
        needs_key=needs_key,
        default_model=document.default_model if document else None,
        folder_model=beside.default_model if beside else None,
        from_env=FromEnv(_set(env, "FARTHING_MODEL"), ENV_PROVIDER in providers),
        secrets=secrets,
        budgets=user_budgets(document.budget, path) if document else (default_daily(path),),
        tool_files=_tool_files(document, path),
        display=_display(document, beside),
        hidden=_hidden(env, providers),
        warnings=tuple(warnings),
    )


def load_display(env: Mapping[str, str]) -> Display:
    """How the user wants things shown. Settings that cannot be used choose nothing: whoever needs them says
    what is wrong with them, and this is also asked for to say so."""
    path = config_path(env)
    try:
        return _display(_document(_text(env, path), path), None)
    except BadSettings:
        return Display()


def _set(env: Mapping[str, str], name: str) -> str | None:
    return env.get(name, "").strip() or None


def _text(env: Mapping[str, str], path: Path) -> str | None:
    """The settings file's text. A named one that is not there is an error: its limits would be lost."""
    if str(path) == os.devnull:
        return ""
    text = read_text(path, "settings file")
    if text is None and _set(env, "FARTHING_CONFIG"):
        raise BadSettings(
            f"FARTHING_CONFIG names {path}, which is not there.",
            code="settings.missing",
            remedy=f"Correct it, unset it, or set it to {os.devnull} to go on without settings.",
        )
    return text


def _document(text: str | None, path: Path) -> Document | None:
    if text is None or not text.strip():
        return None
    from runtime.settings.document import read_document

    return read_document(text, path)


def _folder_document(folder: Path | None) -> FolderDocument | None:
    if folder is None:
        return None
    path = folder / FOLDER_FILE
    text = read_text(path, "folder settings")
    if text is None:
        return None
    from runtime.settings.document import read_folder_document

    return read_folder_document(text, path)


def _warnings(env: Mapping[str, str], path: Path, document: Document | None) -> tuple[str, ...]:
    found = []
    mode = mode_of(path)
    literal = document is not None and any(each.value is not None for each in document.secrets.values())
    if literal and mode is not None and mode & 0o077:
        found.append(f"Others can read the secrets in {path}. Run: chmod 600 {path}")
    found += _unset_headers(env, document)
    if _set(env, "FARTHING_API_KEY") and not _set(env, "FARTHING_BASE_URL"):
        found.append("FARTHING_API_KEY is set without FARTHING_BASE_URL, so it is not used.")
    return tuple(found)


def _unset_headers(env: Mapping[str, str], document: Document | None) -> list[str]:
    """Headers that cannot be sent, since the variable of their secret is not set."""
    if document is None:
        return []
    return [
        f"The header {header} of provider {name} is not sent: {secret.env} is not set. Set {secret.env}."
        for name, table in document.providers.items()
        for header, value in table.headers.items()
        if not isinstance(value, str)
        and (secret := document.secrets.get(value.secret)) is not None
        and secret.env is not None
        and _set(env, secret.env) is None
    ]


def _secrets(document: Document | None, env: Mapping[str, str]) -> dict[str, Secret]:
    if document is None:
        return {}
    return {
        name: Secret(
            name=name,
            value=table.value if table.env is None else _set(env, table.env),
            source=table.env or "the settings file",
            hosts=tuple(table.hosts),
        )
        for name, table in document.secrets.items()
    }


def _providers(
    document: Document | None, filling: Filling, env: Mapping[str, str]
) -> tuple[dict[str, Provider], frozenset[str]]:
    tables = dict(document.providers) if document else {}
    bases = {provider.name: provider for provider in BUILT_IN}
    endpoint = env_provider(env, tables.pop(ENV_PROVIDER, None), filling)
    filled = {name: fill(name, bases.get(name), tables.get(name), filling) for name in bases | tables}
    if endpoint is not None:
        filled[ENV_PROVIDER] = endpoint
    needs = frozenset(name for name, provider in filled.items() if provider.key_from and name != ENV_PROVIDER)
    return filled, needs


def _check_budgets(document: Document | None, providers: Mapping[str, Provider], path: Path) -> None:
    """Raises BadSettings for a budget of a provider that there is not: it would never limit anything."""
    known = [*providers, *([] if ENV_PROVIDER in providers else [ENV_PROVIDER])]
    for table in document.budget if document else ():
        if table.provider is not None and table.provider not in known:
            raise BadSettings(
                f"The budget {table.name!r} in {path} is for no provider that is there: {table.provider!r}.",
                remedy=f"Write one of {', '.join(known)}.",
            )


def _tool_files(document: Document | None, path: Path) -> tuple[Path, ...]:
    if document is None:
        return ()
    return tuple(path.parent / Path(each).expanduser() for each in document.tools.files)


def _display(document: Document | None, beside: FolderDocument | None) -> Display:
    """The user's own choices, and the folder's where the user made none."""
    chosen: dict[str, str] = {}
    for each in (beside, document):
        if each is not None:
            chosen |= msgspec.to_builtins(each.display)  # without what is not given
    return Display(**chosen)  # type: ignore[arg-type]  # checked as literals by the document


def _hidden(env: Mapping[str, str], providers: Mapping[str, Provider]) -> dict[str, str]:
    """Values that no record may show, though they are no `[secrets]`."""
    hidden = {}
    for provider in providers.values():
        for header, value in provider.headers.items():
            if any(word in header.lower() for word in ("auth", "key", "token", "secret", "cookie")):
                hidden[f"header {provider.name} {header}"] = value
                credential = value.split()[-1:]
                if credential and len(credential[0]) >= SHORTEST_CREDENTIAL:
                    hidden[f"header {provider.name} {header} value"] = credential[0]
    unused = _set(env, "FARTHING_API_KEY")
    if unused:
        hidden["FARTHING_API_KEY"] = unused
    return hidden

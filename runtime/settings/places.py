"""Where settings and data lie on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

APP = "farthing"


def _given(env: Mapping[str, str], name: str) -> Path | None:
    value = env.get(name, "").strip()
    return Path(value).expanduser() if value else None


def config_path(env: Mapping[str, str]) -> Path:
    """`$FARTHING_CONFIG`, else `farthing/config.toml` in the platform's config folder."""
    given = _given(env, "FARTHING_CONFIG")
    if given is not None:
        return given
    import platformdirs

    return platformdirs.user_config_path(APP, appauthor=False) / "config.toml"


def data_folder(env: Mapping[str, str]) -> Path:
    """The folder of the database that `$FARTHING_DB` names, else `farthing` in the platform's data folder."""
    return database_path(env).parent


def database_path(env: Mapping[str, str], flag: Path | None = None) -> Path:
    """`--db` (here `flag`), else `$FARTHING_DB`, else `farthing.db` in the platform's data folder."""
    if flag is not None:
        return flag.expanduser()
    given = _given(env, "FARTHING_DB")
    if given is not None:
        return given
    import platformdirs

    return platformdirs.user_data_path(APP, appauthor=False) / "farthing.db"


def keys_path(config: Path) -> Path:
    """The file of API keys beside the settings file."""
    return config.with_name("keys.toml")

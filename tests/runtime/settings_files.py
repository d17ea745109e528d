"""Settings written to a folder and loaded again, for the tests of settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import BadSettings
from runtime.settings import Settings, load_settings


def load(tmp_path: Path, text: str | None = None, folder_text: str | None = None, **env: str) -> Settings:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(text or "", encoding="utf-8")
    config.chmod(0o600)
    folder = None
    if folder_text is not None:
        folder = tmp_path / "flow"
        folder.mkdir(exist_ok=True)
        (folder / "farthing.toml").write_text(folder_text, encoding="utf-8")
    env = {"FARTHING_CONFIG": str(config), "FARTHING_DB": str(tmp_path / "data" / "farthing.db"), **env}
    return load_settings(env, folder=folder)


def refusal(tmp_path: Path, text: str | None = None, folder_text: str | None = None, **env: str) -> str:
    with pytest.raises(BadSettings) as caught:
        load(tmp_path, text, folder_text, **env)
    assert caught.value.remedy
    assert caught.value.exit_code == 2
    return str(caught.value)

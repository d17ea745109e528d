"""docs/local-model.md names the providers that there are, and its settings can be read."""

from __future__ import annotations

import re
from pathlib import Path

from runtime.providers import BUILT_IN
from runtime.settings import load_settings
from tests.repo import ROOT, blocks

PAGE = (ROOT / "docs" / "local-model.md").read_text(encoding="utf-8")


def test_page_lists_every_provider_that_costs_nothing() -> None:
    listed = re.findall(r"^\| `(\w+)` \| `(\S+)` \|", PAGE, re.MULTILINE)
    assert listed == [(provider.name, provider.base_url) for provider in BUILT_IN if provider.free]


def test_page_shows_settings_that_can_be_read(tmp_path: Path) -> None:
    (source,) = [block.body for block in blocks(PAGE) if block.language == "toml"]
    config = tmp_path / "config.toml"
    config.write_text(source, encoding="utf-8")
    config.chmod(0o600)
    settings = load_settings({"FARTHING_CONFIG": str(config)}, folder=None)
    assert settings.warnings == ()
    chosen = settings.resolve_model()
    assert (str(chosen.model), chosen.provider.free, chosen.provider.window) == ("local:smollm2", True, 4096)

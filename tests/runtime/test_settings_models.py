"""Settings: which model and key a run gets, from the user, the environment or the flow's folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from runtime.errors import BadSettings, FarthingError
from runtime.providers import Price
from runtime.settings import Display, KeyPlace, write_key
from runtime.usage import NANO
from tests.repo import ROOT
from tests.runtime.settings_files import load, refusal

MODELS = """
default_model = "openai:config-model"
[providers.openai]
key_env = "MY_KEY"
[providers.mine]
base_url = "http://10.0.0.1/v1"
default_model = "big"
"""


@pytest.mark.promise("MOD-1")
@pytest.mark.parametrize(
    ("flag", "variable", "flow", "folder", "chosen"),
    [
        ("mine:flag", "mine:variable", "mine:flow", "mine:folder", "mine:flag"),
        (None, "mine:variable", "mine:flow", "mine:folder", "mine:variable"),
        (None, None, "mine:flow", "mine:folder", "mine:flow"),
        (None, None, None, "mine:folder", "mine:folder"),
        (None, None, None, None, "openai:config-model"),
        ("mine", None, None, None, "mine:big"),
        ("scripted", None, "mine:flow", None, "scripted:rehearsal"),
        ("ollama:qwen3:8b", None, None, None, "ollama:qwen3:8b"),
    ],
)
def test_resolve_model_follows_the_order(
    tmp_path: Path,
    flag: str | None,
    variable: str | None,
    flow: str | None,
    folder: str | None,
    chosen: str,
) -> None:
    env = {"MY_KEY": "sk-1", **({"FARTHING_MODEL": variable} if variable else {})}
    beside = f"default_model = '{folder}'" if folder else None
    settings = load(tmp_path, MODELS, beside, **env)
    provider, model = settings.resolve_model(flag, flow)
    assert str(model) == chosen
    assert provider.name == model.provider


@pytest.mark.promise("MOD-1")
@pytest.mark.parametrize(
    ("flag", "code", "says"),
    [
        ("openai:gpt", "model.not_configured", "Set MY_KEY"),
        ("anthropic:x", "model.not_configured", "Set ANTHROPIC_API_KEY"),
        ("ollama", "model.not_named", "ollama:NAME"),
        ("gpt-4.1", "model.unknown_provider", "mine:gpt-4.1"),
        ("qwen3:8b", "model.unknown_provider", "ollama:qwen3:8b"),
        ("env:x", "model.unknown_provider", "no provider called 'env'"),
    ],
)
def test_resolve_model_never_rehearses_a_named_model(tmp_path: Path, flag: str, code: str, says: str) -> None:
    settings = load(tmp_path, MODELS)
    for how in ({"flag": flag}, {"flow_model": flag}):
        with pytest.raises(BadSettings) as caught:
            settings.resolve_model(**how)
        assert caught.value.code == code
        assert caught.value.exit_code == 2
        assert says in str(caught.value)
        if code != "model.not_named":
            assert "--model scripted" in str(caught.value)


def test_environment_points_everything_at_one_endpoint(tmp_path: Path) -> None:
    endpoint = {"FARTHING_BASE_URL": "http://127.0.0.1:9/v1", "FARTHING_API_KEY": "k-12345"}
    settings = load(tmp_path, MODELS, FARTHING_MODEL="llama3:8b", **endpoint)
    provider, model = settings.resolve_model(None, "openai:gpt")
    assert (provider.name, provider.base_url, provider.key) == ("env", "http://127.0.0.1:9/v1", "k-12345")
    assert str(model) == "env:llama3:8b"
    assert not provider.free
    assert provider.price_as is None
    assert [rule.name for rule in settings.rules_for("f", "env")] == ["default-daily"]
    assert str(settings.resolve_model("scripted").model) == "scripted:rehearsal"


def test_a_rehearsal_may_have_a_window(tmp_path: Path) -> None:
    settings = load(tmp_path, "[providers.scripted]\nwindow = 3000\nmax_output = 200\n")
    provider, _ = settings.resolve_model("scripted", None)
    assert (provider.window, provider.max_output, provider.default_model) == (3000, 200, "rehearsal")


def test_environment_endpoint_needs_a_plain_model_name(tmp_path: Path) -> None:
    url = {"FARTHING_BASE_URL": "https://api.openai.com/v1/"}
    with pytest.raises(BadSettings, match="not FARTHING_MODEL"):
        load(tmp_path, **url).resolve_model(None, "openai:gpt")
    with pytest.raises(BadSettings, match="points elsewhere"):
        load(tmp_path, FARTHING_MODEL="gemini:x", **url).resolve_model()
    assert load(tmp_path, FARTHING_MODEL="env:gemini:x", **url).resolve_model().model.name == "gemini:x"
    assert load(tmp_path, FARTHING_MODEL="scripted", **url).resolve_model().provider.name == "scripted"
    assert load(tmp_path, FARTHING_MODEL="x", **url).resolve_model().provider.price_as == "openai"
    assert "not an http" in refusal(tmp_path, FARTHING_BASE_URL="localhost:8000")


def test_environment_endpoint_takes_prices_from_its_table(tmp_path: Path) -> None:
    text = (
        "[providers.env]\nwindow = 9\n[providers.env.prices.'m:1']\ninput = '0.1'\noutput = 0.4\ncached = '0'"
    )
    settings = load(tmp_path, text, FARTHING_BASE_URL="http://h/v1", FARTHING_MODEL="m:1")
    provider = settings.resolve_model().provider
    assert provider.prices == {"m:1": Price(input=NANO // 10, output=4 * NANO // 10, cached=0)}
    assert provider.window == 9


def test_provider_with_another_host_loses_its_known_prices(tmp_path: Path) -> None:
    text = "[providers.openai]\nbase_url = 'https://proxy.example/v1'\n"
    text += "[providers.eu]\nbase_url = 'https://api.openai.com/v1'"
    settings = load(tmp_path, text)
    assert settings.providers["openai"].price_as is None
    assert settings.providers["eu"].price_as == "openai"


def test_written_key_is_private_and_read_back(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert not settings.usable("openai")
    assert write_key(settings.keys, "openai", " sk-abc\n", use_keyring=False) is KeyPlace.FILE
    write_key(settings.keys, "gemini", "g-1", use_keyring=False)
    write_key(settings.keys, "gemini", 'g-"2\\', use_keyring=False)
    if os.name == "posix":
        assert settings.keys.stat().st_mode & 0o777 == 0o600
    again = load(tmp_path)
    assert again.providers["openai"].key == "sk-abc"
    assert again.providers["gemini"].key == 'g-"2\\'
    assert again.providers["openai"].key_from == str(settings.keys)
    assert load(tmp_path, OPENAI_API_KEY="sk-env").providers["openai"].key == "sk-env"
    assert sorted(path.name for path in settings.keys.parent.iterdir()) == ["config.toml", "keys.toml"]


@pytest.mark.parametrize("key", ["", "  ", "a b", "a\nb", "schlüssel"])
def test_write_key_refuses_what_is_no_key(tmp_path: Path, key: str) -> None:
    with pytest.raises(BadSettings, match="not an API key"):
        write_key(tmp_path / "keys.toml", "openai", key, use_keyring=False)


def test_broken_file_of_keys_is_refused_without_showing_it(tmp_path: Path) -> None:
    keys = tmp_path / "config" / "keys.toml"
    keys.parent.mkdir()
    keys.write_text("openai = 5\n")
    assert "something else than a key for 'openai'" in refusal(tmp_path)


def test_folder_may_choose_a_model_and_display(tmp_path: Path) -> None:
    beside = "default_model = 'ollama:x'\n[display]\ntheme = 'dark'\ntimes = 'local'"
    settings = load(tmp_path, "[display]\ntimes = 'utc'", beside)
    assert str(settings.resolve_model().model) == "ollama:x"
    assert (settings.display.theme, settings.display.times) == ("dark", "utc")


@pytest.mark.promise("MOD-8")
@pytest.mark.parametrize(
    "table", ["providers.x", "secrets.x", "tools", "grants", "[budget]", "display.secret"]
)
def test_folder_may_set_nothing_else(tmp_path: Path, table: str) -> None:
    message = refusal(tmp_path, None, f"[{table}]\nfiles = ['evil.py']\n")
    assert "unknown key " + table.strip("[]").split(".x")[0] in message
    assert "may set only default_model" in message


@pytest.mark.promise("MOD-8")
def test_folder_cannot_choose_a_model_that_is_not_configured(tmp_path: Path) -> None:
    with pytest.raises(FarthingError, match="OPENAI_API_KEY"):
        load(tmp_path, None, "default_model = 'openai:gpt'").resolve_model()


class _Ring(KeyringBackend):
    """A keyring in memory; `broken` makes it refuse, as a locked one does."""

    priority = 1

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.broken = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.broken:
            raise KeyringLocked("locked")
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.broken:
            raise KeyringLocked("locked")
        self.held[service, username] = password


@pytest.fixture
def ring() -> Iterator[_Ring]:
    before = keyring.get_keyring()
    made = _Ring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def test_key_goes_to_the_keyring_where_there_is_one(tmp_path: Path, ring: _Ring) -> None:
    settings = load(tmp_path)
    write_key(settings.keys, "openai", "sk-in-file", use_keyring=False)
    assert write_key(settings.keys, "openai", "sk-in-ring") is KeyPlace.KEYRING
    assert ring.held == {("farthing", "openai"): "sk-in-ring"}
    assert "sk-" not in settings.keys.read_text()
    provider = load(tmp_path).providers["openai"]
    assert (provider.key, provider.key_from) == ("sk-in-ring", "keyring")
    assert "sk-in-ring" in load(tmp_path).secrets_values().values()
    assert load(tmp_path, OPENAI_API_KEY="sk-env").providers["openai"].key == "sk-env"


def test_locked_keyring_is_no_crash(tmp_path: Path, ring: _Ring) -> None:
    settings = load(tmp_path)
    write_key(settings.keys, "openai", "sk-in-ring")
    ring.broken = True
    assert not load(tmp_path).usable("openai")
    assert write_key(settings.keys, "gemini", "g-1") is KeyPlace.FILE


def test_no_choice_of_display_does_nothing() -> None:
    """Each is read by somebody other than the settings themselves."""
    places = [path for part in ("runtime", "studio") for path in (ROOT / part).rglob("*.py")]
    read = [path.read_text("utf-8") for path in places if "settings" not in path.relative_to(ROOT).parts]
    for name in Display.__struct_fields__:
        assert any(re.search(rf"\bdisplay(\(\))?\.{name}\b", text) for text in read), name

"""Settings: where they come from, what is refused and how, which model and which rules a flow gets."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import keyring
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from runtime.errors import BadSettings, FarthingError, NotFound
from runtime.providers import Price
from runtime.settings import KeyPlace, Settings, config_path, database_path, load_settings, write_key
from runtime.usage import NANO


def _load(tmp_path: Path, text: str | None = None, folder_text: str | None = None, **env: str) -> Settings:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    if text is not None:
        config.write_text(text, encoding="utf-8")
        config.chmod(0o600)
    folder = None
    if folder_text is not None:
        folder = tmp_path / "flow"
        folder.mkdir(exist_ok=True)
        (folder / "farthing.toml").write_text(folder_text, encoding="utf-8")
    env = {"FARTHING_CONFIG": str(config), "FARTHING_DB": str(tmp_path / "data" / "farthing.db"), **env}
    return load_settings(env, folder=folder)


def _refusal(tmp_path: Path, text: str | None = None, folder_text: str | None = None, **env: str) -> str:
    with pytest.raises(BadSettings) as caught:
        _load(tmp_path, text, folder_text, **env)
    assert caught.value.remedy
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_settings_without_file_rehearse_under_the_built_in_budget(tmp_path: Path) -> None:
    settings = _load(tmp_path)
    assert not settings.exists
    assert str(settings.resolve_model().model) == "scripted:rehearsal"
    assert [rule.name for rule in settings.rules_for("flow", "openai")] == ["default-daily"]
    assert settings.warnings == ("FARTHING_CONFIG names " + str(settings.path) + ", which is not there.",)


def test_settings_paths_come_from_flag_then_variable_then_platform(tmp_path: Path) -> None:
    env = {"FARTHING_DB": str(tmp_path / "env.db"), "FARTHING_CONFIG": "  "}
    assert database_path(env, tmp_path / "flag.db") == tmp_path / "flag.db"
    assert database_path(env) == tmp_path / "env.db"
    assert database_path({}).parts[-2:] == ("farthing", "farthing.db")
    assert config_path(env).parts[-2:] == ("farthing", "config.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("default_model = \n", "line 1, column"),
        ("[providers.openai]\nwindow = 5\nbase = 'x'\n", "line 3: unknown key providers.openai.base"),
        ("[providers.openai]\nbase_ur = 'https://x'\n", "did you mean base_url?"),
        ("defaultmodel = 'x'", "did you mean default_model?"),
        ("[grants]\nx = 1", "unknown key grants"),
        ("[[budget]]\nname = 'a'\n", "budget.0.limit is missing"),
        ("[[budget]]\nname = 'a'\nlimit = -1", "zero or more"),
        ("[[budget]]\nname = 'a'\nlimit = nan", "must be zero or more and finite"),
        ("[[budget]]\nname = 'a'\nlimit = true", "budget.0.limit"),
        ("[[budget]]\nname = 'a'\nlimit = 1\n[[budget]]\nname = 'a'\nlimit = 2", "two budgets called 'a'"),
        ("[[budget]]\nname = 'a'\nlimit = '1.5'\nmetric = 'tokens'", "must be whole"),
        ("[[budget]]\nname = 'a'\nlimit = 1\nperiod = 'yearly'", "line 4: budget.0.period"),
        ("[[budget]]\nname='a'\nlimit=1\nperiod='run'\nfor='all_users_together'", "needs a period"),
        ("[secrets.a]\nvalue = 'abcdef'\nenv = 'A'", "either value or env"),
        ("[secrets.a]\nvalue = 'abc'", "at least 4 characters"),
        ("[secrets.a]\nenv = 'A'\nhosts = ['https://x/y']", "secrets.a.hosts"),
        ("[providers.mine]\nwindow = 5", "[providers.mine] has no base_url"),
        ("[providers.mine]\nbase_url = 'ftp://x'", "providers.mine.base_url"),
        ("[providers.'a:b']\nbase_url = 'http://x'", "providers.a:b"),
        ("[providers.openai]\nkey = 'sk-literal'", "providers.openai.key"),
        ("[providers.openai]\nkey = {secret = 'nope'}", "names the secret 'nope', which is not there"),
        ("[providers.scripted]\nwindow = 5", "[providers.scripted] cannot be set"),
        ("[providers.env]\nbase_url = 'http://x'", "set by FARTHING_BASE_URL"),
        (
            "[providers.openai.prices.m]\ninput = '0.1'\noutput = 'free'",
            "prices.m.output: the amount must be",
        ),
        ("[providers.openai.prices.m]\ninput = '0.1'", "providers.openai.prices.m.output is missing"),
        ("x = 'a\udcff'".encode("utf-8", "surrogateescape").decode("latin-1"), "unknown key x"),
    ],
)
def test_settings_refuse_with_place_and_reason(tmp_path: Path, text: str, says: str) -> None:
    message = _refusal(tmp_path, text)
    assert says in message
    assert "sk-literal" not in message


def test_settings_refuse_what_is_no_readable_text(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(BadSettings, match=r"not UTF-8 text \(line 2\)"):
        load_settings({"FARTHING_CONFIG": str(config)})
    config.write_bytes(b"#" * 1_000_001)
    with pytest.raises(BadSettings, match="larger than"):
        load_settings({"FARTHING_CONFIG": str(config)})
    with pytest.raises(BadSettings, match="cannot be read"):
        load_settings({"FARTHING_CONFIG": str(tmp_path)})


def test_settings_file_with_byte_order_mark_is_read(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_bytes("default_model = 'ollama:x'\r\n".encode("utf-8-sig"))
    assert load_settings({"FARTHING_CONFIG": str(config)}).default_model == "ollama:x"


MODELS = """
default_model = "openai:config-model"
[providers.openai]
key_env = "MY_KEY"
[providers.mine]
base_url = "http://10.0.0.1/v1"
default_model = "big"
"""


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
    settings = _load(tmp_path, MODELS, beside, **env)
    provider, model = settings.resolve_model(flag, flow)
    assert str(model) == chosen
    assert provider.name == model.provider


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
    settings = _load(tmp_path, MODELS)
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
    settings = _load(tmp_path, MODELS, FARTHING_MODEL="llama3:8b", **endpoint)
    provider, model = settings.resolve_model(None, "openai:gpt")
    assert (provider.name, provider.base_url, provider.key) == ("env", "http://127.0.0.1:9/v1", "k-12345")
    assert model == ("env", "llama3:8b")
    assert not provider.free
    assert provider.price_as is None
    assert [rule.name for rule in settings.rules_for("f", "env")] == ["default-daily"]
    assert str(settings.resolve_model("scripted").model) == "scripted:rehearsal"


def test_environment_endpoint_needs_a_plain_model_name(tmp_path: Path) -> None:
    url = {"FARTHING_BASE_URL": "https://api.openai.com/v1/"}
    with pytest.raises(BadSettings, match="not FARTHING_MODEL"):
        _load(tmp_path, **url).resolve_model(None, "openai:gpt")
    with pytest.raises(BadSettings, match="points elsewhere"):
        _load(tmp_path, FARTHING_MODEL="gemini:x", **url).resolve_model()
    assert _load(tmp_path, FARTHING_MODEL="env:gemini:x", **url).resolve_model().model.name == "gemini:x"
    assert _load(tmp_path, FARTHING_MODEL="scripted", **url).resolve_model().provider.name == "scripted"
    assert _load(tmp_path, FARTHING_MODEL="x", **url).resolve_model().provider.price_as == "openai"
    assert "not an http" in _refusal(tmp_path, FARTHING_BASE_URL="localhost:8000")


def test_environment_endpoint_takes_prices_from_its_table(tmp_path: Path) -> None:
    text = (
        "[providers.env]\nwindow = 9\n[providers.env.prices.'m:1']\ninput = '0.1'\noutput = 0.4\ncached = '0'"
    )
    settings = _load(tmp_path, text, FARTHING_BASE_URL="http://h/v1", FARTHING_MODEL="m:1")
    provider = settings.resolve_model().provider
    assert provider.prices == {"m:1": Price(input=NANO // 10, output=4 * NANO // 10, cached=0)}
    assert provider.window == 9


def test_provider_with_another_host_loses_its_known_prices(tmp_path: Path) -> None:
    text = "[providers.openai]\nbase_url = 'https://proxy.example/v1'\n"
    text += "[providers.eu]\nbase_url = 'https://api.openai.com/v1'"
    settings = _load(tmp_path, text)
    assert settings.providers["openai"].price_as is None
    assert settings.providers["eu"].price_as == "openai"


BUDGETS = """
[[budget]]
name = "monthly"
limit = "20.25"
period = "monthly"
threshold_pct = "none"
for = "all_users_together"
[[budget]]
name = "tokens"
metric = "tokens"
limit = 1000
period = "session"
flow = "f1"
provider = "openai"
threshold_pct = 12.5
strict = true
unknown_cost = "block"
"""


def test_user_budgets_become_rules_for_flow_and_provider(tmp_path: Path) -> None:
    settings = _load(tmp_path, BUDGETS)
    daily, monthly, tokens = settings.rules_for("f1", "openai")
    assert (daily.pot, daily.limit, daily.period, daily.everyone) == (
        "settings/default-daily",
        5 * NANO,
        "daily",
        False,
    )
    assert (monthly.limit, monthly.threshold_pct, monthly.everyone) == (20_250_000_000, None, True)
    assert (tokens.limit, tokens.threshold_pct, tokens.strict) == (1000, Decimal("12.5"), True)
    assert (tokens.pot, tokens.unknown_cost) == ("settings/tokens", "block")
    assert str(settings.path) in tokens.field
    assert [rule.name for rule in settings.rules_for("f2", "openai")] == ["default-daily", "monthly"]
    for free in ("scripted", "ollama", "llamacpp", "local"):
        assert [rule.name for rule in settings.rules_for("f1", free)] == ["monthly"]


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("[[budget]]\nname = 'default-daily'\nlimit = 'none'", []),
        ("[[budget]]\nname = 'default-daily'\nlimit = 0.10", [NANO // 10]),
        ("[[budget]]\nname = 'default-daily'\nlimit = 0", [0]),
        ("[[budget]]\nname = 'other'\nlimit = 'none'", [5 * NANO]),
    ],
)
def test_default_daily_is_replaced_by_name(tmp_path: Path, text: str, limits: list[int]) -> None:
    settings = _load(tmp_path, text)
    assert [rule.limit for rule in settings.rules_for("f", "openai")] == limits
    assert settings.rules_for("f", "ollama") == ()


def test_a_provider_called_free_by_the_user_is_not_paid(tmp_path: Path) -> None:
    settings = _load(tmp_path, "[providers.lan]\nbase_url = 'http://lan/v1'\nfree = true")
    assert settings.rules_for("f", "lan") == ()


def test_secrets_come_from_value_or_variable_and_stay_out_of_texts(tmp_path: Path) -> None:
    text = """
[secrets.weather]
value = "wx-literal-9"
hosts = ["api.weather.example", "*.weather.example"]
[secrets.shop]
env = "SHOP_TOKEN"
tools = ["orders"]
[secrets.later]
env = "NOT_SET"
[providers.openai]
key = {secret = "shop"}
headers = {X-Org = "acme", Authorization = "Bearer abcd", X-Extra = {secret = "weather"}}
"""
    settings = _load(tmp_path, text, SHOP_TOKEN="shop-123", OPENAI_API_KEY="sk-other")
    assert settings.secret("weather").hosts == ("api.weather.example", "*.weather.example")
    assert settings.secret("shop").value == "shop-123"
    assert settings.providers["openai"].key == "shop-123"
    assert settings.providers["openai"].headers["X-Extra"] == "wx-literal-9"
    with pytest.raises(BadSettings, match="NOT_SET is not set"):
        settings.secret("later")
    with pytest.raises(NotFound, match="no secret called 'nope'"):
        settings.secret("nope")
    values = settings.secrets_values()
    assert {"wx-literal-9", "shop-123", "Bearer abcd"} <= set(values.values())
    assert "acme" not in values.values()
    shown = repr(settings) + repr(settings.secrets) + str(settings.warnings)
    assert not any(value in shown for value in values.values())


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")
def test_literal_secrets_that_others_can_read_are_warned_about(tmp_path: Path) -> None:
    text = "[secrets.a]\nvalue = 'abcdef'"
    assert _load(tmp_path, text).warnings == ()
    config = tmp_path / "config" / "config.toml"
    config.chmod(0o644)
    warnings = load_settings({"FARTHING_CONFIG": str(config)}).warnings
    assert warnings == (f"Others can read the secrets in {config}. Run: chmod 600 {config}",)


def test_a_key_without_endpoint_is_said_and_still_hidden(tmp_path: Path) -> None:
    settings = _load(tmp_path, "", FARTHING_API_KEY="k-98765")
    assert "not used" in settings.warnings[0]
    assert "k-98765" in settings.secrets_values().values()


def test_written_key_is_private_and_read_back(tmp_path: Path) -> None:
    settings = _load(tmp_path)
    assert not settings.usable("openai")
    assert write_key(settings.keys, "openai", " sk-abc\n", use_keyring=False) is KeyPlace.FILE
    write_key(settings.keys, "gemini", "g-1", use_keyring=False)
    write_key(settings.keys, "gemini", 'g-"2\\', use_keyring=False)
    if os.name == "posix":
        assert settings.keys.stat().st_mode & 0o777 == 0o600
    again = _load(tmp_path)
    assert again.providers["openai"].key == "sk-abc"
    assert again.providers["gemini"].key == 'g-"2\\'
    assert again.providers["openai"].key_from == str(settings.keys)
    assert _load(tmp_path, OPENAI_API_KEY="sk-env").providers["openai"].key == "sk-env"
    assert sorted(path.name for path in settings.keys.parent.iterdir()) == ["keys.toml"]


@pytest.mark.parametrize("key", ["", "  ", "a b", "a\nb", "schlüssel"])
def test_write_key_refuses_what_is_no_key(tmp_path: Path, key: str) -> None:
    with pytest.raises(BadSettings, match="not an API key"):
        write_key(tmp_path / "keys.toml", "openai", key, use_keyring=False)


def test_broken_file_of_keys_is_refused_without_showing_it(tmp_path: Path) -> None:
    keys = tmp_path / "config" / "keys.toml"
    keys.parent.mkdir()
    keys.write_text("openai = 5\n")
    assert "something else than a key for 'openai'" in _refusal(tmp_path)


def test_folder_may_choose_a_model_and_display(tmp_path: Path) -> None:
    beside = "default_model = 'ollama:x'\n[display]\ntheme = 'dark'\ntimes = 'local'"
    settings = _load(tmp_path, "[display]\ntimes = 'utc'", beside)
    assert str(settings.resolve_model().model) == "ollama:x"
    assert (settings.display.theme, settings.display.times) == ("dark", "utc")


@pytest.mark.parametrize(
    "table", ["providers.x", "secrets.x", "tools", "grants", "[budget]", "display.secret"]
)
def test_folder_may_set_nothing_else(tmp_path: Path, table: str) -> None:
    message = _refusal(tmp_path, None, f"[{table}]\nfiles = ['evil.py']\n")
    assert "unknown key " + table.strip("[]").split(".x")[0] in message
    assert "may set only default_model" in message


def test_folder_cannot_choose_a_model_that_is_not_configured(tmp_path: Path) -> None:
    with pytest.raises(FarthingError, match="OPENAI_API_KEY"):
        _load(tmp_path, None, "default_model = 'openai:gpt'").resolve_model()


def test_dotenv_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-from-dotenv\n")
    monkeypatch.chdir(tmp_path)
    assert _load(tmp_path, None, "").providers["openai"].key is None


def test_tool_files_lie_beside_the_settings(tmp_path: Path) -> None:
    settings = _load(tmp_path, "[tools]\nfiles = ['my_tools.py', '/opt/t.py']")
    assert settings.tool_files == (settings.path.parent / "my_tools.py", Path("/opt/t.py"))


def test_loading_without_a_file_imports_no_validation(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from runtime.settings import load_settings;"
        f"load_settings({{'FARTHING_CONFIG': {str(tmp_path / 'no.toml')!r}, 'FARTHING_DB': 'x.db'}});"
        "print(sorted({'pydantic', 'keyring', 'platformdirs', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
    settings = _load(tmp_path)
    write_key(settings.keys, "openai", "sk-in-file", use_keyring=False)
    assert write_key(settings.keys, "openai", "sk-in-ring") is KeyPlace.KEYRING
    assert ring.held == {("farthing", "openai"): "sk-in-ring"}
    assert "sk-" not in settings.keys.read_text()
    provider = _load(tmp_path).providers["openai"]
    assert (provider.key, provider.key_from) == ("sk-in-ring", "keyring")
    assert "sk-in-ring" in _load(tmp_path).secrets_values().values()
    assert _load(tmp_path, OPENAI_API_KEY="sk-env").providers["openai"].key == "sk-env"


def test_locked_keyring_is_no_crash(tmp_path: Path, ring: _Ring) -> None:
    settings = _load(tmp_path)
    write_key(settings.keys, "openai", "sk-in-ring")
    ring.broken = True
    assert not _load(tmp_path).usable("openai")
    assert write_key(settings.keys, "gemini", "g-1") is KeyPlace.FILE


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    "[providers.x]",
                    "[[budget]]",
                    "[secrets.s]",
                    "[tools]",
                    "[display]",
                    "[providers.openai.prices.m]",
                ]
            ),
            st.builds(
                "{} = {}".format,
                st.sampled_from(
                    ["name", "limit", "base_url", "window", "value", "env", "files", "input", "times", "key"]
                ),
                st.sampled_from(
                    [
                        "1",
                        "-1",
                        "1e400",
                        "nan",
                        "0.1",
                        "'x'",
                        "'none'",
                        "true",
                        "[]",
                        "['a']",
                        "{secret = 's'}",
                        "''",
                        "'http://h'",
                        "1979-05-27",
                        "'\\ud800'",
                        '"\\n"',
                        "9" * 400,
                    ]
                ),
            ),
            st.text(max_size=12),
        ),
        max_size=6,
    )
)
def test_any_settings_file_is_read_or_refused_in_words(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.toml"
        config.write_text("\n".join(lines), encoding="utf-8", errors="replace")
        try:
            loaded = load_settings({"FARTHING_CONFIG": str(config), "FARTHING_DB": "x.db"})
        except BadSettings as refused:
            assert refused.remedy
            assert str(config) in refused.message or "[providers." in refused.message
        else:
            assert loaded.rules_for("f", "openai") is not None

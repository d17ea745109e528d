"""Settings: where they come from, what is refused and how, which model and which rules a flow gets."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import BadSettings
from runtime.settings import config_path, database_path, load_settings
from runtime.usage import NANO
from tests.quick import examples
from tests.runtime.settings_files import load, refusal


def test_settings_without_file_rehearse_under_the_built_in_budget() -> None:
    settings = load_settings({"FARTHING_DB": "x.db"})
    assert not settings.exists
    assert str(settings.resolve_model().model) == "scripted:rehearsal"
    assert [rule.name for rule in settings.rules_for("flow", "openai")] == ["default-daily"]
    assert settings.warnings == ()


@pytest.mark.promise("MOD-7")
def test_a_named_settings_file_that_is_not_there_is_refused_and_the_null_device_is_an_empty_one(
    tmp_path: Path,
) -> None:
    for missing in (tmp_path / "typo.toml", tmp_path / "no" / "config.toml"):
        with pytest.raises(BadSettings, match=f"names {missing}, which is not there") as caught:
            load_settings({"FARTHING_CONFIG": str(missing)})
        assert caught.value.code == "settings.missing" and os.devnull in str(caught.value.remedy)
    settings = load_settings({"FARTHING_CONFIG": os.devnull})
    assert [rule.name for rule in settings.rules_for("flow", "openai")] == ["default-daily"]
    assert settings.warnings == ()


def test_settings_paths_come_from_flag_then_variable_then_platform(tmp_path: Path) -> None:
    env = {"FARTHING_DB": str(tmp_path / "env.db"), "FARTHING_CONFIG": "  "}
    assert database_path(env, tmp_path / "flag.db") == tmp_path / "flag.db"
    assert database_path(env) == tmp_path / "env.db"
    assert database_path({}).parts[-2:] == ("farthing", "farthing.db")
    assert config_path(env).parts[-2:] == ("farthing", "config.toml")


@pytest.mark.promise("MOD-7")
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
        (
            "[providers.openai]\nkey = 'sk-literal'",
            "line 2: providers.openai.key: must be a table; a secret is written",
        ),
        ("[providers.openai]\nwindow = 'big'", "providers.openai.window: must be a whole number"),
        ("[tools]\nfiles = 'a.py'", "tools.files: must be a list"),
        ("providers = 5", "providers: must be a table"),
        ("[secrets]\na = 'sk-literal'", "secrets.a: must be a table"),
        ("[providers.openai]\nkey = {secret = 'nope'}", "names the secret 'nope', which is not there"),
        ("[providers.scripted]\nfree = false", "[providers.scripted] can only have window and max_output"),
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
    message = refusal(tmp_path, text)
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
    with pytest.raises(BadSettings, match="is not a file"):
        load_settings({"FARTHING_CONFIG": str(tmp_path)})
    if os.name == "posix":
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(BadSettings, match="is not a file"):
            load_settings({"FARTHING_CONFIG": str(tmp_path / "pipe")})


def test_settings_file_with_byte_order_mark_is_read(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_bytes("default_model = 'ollama:x'\r\n".encode("utf-8-sig"))
    assert load_settings({"FARTHING_CONFIG": str(config)}).default_model == "ollama:x"


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


@pytest.mark.promise("BUD-14")
def test_user_budgets_become_rules_for_flow_and_provider(tmp_path: Path) -> None:
    settings = load(tmp_path, BUDGETS)
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


@pytest.mark.promise("BUD-14")
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
    settings = load(tmp_path, text)
    assert [rule.limit for rule in settings.rules_for("f", "openai")] == limits
    assert settings.rules_for("f", "ollama") == ()


def test_a_provider_called_free_by_the_user_is_not_paid(tmp_path: Path) -> None:
    settings = load(tmp_path, "[providers.lan]\nbase_url = 'http://lan/v1'\nfree = true")
    assert settings.rules_for("f", "lan") == ()


def test_secrets_come_from_value_or_variable_and_stay_out_of_texts(tmp_path: Path) -> None:
    text = """
[secrets.weather]
value = "wx-literal-9"
hosts = ["api.openai.com", "*.weather.example"]
[secrets.shop]
env = "SHOP_TOKEN"
[secrets.later]
env = "NOT_SET"
[providers.openai]
key = {secret = "shop"}
[providers.openai.headers]
X-Org = "acme"
Authorization = "Bearer abcd-1234"
X-Extra = {secret = "weather"}
X-Later = {secret = "later"}
"""
    settings = load(tmp_path, text, SHOP_TOKEN="shop-123", OPENAI_API_KEY="sk-other")
    assert settings.secrets["weather"].hosts == ("api.openai.com", "*.weather.example")
    assert settings.providers["openai"].key == "shop-123"
    assert settings.providers["openai"].headers["X-Extra"] == "wx-literal-9"
    assert "X-Later" not in settings.providers["openai"].headers
    assert settings.warnings == (
        "The header X-Later of provider openai is not sent: NOT_SET is not set. Set NOT_SET.",
    )
    values = settings.secrets_values()
    assert {"wx-literal-9", "shop-123", "Bearer abcd-1234", "abcd-1234"} <= set(values.values())
    assert "acme" not in values.values()
    shown = repr(settings) + repr(settings.secrets) + str(settings.warnings)
    assert not any(value in shown for value in values.values())


@pytest.mark.promise("MOD-11")
def test_a_secret_goes_only_to_its_hosts(tmp_path: Path) -> None:
    secret = "[secrets.lan]\nvalue = 'lan-secret-1'\nhosts = ['api.lan.example', '*.x.example:8443']\n"
    given = "[providers.mine]\nbase_url = '{}'\nkey = {{secret = 'lan'}}\n"
    for url in ("https://api.lan.example/v1", "http://API.LAN.example:81/v1", "https://a.x.example:8443/v1"):
        assert load(tmp_path, secret + given.format(url)).providers["mine"].key == "lan-secret-1"
    for url, host in (
        ("https://lan.example/v1", "lan.example"),
        ("https://evil-api.lan.example/v1", "evil-api.lan.example"),
        ("https://api.lan.example@evil.example/v1", "evil.example"),
        ("https://api.lan.example.evil.example/v1", "api.lan.example.evil.example"),
        ("https://a.x.example/v1", "a.x.example"),
    ):
        message = refusal(tmp_path, secret + given.format(url))
        assert f"would send the secret 'lan' to {host}, which is none of its hosts" in message
        assert f"Add '{host}' to hosts of [secrets.lan]" in message and "lan-secret-1" not in message
    header = secret + "[providers.{}.headers]\nX-Key = {{secret = 'lan'}}\n"
    assert "[providers.openai] would send" in refusal(tmp_path, header.format("openai"))
    away = {"FARTHING_BASE_URL": "https://else.example/v1", "FARTHING_MODEL": "m"}
    assert "[providers.env] would send" in refusal(tmp_path, header.format("env"), **away)
    here = away | {"FARTHING_BASE_URL": "https://api.lan.example/v1"}
    assert load(tmp_path, header.format("env"), **here).providers["env"].headers["X-Key"] == "lan-secret-1"


def test_a_budget_of_a_provider_that_there_is_not_is_refused(tmp_path: Path) -> None:
    budget = "[[budget]]\nname = 'b'\nlimit = 5\nprovider = '{}'\n"
    message = refusal(tmp_path, budget.format("opnai"))
    assert "is for no provider that is there: 'opnai'" in message and "one of openai, " in message
    own = "[providers.mine]\nbase_url = 'http://127.0.0.1:1/v1'\n"
    for name, more in (("openai", ""), ("env", ""), ("scripted", ""), ("mine", own)):
        assert load(tmp_path, budget.format(name) + more).budgets[-1].provider == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[providers.x]\nbase_url = 'x'\n", "must be an address that begins with http:// or https://"),
        ("[[budget]]\nname = 'a b'\nlimit = 1\n", "must be letters, digits, _ and - alone"),
        ("[secrets.a]\nenv = 'A'\nhosts = ['http://x/y']\n", "must be a host such as api.example.com"),
    ],
)
def test_what_does_not_fit_is_said_in_words(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text)


def test_tools_of_a_secret_are_refused_with_why(tmp_path: Path) -> None:
    message = refusal(tmp_path, "[secrets.shop]\nenv = 'SHOP'\ntools = ['orders']\n")
    assert "line 3: unknown key secrets.shop.tools (no tool is given a secret" in message


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")
def test_literal_secrets_that_others_can_read_are_warned_about(tmp_path: Path) -> None:
    text = "[secrets.a]\nvalue = 'abcdef'"
    assert load(tmp_path, text).warnings == ()
    config = tmp_path / "config" / "config.toml"
    config.chmod(0o644)
    warnings = load_settings({"FARTHING_CONFIG": str(config)}).warnings
    assert warnings == (f"Others can read the secrets in {config}. Run: chmod 600 {config}",)


def test_a_key_without_endpoint_is_said_and_still_hidden(tmp_path: Path) -> None:
    settings = load(tmp_path, "", FARTHING_API_KEY="k-98765")
    assert "not used" in settings.warnings[0]
    assert "k-98765" in settings.secrets_values().values()


def test_dotenv_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-from-dotenv\n")
    monkeypatch.chdir(tmp_path)
    assert load(tmp_path, None, "").providers["openai"].key is None


def test_tool_files_lie_beside_the_settings(tmp_path: Path) -> None:
    settings = load(tmp_path, "[tools]\nfiles = ['my_tools.py', '/opt/t.py']")
    assert settings.tool_files == (settings.path.parent / "my_tools.py", Path("/opt/t.py"))


def test_loading_without_settings_imports_no_validation() -> None:
    code = (
        "import sys; from pathlib import Path; from runtime.settings import load_settings;"
        f"load_settings({{'FARTHING_CONFIG': {os.devnull!r}, 'FARTHING_DB': 'x.db'}});"
        "print(sorted({'pydantic', 'keyring', 'platformdirs', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.promise("MOD-7")
@settings(max_examples=examples(150))
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = 1\nb = ", "line 2, column 4 is not valid TOML: Invalid value"),
        ("a = 1\n\n[providers.x\n\n", "line 3, column 13 is not valid TOML"),
        ("a = 1\na = 2\n\n", "line 2, column 6 is not valid TOML"),
        ('a = """x\n', "line 1, column 9 is not valid TOML: Unterminated string"),
        ("a = " + "9" * 5000, "is not valid TOML: a number in it has too many digits."),
    ],
)
def test_broken_toml_is_told_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(tmp_path, text)

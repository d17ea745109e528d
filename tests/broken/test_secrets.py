"""What people write by hand is stored without the secrets of their settings, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.cli.main import call

SECRET = "Quiet-Heron-Xyzzy-9917"
READ_BACK = ("budget", "show", "--history", "--json")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a database whose owner's settings hold a secret."""
    config = tmp_path / "config.toml"
    config.write_text(f'[secrets.shop]\nvalue = "{SECRET}"\n', encoding="utf-8")
    config.chmod(0o600)
    monkeypatch.setenv("FARTHING_CONFIG", str(config))
    monkeypatch.setenv("FARTHING_DB", str(tmp_path / "data" / "f.db"))
    return tmp_path / "data"


def stored(data: Path) -> bytes:
    return b"".join(path.read_bytes() for path in data.glob("f.db*"))


@pytest.mark.promise("EVT-7", "MEM-8")
@pytest.mark.parametrize(
    ("key", "value"), [("note", f"it is {SECRET}"), (SECRET, "1"), ("n", f'["{SECRET}"]')]
)
def test_fact_with_a_secret_of_the_settings_is_refused(key: str, value: str, data: Path) -> None:
    assert call(["facts", "set", "kept", "heron", "--namespace", "n"]) == 0
    assert call(["facts", "set", key, value, "--namespace", "n"]) == 2
    assert b"heron" in stored(data)
    assert SECRET.encode() not in stored(data)


@pytest.mark.promise("EVT-7", "MEM-8")
def test_import_with_a_secret_of_the_settings_is_refused(data: Path) -> None:
    file = data.parent / "facts.jsonl"
    assert call(["facts", "set", "kept", "heron", "--namespace", "n"]) == 0
    assert call(["facts", "export", "--to", str(file)]) == 0
    file.write_text(file.read_text(encoding="utf-8").replace("heron", SECRET), encoding="utf-8")
    assert call(["facts", "import", str(file), "--as-user", "eve"]) == 2
    assert SECRET.encode() not in stored(data)


@pytest.mark.promise("EVT-7")
def test_reason_of_a_raise_is_kept_without_secrets(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["budget", "raise", "default-daily", "--to", "9", "--reason", f"for {SECRET}"]) == 0
    assert SECRET.encode() not in stored(data)
    capsys.readouterr()
    assert call(READ_BACK) == 0
    assert "for [secret shop]" in capsys.readouterr().out

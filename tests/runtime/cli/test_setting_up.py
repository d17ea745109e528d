"""Keys, tools, a model tried by the doctor, and memory measured on one's own data."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import keyring
import pytest
from keyring.core import load_keyring

from runtime.settings import load_settings
from tests.fake_model.fixture import fake_model
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.runtime.cli.conftest import Farthing

__all__ = ["fake_model"]
KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test may touch the keyring of who runs it, nor one that another test has set or defined."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    before = keyring.get_keyring()
    keyring.set_keyring(load_keyring("keyring.backends.null.Keyring"))
    yield
    keyring.set_keyring(before)


# -- key


def test_key_is_read_from_a_pipe_and_kept_for_its_owner_only(farthing: Farthing) -> None:
    said = farthing("key", "set", "openai", input=KEY + "\n")
    assert said.code == 0
    assert KEY not in said.out + said.err
    settings = load_settings(os.environ, folder=None)
    assert settings.providers["openai"].key == KEY
    assert stat.S_IMODE(settings.keys.stat().st_mode) == 0o600
    listed = farthing("key", "list")
    assert KEY not in listed.out
    (openai,) = [each for each in farthing("key", "list", "--json").json if each["provider"] == "openai"]
    assert openai == {"provider": "openai", "key": True, "from": str(settings.keys)}


@pytest.mark.parametrize(
    ("provider", "text"),
    [
        ("nobody", KEY),
        ("openai", ""),
        ("openai", "two words"),
        ("openai", f"{KEY}\n{KEY}\n"),
        ("openai", "x" * 20_000),
    ],
)
def test_key_that_is_none_is_refused_and_not_repeated(farthing: Farthing, provider: str, text: str) -> None:
    said = farthing("key", "set", provider, input=text)
    assert said.code == 2
    assert KEY not in said.err and "x" * 100 not in said.err
    assert not load_settings(os.environ, folder=None).keys.exists()


def test_key_beside_a_variable_says_which_is_used(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-0123456789")
    assert "as long as OPENAI_API_KEY is set" in farthing("key", "set", "openai", input=KEY).err


# -- tools


def test_tools_lists_ours_and_those_of_a_file(farthing: Farthing, folder: Path) -> None:
    (folder / "mine.py").write_text(
        'def shelf(bike: str, floor: int = 1) -> str:\n    """Where a bicycle stands.\n\n    More."""\n'
        "    return bike\n",
        "utf-8",
    )
    out = farthing("tools", "--tools", "mine.py").out
    assert "calculator" in out and "Where a bicycle stands." in out
    found = {each["name"]: each for each in farthing("tools", "--tools", "mine.py", "--json").json}
    assert found["shelf"]["parameters"]["required"] == ["bike"]
    assert found["calculator"]["effect"] == "none" and found["calculator"]["source"] is None
    one = farthing("tools", "shelf", "--tools", "mine.py").out
    assert "bike" in one and "integer" in one
    assert farthing("tools", "shelf", "--tools", "mine.py", "--json").json == found["shelf"]


def test_tools_of_another_name_says_what_there_is(farthing: Farthing) -> None:
    said = farthing("tools", "calculater")
    assert said.code == 2
    assert "calculator" in said.err


# -- doctor --test-model


def test_doctor_calls_no_model_unless_asked(farthing: Farthing) -> None:
    assert "test call" not in farthing("doctor").out
    assert farthing("spend", "--rehearsal", "--json").json["total"]["calls"] == 0


@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("openai:gpt-4o-mini", "$0.15 a million input tokens, $0.60 output (genai-prices"),
        ("openai:none-such", "Its price is not known: unless the provider reports a cost, limits on spend"),
        ("local:any", "It runs on your own machines and costs nothing."),
    ],
)
def test_doctor_says_what_the_model_costs(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch, model: str, line: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert line in farthing("doctor", "--model", model).out


def test_doctor_tries_a_model_and_says_what_it_cost(farthing: Farthing) -> None:
    said = farthing("doctor", "--test-model", "--json", "--user", "ada")
    assert said.code == 0
    call = said.json["test call"]
    assert call["made"] and call["state"] == "completed" and call["rehearsal"]
    (row,) = [r for r in farthing("spend", "--rehearsal", "--rows", "--json").json if r["kind"] == "settle"]
    assert (row["purpose"], row["user"], row["run_id"]) == ("test", "ada", call["run_id"])
    assert (row["input"], row["output"]) == (call["usage"]["input"], call["usage"]["output"])
    assert "tokens in" in farthing("doctor", "--test-model").out


def test_doctor_tells_a_model_that_cannot_be_tried(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    said = farthing("doctor", "--model", "nobody:m", "--test-model", "--json")
    assert said.code == 1
    assert said.json["test call"] == {"made": False}


def test_doctor_tries_an_endpoint_over_http(
    farthing: Farthing, monkeypatch: pytest.MonkeyPatch, fake_model: FakeModel
) -> None:
    monkeypatch.setenv("FARTHING_BASE_URL", fake_model.url)
    monkeypatch.setenv("FARTHING_MODEL", "m")
    monkeypatch.setenv("FARTHING_API_KEY", "none")
    fake_model.play(answer("ready"))
    call = farthing("doctor", "--test-model", "--json").json["test call"]
    assert (call["state"], call["answer"], call["usage"]["tokens"]) == ("completed", "ready", 15)
    (row,) = [r for r in farthing("spend", "--rows", "--json").json if r["kind"] == "settle"]
    assert (row["purpose"], row["input"], row["output"]) == ("test", 12, 3)


# -- eval memory


def scenario(name: str, answer: str) -> str:
    turns = [
        {"id": f"{name}-1", "speaker": "user", "role": "user", "ts": "2026-01-01T10:00:00", "text": answer},
        {
            "id": f"{name}-2",
            "speaker": "user",
            "role": "user",
            "ts": "2026-01-01T10:01:00",
            "text": "Thanks.",
        },
    ]
    query = {"id": "q", "text": "Which bicycle do I ride?", "category": "plain", "evidence": [f"{name}-1"]}
    return json.dumps(
        {
            "id": name,
            "now": "2026-01-02T10:00:00",
            "sessions": [{"id": "s", "ts": "2026-01-01T10:00:00", "turns": turns}],
            "queries": [query],
        }
    )


@pytest.fixture
def data(folder: Path) -> Path:
    """Two datasets of two scenarios each."""
    (folder / "sets").mkdir()
    for name in ("first", "second"):
        lines = [scenario(f"{name}{i}", f"I ride the bicycle number {i}.") for i in range(2)]
        (folder / "sets" / f"{name}.jsonl").write_text("\n".join(lines), "utf-8")
    return folder / "sets"


def test_eval_measures_each_dataset(farthing: Farthing, data: Path) -> None:
    said = farthing("eval", "memory", "--data", str(data), "--json")
    assert said.code == 0
    assert list(said.json) == ["first", "second"]
    assert said.json["first"]["questions"] == 2
    assert said.json["first"]["means"]["evidence@500"] == 1.0
    assert "first: 2 scenarios, 2 questions" in said.err
    table = farthing("eval", "memory", "--data", str(data), "--datasets", "second", "--by-category").out
    assert [line.split()[:2] for line in table.splitlines()[1:]] == [["second", "all"], ["second", "plain"]]
    assert farthing("eval", "memory", "--data", str(data), "--csv").out.count("\n") == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: None, "third"),
        (lambda data: (data / "third.jsonl").write_text('{"id": 1}', "utf-8"), "Line 1 of third.jsonl"),
    ],
)
def test_eval_of_data_that_cannot_be_read_is_told(
    farthing: Farthing, data: Path, change: Callable[[Path], object], told: str
) -> None:
    change(data)
    said = farthing("eval", "memory", "--data", str(data), "--datasets", "third")
    assert said.code == 2
    assert told in said.err
    assert farthing("eval", "memory", "--data", str(data / "none")).code == 2

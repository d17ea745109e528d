"""The input of a run, from TEXT, files, `--set` and standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from runtime.cli import files
from runtime.cli.run_input import Given, gather, parse_set
from runtime.errors import BadInput, NotFound


class Stdin(io.TextIOWrapper):
    """Standard input that holds these bytes."""

    def __init__(self, data: bytes, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes, *, terminal: bool = False) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(data, terminal=terminal))


@pytest.fixture(autouse=True)
def _at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"", terminal=True)


@pytest.mark.parametrize(
    ("text", "sets", "expected"),
    [
        ("hello", (), "hello"),
        (None, (), None),
        (None, ("text=hi",), {"text": "hi"}),
        ("hello", ("words=20",), {"text": "hello", "words": 20}),
    ],
)
def test_gather_takes_text_and_fields(text: str | None, sets: tuple[str, ...], expected: Any) -> None:
    assert gather(Given(text, None, sets)) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("n=3", 3),
        ("n=-1.5e3", -1500.0),
        ("n=true", True),
        ("n=null", None),
        ('n="3"', "3"),
        ("n=[1, 2]", [1, 2]),
        ('n={"a": 1}', {"a": 1}),
        ("n=01234", "01234"),
        ("n=3 apples", "3 apples"),
        ("n=", ""),
        ("n=a=b", "a=b"),
        ("n=nan", "nan"),
        ("n=Infinity", "Infinity"),
        ("n= 3 ", 3),
    ],
)
def test_set_reads_json_where_it_plainly_is(given: str, expected: Any) -> None:
    name, value = parse_set(given)
    assert (name, value) == ("n", expected)
    assert type(value) is type(expected)


def test_set_text_is_always_text() -> None:
    assert parse_set("text=42") == ("text", "42")


@pytest.mark.parametrize("given", ["novalue", "=x", 'n={"a"}', "n=[1,]", "bad=\udcff"])
def test_set_refuses_what_it_cannot_read(given: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_set(given)
    assert caught.value.remedy


def test_gather_takes_piped_text_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, "\ufeffÅngström\n".encode())
    assert gather(Given(None, None, ())) == "Ångström\n"


def test_gather_leaves_the_pipe_alone_where_text_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"\xff")
    assert gather(Given("hello", None, ())) == "hello"


def test_gather_takes_nothing_from_an_empty_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"")
    assert gather(Given(None, None, ())) is None


def test_gather_takes_json_from_a_file_and_from_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "q.json"
    path.write_bytes(b'\xef\xbb\xbf{"text": "a", "words": 3}')
    assert gather(Given("over", str(path), ("words=4",))) == {"text": "over", "words": 4}
    piped(monkeypatch, b'{"topic": "tides"}')
    assert gather(Given(None, "-", ())) == {"topic": "tides"}


def test_gather_takes_another_file_as_the_text(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("All is well.", encoding="utf-8")
    assert gather(Given(None, str(path), ())) == "All is well."
    assert gather(Given(None, str(path), ("words=3",))) == {"text": "All is well.", "words": 3}


BROKEN: dict[str, tuple[bytes, str]] = {
    "broken": (b'{"text": "a",\n "words" 3}', "line 2"),
    "cut": (b'{"text": "a', "too early"),
    "nan": (b'{"n": NaN}', "not sound JSON"),
    "nul": (b'{"text": "a\x00"}', "NUL"),
    "latin": ('{"text": "é"}'.encode("latin-1"), "UTF-8"),
    "utf16": ('{"text": "a"}'.encode("utf-16"), "UTF-16"),
    "list": (b"[1, 2]", "a list"),
    "number": (b"3", "a number"),
    "empty": (b"", "not sound JSON"),
    "deep": (b'{"a":' * 70 + b"1" + b"}" * 70, "nested"),
    "deeper": (b"[" * 200_000 + b"]" * 200_000, "nested"),
}


@pytest.mark.promise("CLI-3")
@pytest.mark.parametrize("name", BROKEN)
def test_gather_refuses_a_broken_file_in_a_sentence(name: str, tmp_path: Path) -> None:
    data, word = BROKEN[name]
    path = tmp_path / "input.json"
    path.write_bytes(data)
    with pytest.raises(BadInput) as caught:
        gather(Given(None, str(path), ()))
    assert word in caught.value.message
    assert caught.value.remedy


@pytest.mark.promise("CLI-3")
def test_gather_refuses_more_than_ten_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"a" * (files.MAX_BYTES + 1))
    with pytest.raises(BadInput, match="10 MB"):
        gather(Given(None, str(path), ()))
    piped(monkeypatch, b"a" * (files.MAX_BYTES + 1))
    with pytest.raises(BadInput, match="10 MB"):
        gather(Given(None, None, ()))


def test_gather_refuses_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="folder"):
        gather(Given(None, str(tmp_path), ()))
    with pytest.raises(NotFound):
        gather(Given(None, str(tmp_path / "none.json"), ()))


def test_flow_by_a_near_name_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("greeter.json").write_text("{}", encoding="utf-8")
    for given, hint in (("greter.json", "greeter.json"), ("example:suport", "example:support")):
        with pytest.raises(NotFound) as caught:
            files.read_flow(given)
        assert hint in (caught.value.remedy or "")


def test_flow_finds_the_script_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}", encoding="utf-8")
    assert files.read_flow(str(path)).script is None
    (tmp_path / "a.script.json").write_text("{}", encoding="utf-8")
    assert files.read_flow(str(path)).script == tmp_path / "a.script.json"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Given("hello", None, ("text=over",)), "TEXT and --set text= both give the text."),
        (Given("hello", "a.txt", ()), "TEXT and --input a.txt both give the text."),
        (Given(None, "a.txt", ("text=over",)), "--input a.txt and --set text= both give the text."),
        (Given(None, None, ("a=1", "a=2")), "--set a= is given twice."),
        (Given("", None, ()), "TEXT is empty."),
    ],
)
def test_gather_drops_nothing_that_was_given(
    given: Given, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("from a file")
    with pytest.raises(BadInput) as caught:
        gather(given)
    assert caught.value.message == says and caught.value.remedy


def test_gather_puts_what_is_typed_over_the_fields_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"text": "old", "words": 5, "topic": "tides"}')
    found = gather(Given("new", str(tmp_path / "a.json"), ("words=7",)))
    assert found == {"text": "new", "words": 7, "topic": "tides"}

"""The lines of a batch, their results in order, and the file that keeps these."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.run.batch import lines_in_order
from runtime.run.batch_lines import Line, read_lines
from runtime.run.batch_result import Result, ResultFile

SHAPE = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "tag": {}}}


# -- lines


def test_json_lines_are_texts_or_objects_with_what_stands_beside_them() -> None:
    data = (
        b'\xef\xbb\xbf"one"\n\n{"text": "two", "id": 2, "user": "ada", "session": "s"}\r\n'
        b'{"input": "three", "id": "c"}\n{"input": {"text": "four"}}\n{"text": "five"}'
    )
    found = [(x.number, x.input, x.id, x.session, x.user) for x in read_lines(data, "jsonl", None)]
    assert found == [
        (1, "one", None, None, None),
        (3, {"text": "two"}, "2", "s", "ada"),
        (4, "three", "c", None, None),
        (5, {"text": "four"}, None, None, None),
        (6, {"text": "five"}, None, None, None),
    ]


def test_a_field_of_the_flow_goes_before_what_may_stand_beside() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}, "q": {"type": "string"}}}
    (line,) = read_lines(b'{"id": "x", "q": "y", "user": "ada"}', "jsonl", schema)
    assert (line.input, line.id, line.user) == ({"id": "x", "q": "y"}, None, "ada")
    (wrapped,) = read_lines(b'{"input": {"id": "x", "q": "y"}, "user": "ada"}', "jsonl", schema)
    assert (wrapped.input, wrapped.user) == ({"id": "x", "q": "y"}, "ada")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "it is not sound JSON"),
        (b'"\xff"', "it is not UTF-8 text"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[1]", "it is neither a text nor an object"),
        (b'{"text": NaN}', "it is not sound JSON"),
        (b'{"text": "x", "user": ""}', "its `user` is no text"),
        (b'{"text": "x", "session": {}}', "its `session` is no text"),
    ],
    ids=range(7),
)
def test_a_line_that_is_none_says_why_and_the_rest_goes_on(raw: bytes, why: str) -> None:
    good, bad, more = read_lines(b'"a"\n' + raw + b'\n"b"', "jsonl", None)
    assert (good.input, more.input, more.number) == ("a", "b", 3)
    assert bad.number == 2
    assert str(bad.wrong).startswith(why)


def test_csv_columns_become_fields_of_the_types_that_the_flow_asks_for() -> None:
    data = b'q,n,tag,user\n"a, ""b""\nc",3,x,ada\n7,,y,\nd,many,z,bob\ne,1\n\nf,2,"w",ada\n'
    lines = read_lines(data, "csv", SHAPE)
    assert [(x.number, x.input, x.user) for x in lines if x.wrong is None] == [
        (2, {"q": 'a, "b"\nc', "n": 3, "tag": "x"}, "ada"),
        (4, {"q": "7", "tag": "y"}, None),
        (5, {"q": "d", "n": "many", "tag": "z"}, "bob"),
        (8, {"q": "f", "n": 2, "tag": "w"}, "ada"),
    ]
    assert [(x.number, x.wrong) for x in lines if x.wrong] == [
        (6, "it has 2 cells and there are 4 columns"),
    ]


def test_csv_as_spreadsheets_write_it() -> None:
    (line,) = read_lines("\ufefftext;id\r\nhö, du;7\r\n".encode(), "csv", None)
    assert (line.input, line.id) == ({"text": "hö, du"}, "7")
    for broken in (b"", b"a,a\n1,2\n", b"a,\n1,2\n"):
        with pytest.raises(BadInput, match="names of its columns"):
            read_lines(broken, "csv", None)
    with pytest.raises(BadInput, match="UTF-8"):
        read_lines(b"text\n\xff", "csv", None)


@given(st.binary(max_size=200), st.sampled_from(["jsonl", "csv"]))
def test_any_bytes_give_lines_or_one_clear_error(data: bytes, kind: Any) -> None:
    try:
        lines = read_lines(data, kind, SHAPE)
    except BadInput:
        return
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers))
    assert all(len(line.hash) == 16 for line in lines)


@given(st.permutations(range(6)))
def test_results_are_handed_on_in_the_order_of_the_lines(order: list[int]) -> None:
    lines = [Line(n, "h", "x") for n in range(6)]
    told: list[int] = []
    listen = lines_in_order(lines, lambda result: told.append(result.line))
    for n in order:
        listen(Result(line=n, state="completed", batch="b", hash="h"))
    assert told == list(range(6))


# -- the file of results


def result(line: int, **more: Any) -> Result:
    return Result(line=line, **{"state": "completed", "batch": "b", "hash": f"h{line}"} | more)


def test_a_half_written_line_is_dropped_and_the_file_ends_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path) as file:
        for n in (3, 1, 2):
            file.add(result(n))
    path.write_bytes(path.read_bytes() + b'{"line":4,"id":null,"sta')
    with ResultFile(path) as file:
        assert sorted(file.kept) == [1, 2, 3]
        file.add(result(4))
        file.put_in_order([Line(n, f"h{n}") for n in (1, 2, 4)])  # the third line has gone from the input
        file.add(result(5))
    assert [json.loads(line)["line"] for line in path.read_text().splitlines()] == [1, 2, 4, 5]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.jsonl"]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    for content in (b"my notes\n", b"my notes", b'{"line": "one"}\n', b"\xff\xfe"):
        path = tmp_path / "notes.txt"
        path.write_bytes(content)
        with pytest.raises(BadInput, match="something else"), ResultFile(path):
            pass
        assert path.read_bytes() == content


def test_two_batches_never_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path), pytest.raises(BadInput, match="Another batch"), ResultFile(path):
        pass


@given(st.integers(0, 400))
def test_wherever_a_write_was_cut_off_what_was_whole_is_kept(cut: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.jsonl"
        whole = b"".join(msgspec.json.encode(result(n)) + b"\n" for n in (1, 2))
        path.write_bytes(whole[: min(cut, len(whole))])
        kept = whole[:cut].count(b"\n")
        if 0 < cut < 8:
            with pytest.raises(BadInput), ResultFile(path):
                pass
            return
        with ResultFile(path) as file:
            assert len(file.kept) == kept

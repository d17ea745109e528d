"""The built-in tools that look at the world: the run's clock, and files of an allowed folder."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.clock import VirtualClock
from runtime.errors import FarthingError, InputError, ToolFailure
from runtime.tools import ToolContext
from runtime.tools.current_time import current_time
from runtime.tools.read_file import MAX_BYTES, read_file


def context(folder: Path | None = None) -> ToolContext:
    clock = VirtualClock(datetime(2026, 7, 3, 22, 30, tzinfo=UTC))
    return ToolContext(clock=clock, run_id="r", node_id="n", step=1, key="k", folder=folder)


def test_the_time_is_the_run_s_own_in_any_zone() -> None:
    assert current_time(context(), "Europe/Berlin") == {
        "local": "2026-07-04T00:30:00+02:00",
        "weekday": "Saturday",
        "zone": "Europe/Berlin",
        "utc": "2026-07-03T22:30:00+00:00",
    }
    assert current_time(context())["weekday"] == "Friday"


@pytest.mark.parametrize(
    "zone", ["Nowhere/Atall", "", "../../etc/passwd", "/etc/localtime", "x\x00", "é" * 500]
)
def test_a_zone_that_is_none_is_told(zone: str) -> None:
    with pytest.raises(InputError, match="no time zone") as refused:
        current_time(context(), zone)
    assert len(refused.value.message) < 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An allowed folder with something in it, and secrets beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("\ufeffhello", encoding="utf-8")
    (root / "sub" / "b.md").write_text("bye")
    (root / "out").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "a.txt")
    return root.resolve()


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "sub/../a.txt", "in"])
def test_files_inside_are_read(folder: Path, path: str) -> None:
    assert read_file(context(folder), path) == "hello"
    assert read_file(context(folder), str(folder / "a.txt")) == "hello"


OUTSIDE = [
    "../secret.txt",
    "out",
    "up/secret.txt",
    "up",
    "..",
    "/etc/passwd",
    "sub/../../secret.txt",
    "none",
    "a\x00b",
]


@pytest.mark.parametrize("path", [*OUTSIDE, "x" * 5000, ""], ids=range(len(OUTSIDE) + 2))
def test_nothing_outside_is_read_or_told_of(folder: Path, path: str) -> None:
    if path == "":
        assert read_file(context(folder), path).startswith(". is a folder")
        return
    with pytest.raises(InputError) as refused:
        read_file(context(folder), path)
    assert "secret\n" not in refused.value.message
    assert str(folder) not in refused.value.message
    assert refused.value.message.startswith("There is no file")


def test_a_folder_tells_what_is_in_it_and_a_near_name_is_named(folder: Path) -> None:
    assert read_file(context(folder), ".") == ". is a folder with:\na.txt\nin\nout\nsub/\nup/"
    assert read_file(context(folder), "sub") == "sub is a folder with:\nb.md"
    with pytest.raises(InputError, match=r"Is it 'a.txt'"):
        read_file(context(folder), "a.tx")


def test_only_texts_of_a_bearable_size_are_read(folder: Path) -> None:
    (folder / "big").write_bytes(b"x" * (MAX_BYTES + 1))
    (folder / "binary").write_bytes(b"\xff\xfe")
    (folder / "nul").write_bytes(b"a\x00")
    os.mkfifo(folder / "pipe")
    for name, words in {
        "big": "larger",
        "binary": "not UTF-8",
        "nul": "not text",
        "pipe": "no ordinary",
    }.items():
        with pytest.raises(ToolFailure, match=words):
            read_file(context(folder), name)
    (folder / "most").write_bytes(b"x" * MAX_BYTES)
    assert len(read_file(context(folder), "most")) == MAX_BYTES


@pytest.mark.promise("TOO-7")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["..", ".", "sub", "up", "out", "in", "a.txt", "docs", "secret.txt", "/"])))
def test_no_path_leads_out(folder: Path, parts: list[str]) -> None:
    try:
        assert "secret" not in read_file(context(folder), "/".join(parts)).replace("secret.txt", "")
    except FarthingError as error:
        assert error.code in ("tool.no_file",)

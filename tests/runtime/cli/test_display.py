"""How things are shown as the settings say: colours, and the zone of times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cli.display import display
from runtime.cli.when import parse_when, stamp, zone
from tests.runtime.cli.conftest import Farthing

Write = Callable[..., str]
ESCAPE = "\x1b["
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes `[display]` of the settings."""

    def write(lines: str) -> None:
        path = tmp_path / "config.toml"
        path.write_text(f"[display]\n{lines}\n")
        monkeypatch.setenv("FARTHING_CONFIG", str(path))

    monkeypatch.delenv("NO_COLOR", raising=False)
    return write


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine nine hours before UTC."""
    monkeypatch.setenv("TZ", "JST-9")
    time.tzset()
    yield
    monkeypatch.delenv("TZ")
    time.tzset()


def test_colours_are_for_terminals_unless_the_settings_say_otherwise(
    farthing: Farthing, write_flow: Write, choose: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_flow({"text": "Hello."})
    for colour, coloured in (("auto", False), ("always", True), ("never", False)):
        choose(f"colour = '{colour}'")
        said = farthing("validate", path)
        assert (ESCAPE in said.out) is coloured, colour
        assert (ESCAPE in farthing("run", "none.json").err) is coloured, colour
    choose("colour = 'always'")
    run = farthing("run", path, "Hi")
    assert ESCAPE in run.err and ESCAPE not in run.out  # a result is never decorated
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in farthing("validate", path).out


def test_what_is_wrong_with_the_settings_is_said_without_them(
    farthing: Farthing, choose: Callable[[str], None]
) -> None:
    choose("colour = 'mauve'")
    said = farthing("sessions")
    assert said.code == 2 and "display.colour: must be one of" in said.err and ESCAPE not in said.err


def test_the_folder_of_a_flow_chooses_where_the_user_did_not(
    farthing: Farthing, write_flow: Write, choose: Callable[[str], None], tmp_path: Path
) -> None:
    path = write_flow({"text": "Hello."})
    (Path(path).parent / "farthing.toml").write_text("[display]\ncolour = 'always'\n")
    choose("times = 'utc'")
    assert ESCAPE in farthing("run", path, "Hi").err
    choose("colour = 'never'")
    assert ESCAPE not in farthing("run", path, "Hi").err


@pytest.mark.usefixtures("far_east")
def test_times_are_shown_and_read_in_the_zone_that_was_chosen(choose: Callable[[str], None]) -> None:
    choose("times = 'utc'")
    assert (stamp(NOON), zone()) == ("2026-03-01 12:00", "UTC")
    assert parse_when("today", NOON.replace(hour=20)) == datetime(2026, 3, 1, tzinfo=UTC)
    choose("times = 'local'")
    assert (stamp(NOON), zone()) == ("2026-03-01 21:00", "local")
    assert parse_when("2026-03-01 21:00", NOON) == NOON
    assert parse_when("2026-03-01T21:00+08:00", NOON) == NOON.replace(hour=13)
    assert parse_when("today", NOON.replace(hour=20)) == datetime(2026, 3, 1, 15, tzinfo=UTC)
    assert parse_when("yesterday", NOON) == datetime(2026, 2, 27, 15, tzinfo=UTC)


@given(minute=st.integers(0, 60 * 24 * 365 * 100))
def test_a_time_shown_can_be_typed_again(minute: int) -> None:
    at = datetime.fromtimestamp(minute * 60, UTC)
    assert parse_when(stamp(at), NOON) == at


@pytest.mark.usefixtures("far_east")
def test_listings_and_timelines_name_the_zone_and_exports_stay_in_utc(
    farthing: Farthing, write_flow: Write, choose: Callable[[str], None], tmp_path: Path
) -> None:
    path = write_flow({"text": "Hello."})
    farthing("run", path, "Hi", "--session", "one")
    (line,) = farthing("sessions", "--rehearsal", "--json").json
    at = datetime.fromisoformat(line["last_at"])
    assert at.utcoffset() == UTC.utcoffset(None)
    for times, said_zone, hours in (("utc", "UTC", 0), ("local", "local", 9)):
        choose(f"times = '{times}'")
        shown = f"{datetime.fromtimestamp(at.timestamp() + hours * 3600, UTC):%Y-%m-%d %H:%M}"
        listed = farthing("sessions", "--rehearsal").out
        assert f"last ({said_zone})" in listed and shown in listed
        assert f" {said_zone}" in farthing("events", "one", "--rehearsal").out
        assert farthing("sessions", "--rehearsal", "--json").json == [line]
        page = tmp_path / f"{times}.html"
        assert farthing("events", "one", "--rehearsal", "--html", str(page)).code == 0
        assert " UTC" in page.read_text()
    assert (tmp_path / "utc.html").read_bytes() == (tmp_path / "local.html").read_bytes()


def test_the_settings_are_read_once_a_command_line(choose: Callable[[str], None], tmp_path: Path) -> None:
    choose("colour = 'always'")
    with click.Context(click.Command("farthing")):
        assert display().colour == "always"
        (tmp_path / "config.toml").unlink()
        assert display().colour == "always"

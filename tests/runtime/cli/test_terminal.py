"""What a person sees at a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.cli.plain import cells
from tests.runtime.cli.conftest import SCRIPT, Said

Write = Callable[..., str]
Terminal = Callable[..., Said]
ERASED = re.compile(r"[^\n]*\r\x1b\[K")
STYLE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture
def terminal(folder: object) -> Terminal:
    """Runs the console script at a terminal of 80 columns; both streams come together."""

    def call(*args: str, **env: str) -> Said:
        child, screen = pty.fork()
        if child == 0:
            os.environ.update(env, TERM="xterm-256color")
            os.environ.pop("COLUMNS", None)
            os.execv(SCRIPT, [str(SCRIPT), *args])
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        shown = b""
        while True:
            try:
                piece = os.read(screen, 65_536)
            except OSError:  # the terminal is closed once its last program has ended
                break
            if not piece:
                break
            shown += piece
        os.close(screen)
        _, status = os.waitpid(child, 0)
        return Said(os.waitstatus_to_exitcode(status), shown.decode().replace("\r\n", "\n"), "")

    return call


def plain(text: str) -> str:
    """Without its colours, and without the lines that were erased again."""
    return STYLE.sub("", ERASED.sub("", text))


# A process with threads is forked only to become another program at once.
pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty.*:DeprecationWarning")


def test_terminal_shows_a_line_a_step_and_the_answer_once(terminal: Terminal, write_flow: Write) -> None:
    flow = write_flow(
        {"tool_calls": [{"name": "memory_read", "arguments": {"keys": ["name"]}}]},
        {"text": "The answer\x1b[2J is 42.", "cost": "0.01"},
    )
    said = terminal("run", flow, "What is it?", "--session", "s")
    assert said.code == 0
    shown = plain(said.out)
    assert "\x1b" not in shown
    assert shown.count("The answer\\x1b[2J is 42.") == 1
    steps = [line for line in shown.splitlines() if " step " in line]
    assert [line.split()[1:4] for line in steps] == [["helper", "step", "1"], ["helper", "step", "2"]]
    assert "$0.010000" in steps[1]
    assert any("→ memory_read" in line for line in shown.splitlines())
    assert "done (rehearsal)" in shown
    assert "helper step 1 · scripted:rehearsal …" in STYLE.sub("", said.out)
    assert "daily: $0.4" in shown


def test_terminal_shows_a_stop_nobody_can_miss(terminal: Terminal, write_flow: Write) -> None:
    said = terminal("run", write_flow({"text": "Hello."}), "hi", "--limit", "tokens=0")
    assert said.code == 3
    assert "■ STOPPED helper" in plain(said.out)
    assert "\x1b[1;31m" in said.out
    assert plain(said.out).count("is used up") == 1


def test_terminal_has_no_colour_where_none_is_wanted(terminal: Terminal, write_flow: Write) -> None:
    said = terminal("run", write_flow({"text": "Hello."}), "hi", NO_COLOR="1")
    assert "\x1b" not in ERASED.sub("", said.out)


WIDE = (
    "events",
    "sessions --rehearsal",
    "spend --rehearsal",
    "spend --rehearsal --rows",
    "facts --rehearsal",
    "budget show --rehearsal",
    "nodes",
)


@pytest.mark.slow
def test_terminal_of_eighty_columns_wraps_nothing(terminal: Terminal, write_flow: Write) -> None:
    flow = write_flow(
        {"tool_calls": [{"name": "memory_write", "arguments": {"key": "name", "value": "Ada " * 40}}]},
        {
            "text": "水" * 200,
            "usage": {"input": 1_234_567, "cached": 1_000_000, "output": 99_999},
            "cost": "12.5",
        },
    )
    user = "a-user-with-quite-a-long-name"
    terminal("run", flow, "A long question. " * 20, "--user", user, "--limit", "tokens=9999")
    for command in WIDE:
        said = terminal(*command.split())
        assert said.code == 0
        for line in plain(said.out).splitlines():
            assert cells(line) <= 80, f"{command}: {line}"


def test_terminal_json_is_laid_out_and_safe(terminal: Terminal, write_flow: Write) -> None:
    terminal("run", write_flow({"text": "a\u202eb"}), "hi")
    shown = plain(terminal("events", "--json", "--type", "agent.response").out)
    assert "a\\u202eb" in shown
    assert "\u202e" not in shown


def test_terminal_shows_how_far_a_consolidation_has_come(terminal: Terminal) -> None:
    for key, value in (("a", "likes green tea"), ("b", "likes green tea a lot")):
        terminal("facts", "set", key, value, "--user", "ada", "--namespace", "n", "--rehearsal")
    said = terminal("memory", "consolidate", "--user", "ada", "--rehearsal", "--with-model")
    assert "░░ 0 of 1 pairs" in said.out
    assert "██ 1 of 1 pairs" in said.out


@pytest.mark.promise("CLI-14")
def test_terminal_shows_no_secret_of_the_settings_as_it_comes(terminal: Terminal, write_flow: Write) -> None:
    secret = "two words-Zq9XvB7w"
    Path(os.environ["FARTHING_CONFIG"]).write_text(f'[secrets.shop]\nvalue = "{secret}"\n', encoding="utf-8")
    said = terminal("run", write_flow({"text": f"It is {secret} or two wo"}), "What is it?")
    assert said.code == 0
    assert plain(said.out).count("It is [secret shop] or two wo\n") == 1
    assert "Zq9" not in said.out and "two words" not in said.out

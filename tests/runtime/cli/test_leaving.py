"""How the console script ends: at once, with its exit code, everything said, and nothing forgotten."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import atexit, sys, threading, time
import runtime.cli.main
from runtime.cli.entry import main

def carry_out():
    print("said")
    print("aside", file=sys.stderr)
    atexit.register(lambda: print("at the end"))
    {more}
    sys.exit({code!r})

runtime.cli.main.main = carry_out
main()
"""


def ended(code: object, more: str = "pass") -> subprocess.CompletedProcess[str]:
    script = SCRIPT.format(code=code, more=more)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", [0, 1, 3, 130])
def test_everything_is_said_and_done_before_the_end(code: int) -> None:
    done = ended(code)
    assert (done.returncode, done.stdout, done.stderr) == (code, "said\nat the end\n", "aside\n")


def test_a_thread_that_goes_on_is_waited_for() -> None:
    done = ended(2, "threading.Thread(target=lambda: (time.sleep(0.3), print('late'))).start()")
    assert (done.returncode, done.stdout) == (2, "said\nlate\nat the end\n")


def test_words_instead_of_a_code_are_said() -> None:
    done = ended("why")
    assert (done.returncode, done.stderr) == (1, "aside\nwhy\n")

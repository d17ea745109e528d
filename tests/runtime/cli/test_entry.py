"""The console script before its commands are loaded."""

from __future__ import annotations

import subprocess
import sys

INTERRUPTED = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt
        return None

sys.meta_path.insert(0, Interrupting())
from runtime.cli.entry import main
main()
"""


def test_ctrl_c_while_commands_are_loaded_is_quiet() -> None:
    for name in ("runtime.cli.main", "click", "runtime.cli.streams"):
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED.format(name=name)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", ""), name

"""Says at the end of a run what could not be tried for want of the real model."""

from __future__ import annotations

import pytest

from tests.local_model.fixture import say_what_was_skipped


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    say_what_was_skipped(terminalreporter)

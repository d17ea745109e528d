"""The fake server as a pytest fixture: `from tests.fake_model.fixture import fake_model`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fake_model.server import FakeModel


@pytest.fixture
def fake_model() -> Iterator[FakeModel]:
    """A running fake server of its own for the test."""
    server = FakeModel().start()
    try:
        yield server
    finally:
        server.join()

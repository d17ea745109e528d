"""The studio's server for tests: one for a module where nothing of it is changed, or one of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fake_model.fixture import fake_model as fake_model
from tests.fake_model.server import FakeModel
from tests.studio.live import Live


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server shared by a module's tests, without a key: every run is a rehearsal."""
    server = Live(tmp_path_factory.mktemp("studio")).start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def own_live(tmp_path: Path) -> Iterator[Callable[..., Live]]:
    """Makes servers of a test's own."""
    made: list[Live] = []

    def make(config: str = "") -> Live:
        made.append(Live(tmp_path / f"server{len(made)}", config).start())
        return made[-1]

    yield make
    for server in made:
        if not server.server.should_exit:
            server.stop()


@pytest.fixture
def paid(fake_model: FakeModel, own_live: Callable[..., Live]) -> Live:
    """A server whose default model is a fake provider's: its runs are real ones. It ends before the fake."""
    return own_live(settings_for(fake_model))


def settings_for(fake: FakeModel) -> str:
    """Settings whose default model is the fake server's."""
    return (
        'default_model = "fake:ok"\n[providers.fake]\n'
        f'base_url = "{fake.url}"\ndefault_model = "ok"\n'
        '[providers.fake.prices.ok]\ninput = "1"\noutput = "4"\n'
    )

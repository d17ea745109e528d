"""A model of the fake server, closed after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.clock import VirtualClock
from runtime.models.openai_compatible import OpenAICompatible
from runtime.providers import Provider
from tests.fake_model.fixture import fake_model
from tests.fake_model.server import FakeModel

__all__ = ["fake_model"]

KEY = "secret-of-the-test-0123"
HEADER = "header-of-the-test-4567"


@pytest.fixture
def provider(fake_model: FakeModel) -> Provider:
    """The fake server as a provider with a key and a header of its own."""
    return Provider(
        name="fake", base_url=fake_model.url, key=KEY, key_from="FAKE_API_KEY", headers={"X-Team": HEADER}
    )


@pytest.fixture
async def model(provider: Provider) -> AsyncIterator[OpenAICompatible]:
    """The fake server's model."""
    opened = OpenAICompatible(provider, VirtualClock())
    try:
        yield opened
    finally:
        await opened.close()

"""The guards of the suite really guard."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import quick
from tests.conftest import RealNetwork


def test_guard_refuses_other_machines() -> None:
    with socket.socket() as sock, pytest.raises(RealNetwork):
        sock.connect(("192.0.2.1", 80))  # an address kept for documentation: nobody answers there


def test_guard_refuses_lookups() -> None:
    with pytest.raises(RealNetwork):
        socket.getaddrinfo("api.example.com", 443)


def test_guard_lets_loopback_through() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert client.getpeername() == server.getsockname()


def test_no_key_and_no_real_home_are_seen() -> None:
    assert not [name for name in os.environ if name.endswith("_API_KEY")]
    assert "homes" in os.environ["FARTHING_DB"] and "homes" in os.environ["FARTHING_CONFIG"]


@pytest.fixture
def profile() -> Iterator[None]:
    """What hypothesis does is as before when the test has ended."""
    name = settings.get_current_profile_name()
    yield
    settings.load_profile(name)


@pytest.mark.parametrize(
    ("marks", "tried"),
    [("", [1, 8, 25, 100, 150]), ("slow", [1, 8, 25, 100, 150]), ("not slow", [1, 5, 7, 25, 38])],
)
def test_every_example_is_tried_but_where_slow_tests_are_left_out(
    marks: str, tried: list[int], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, profile: None
) -> None:
    monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
    monkeypatch.setattr(pytestconfig.option, "markexpr", marks)
    quick.choose(pytestconfig)
    assert [quick.examples(full) for full in (1, 8, 25, 100, 150)] == tried
    assert settings().max_examples == tried[3]
    assert settings().deadline is None
    assert settings().derandomize == bool(os.environ.get("CI")), "in CI one commit gets one verdict"


@pytest.mark.parametrize("told", [False, True])
def test_what_is_compiled_is_kept_with_pytests_cache_where_nothing_may_be_written_beside_the_sources(
    told: bool, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", told)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    quick.keep_compiled(pytestconfig)
    moved = told and hasattr(pytestconfig, "cache")
    assert (sys.pycache_prefix is not None) == moved
    assert os.environ.get("PYTHONPYCACHEPREFIX") == sys.pycache_prefix
    assert sys.dont_write_bytecode == (told and not moved)
    assert ("PYTHONDONTWRITEBYTECODE" in os.environ) != moved

"""The guards of the suite really guard."""

from __future__ import annotations

import os
import socket

import pytest

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

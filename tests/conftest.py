"""What every test stands on: no network but loopback, nothing of the user's own settings, data or keys."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests import quick

quick.register()
quick.choose()


def pytest_configure(config: pytest.Config) -> None:
    """Before any test is loaded."""
    quick.choose(config)
    quick.keep_compiled(config)


OURS = re.compile(
    r"^FARTHING_|_API_KEY$|_BASE_URL$|^NO_COLOR$|^FORCE_COLOR$|^COLUMNS$|^XDG_(CONFIG|DATA|STATE)_HOME$"
)
"""Environment variables that would let the machine a test runs on show through."""


class RealNetwork(RuntimeError):
    """A test reached for an address that is not on this machine."""


def is_local(host: object) -> bool:
    """Whether an address stays on this machine. Other names than localhost would need a look-up."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def guard(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: the interpreter calls it before each connection and look-up, whoever makes them."""
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        if isinstance(address, tuple) and not is_local(address[0]):
            raise RealNetwork(f"a test tried to reach {address[0]!r}; use a server on 127.0.0.1")
    elif event == "socket.getaddrinfo" and not is_local(arguments[0]):
        raise RealNetwork(f"a test tried to look up {arguments[0]!r}; use 127.0.0.1")


sys.addaudithook(guard)
_numbers = count()


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Every test, and every process it starts, has settings and data of its own, and no key."""
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_numbers))
    for name in [name for name in os.environ if OURS.search(name)]:
        monkeypatch.delenv(name)
    config = home / "config.toml"
    home.mkdir(mode=0o700, parents=True)
    config.touch(0o600)
    monkeypatch.setenv("FARTHING_CONFIG", str(config))
    monkeypatch.setenv("FARTHING_DB", str(home / "farthing.db"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    yield home

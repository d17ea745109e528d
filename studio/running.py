"""Running servers that were started here: a private file for each in the data folder, so that a second
command can ask one for a fresh link."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from runtime.errors import BadSettings
from runtime.settings.files import mode_of, read_text, write_private

BEGIN = "studio-"
ASK_S = 2.0


class Running(NamedTuple):
    """A server that was started: its address, and the secret by which its person may ask it for a link."""

    url: str
    pid: int
    control: str


def note(data: Path, port: int, running: Running) -> Path:
    """Write down that a server runs. Raises BadSettings."""
    path = data / f"{BEGIN}{port}.json"
    write_private(path, json.dumps(running._asdict()))
    return path


def forget(path: Path, running: Running) -> None:
    """The server has ended; a newer one's note stays."""
    if _read(path) == running:
        path.unlink(missing_ok=True)


def fresh_link(data: Path, port: int | None) -> str | None:
    """A link to a running server, opened once; None where none answers. The latest one, unless `port` says
    which. Notes of servers that are gone are removed."""
    pattern = f"{BEGIN}*.json" if port is None else f"{BEGIN}{port}.json"
    found = sorted(data.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found:
        running = _read(path)
        token = None if running is None else _ask(running)
        if running is not None and token is not None:
            return link(running.url, token)
        if running is None or not _alive(running.pid):
            path.unlink(missing_ok=True)
    return None


def link(url: str, token: str, page: str = "/") -> str:
    """The address to open: the token stands in its fragment, which no browser sends to anybody."""
    return f"{url}{page}#token={token}"


def _read(path: Path) -> Running | None:
    try:
        text = read_text(path, "note of a server")
        mode = mode_of(path)
        if text is None or (mode is not None and mode & 0o077):
            return None
        return Running(**json.loads(text))
    except (BadSettings, ValueError, TypeError):
        return None


def _ask(running: Running) -> str | None:
    where = urlsplit(running.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=ASK_S)
    try:
        connection.request(
            "POST",
            "/api/v1/auth/link",
            headers={"authorization": f"Bearer {running.control}", "host": where.netloc},
        )
        answer = connection.getresponse()
        found = json.loads(answer.read(10_000)) if answer.status == 200 else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    token = found.get("token") if isinstance(found, dict) else None
    return token if isinstance(token, str) else None


def _alive(pid: int) -> bool:
    if os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

"""The database as a doctor looks at it: nothing is made where nothing is."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

from runtime.cli.doctor_report import Problem, Section
from runtime.cli.opening import opened
from runtime.cli.plain import counted
from runtime.clock import SystemClock
from runtime.errors import FarthingError
from runtime.settings import Settings

VERSION_AT, APPLICATION_AT, HEADER = 60, 68, 100
"""Where a SQLite file's header has its user version and application id, and how long it is."""


ALLOW = "Allow reading there, or name another file with --db."


class Header(NamedTuple):
    """What a SQLite file's header says."""

    version: int
    ours: bool


def header_of(path: Path) -> Header | None:
    """The header of a database file, read without opening it; None where there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
    except OSError:
        return None
    if len(head) < HEADER or not head.startswith(b"SQLite format 3\0"):
        return None
    (number,) = struct.unpack_from(">I", head, VERSION_AT)
    return Header(number, head[APPLICATION_AT : APPLICATION_AT + 4] == b"FART")


def database_section(settings: Settings, problems: list[Problem]) -> Section:
    """Which database, how large, of which version, and who else works on it."""
    path = settings.db
    try:
        data: dict[str, Any] = {"path": str(path), "exists": path.exists()}
    except OSError as error:
        problems.append(Problem(f"The database {path} cannot be reached: {error.strerror}.", ALLOW))
        return Section("database", [str(path)], {"path": str(path), "exists": None})
    if not data["exists"]:
        return Section(
            "database", [f"{path} (made at the first run; FARTHING_DB or --db names another)"], data
        )
    head = header_of(path)
    size = sum(p.stat().st_size for p in (path, path.with_name(path.name + "-wal")) if p.is_file())
    data |= {"bytes": size, "version": head.version if head else None}
    lines = [f"{path} · {size / 1_000_000:.1f} MB · version {head.version if head else '?'}"]
    try:
        found = _look(settings)
    except FarthingError as error:
        problems.append(Problem(error.message, error.remedy or "Name another file with --db."))
        return Section("database", lines, data)
    data |= found
    lines.append(
        f"{found['sessions']} real and {counted(found['rehearsals'], 'rehearsal session')}; "
        f"{counted(found['others'], 'other process', 'other processes')} working on it"
    )
    return Section("database", lines, data)


def _look(settings: Settings) -> dict[str, Any]:
    """Open the database as a run would; count what is there."""
    import asyncio

    from runtime.record import SessionFilter

    async def main() -> dict[str, Any]:
        async with opened(settings.db, SystemClock()) as record:
            owners = len(list(settings.db.parent.glob(f"{settings.db.name}.*.lock")))
            sessions = await record.sessions(SessionFilter(limit=1000))
            count = f"{len(sessions):,}" if len(sessions) < 1000 else "1,000 or more"
            hidden = await record.hidden_rehearsals()
            return {"sessions": count, "rehearsals": hidden, "others": max(0, owners - 1)}

    return asyncio.run(main())

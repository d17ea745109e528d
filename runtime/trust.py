"""What a flow needs beyond what every flow may do, and what its user has granted.

A flow comes from a stranger. What it needs is a set of texts `kind what` (`pot shared:team`), shown once and
granted as a hash: when its needs change, the grant no longer fits and it asks again. A text must name all
that matters: a tool with its file, a host with its port, a secret with where it would go.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from runtime.errors import BadSettings, NotGranted
from runtime.settings.files import mode_of, parse, read_text, toml_string, write_private

HASH_DIGITS = 40
"""Hexadecimal digits of a hash: 160 bits, so that no two sets of needs can be made to share one."""
WHAT = "file of grants"
LOCK_WAIT_S = 10
"""How long to wait for another process that is writing grants."""
SHOWN_CHARS = 200
"""How much of one need is shown."""


KINDS = {
    "tool": "use the tool",
    "folder": "read files in",
    "host": "reach the host",
    "secret": "use the secret",
    "pot": "spend from the shared pot",
    "namespace": "read and write the memory of",
    "flow": "run, outside its own folder, the flow",
    "id": "go by the id of the flow at",
}
"""The kinds of need and how each reads. `id`: this database knows the flow's id from another path."""


class Grant(NamedTuple):
    """A user's yes to some needs of one flow. `needs` are the lines that were shown then."""

    flow_id: str
    needs_hash: str
    at: str
    by: str
    needs: tuple[str, ...] = ()


class Grants(NamedTuple):
    """All that was granted on this machine."""

    entries: tuple[Grant, ...] = ()

    def has(self, flow_id: str, needs_hash: str) -> bool:
        """Was exactly this granted?"""
        return any(each.flow_id == flow_id and each.needs_hash == needs_hash for each in self.entries)


def printable(text: str) -> str:
    """A stranger's text, cut, with control and direction characters shown as escapes."""
    cut = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode() for char in cut
    )


def say_needs(needs: Iterable[str]) -> tuple[str, ...]:
    """One line for a person for each need, safe to print."""
    lines = []
    for need in sorted(set(needs)):
        kind, _, what = need.partition(" ")
        lines.append(f"{KINDS[kind]} {printable(what)}" if kind in KINDS else printable(need))
    return tuple(lines)


def needs_hash(needs: Iterable[str]) -> str:
    """The same for the same needs, whatever their order and repeats, and for nothing else."""
    written = json.dumps(["farthing.needs/1", sorted(set(needs))])
    return hashlib.sha256(written.encode()).hexdigest()[:HASH_DIGITS]


def check_granted(
    flow_id: str, needs: Collection[str], grants: Grants, allow: str | None = None, *, bundled: bool = False
) -> None:
    """Passes where there are no needs, the flow is `bundled` with Farthing, they were granted, or `allow`
    is their hash. Raises NotGranted that lists them and says how to allow them."""
    if not needs or bundled:
        return
    wanted = needs_hash(needs)
    if allow is not None and allow.strip().lower() == wanted:
        return
    if grants.has(flow_id, wanted):
        return
    listed = "; ".join(say_needs(needs))
    other = " What --allow was given is something else; the flow may have changed." if allow else ""
    raise NotGranted(
        f"This flow wants to {listed}.{other}",
        remedy=f"If you trust it, run it with --allow {wanted}.",
    )


def grants_path(data: Path) -> Path:
    """The file of grants in the data folder."""
    return data / "grants.toml"


def read_grants(path: Path) -> Grants:
    """What was granted; nothing where there is no file. Raises BadSettings where the file is broken or
    others could write it: a grant that somebody else could have made is none."""
    text = read_text(path, WHAT)
    if text is None:
        return Grants()
    mode = mode_of(path)
    if mode is not None and mode & 0o022:
        raise BadSettings(
            f"Others can write the {WHAT} {path}.", remedy=f"Look at it, then run: chmod 600 {path}"
        )
    raw = parse(text, path, WHAT)
    entries = raw.get("grant", [])
    if set(raw) - {"grant"} or not isinstance(entries, list):
        raise _broken(path)
    return Grants(tuple(_grant(each, path) for each in entries))


def _grant(raw: Any, path: Path) -> Grant:
    fields = ("flow", "hash", "at", "by")
    if not isinstance(raw, dict) or not all(isinstance(raw.get(field), str) for field in fields):
        raise _broken(path)
    needs = raw.get("needs", [])
    if not isinstance(needs, list) or not all(isinstance(need, str) for need in needs):
        raise _broken(path)
    return Grant(raw["flow"], raw["hash"], raw["at"], raw["by"], tuple(needs))


def _broken(path: Path) -> BadSettings:
    return BadSettings(f"The {WHAT} {path} is not one.", remedy="Correct it, or delete it and grant again.")


def add_grant(path: Path, flow_id: str, needs: Collection[str], *, at: datetime, by: str) -> Grant:
    """Write down a grant, in place of an earlier one for the same needs. Raises BadSettings."""
    grant = Grant(flow_id, needs_hash(needs), at.isoformat(timespec="seconds"), by, say_needs(needs))
    with _locked(path):
        kept = [each for each in read_grants(path).entries if each[:2] != grant[:2]]
        write_private(path, _written([*kept, grant]))
    return grant


def revoke_grants(path: Path, flow_id: str) -> int:
    """Take back all grants of a flow; how many there were. Raises BadSettings."""
    with _locked(path):
        entries = read_grants(path).entries
        kept = [each for each in entries if each.flow_id != flow_id]
        if len(kept) != len(entries):
            write_private(path, _written(kept))
    return len(entries) - len(kept)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps two processes from losing each other's grants. Raises BadSettings."""
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=LOCK_WAIT_S):
            yield
    except Timeout:
        raise BadSettings(
            f"Another process has kept {path} locked for {LOCK_WAIT_S} seconds.",
            remedy="End it and try again.",
        ) from None
    except OSError as error:
        raise BadSettings(
            f"{path.parent} cannot be written: {error.strerror}.", remedy="Make that folder writable for you."
        ) from None


def _written(grants: list[Grant]) -> str:
    tables = []
    for grant in grants:
        needs = ", ".join(toml_string(need) for need in grant.needs)
        tables.append(
            f"[[grant]]\nflow = {toml_string(grant.flow_id)}\nhash = {toml_string(grant.needs_hash)}\n"
            f"at = {toml_string(grant.at)}\nby = {toml_string(grant.by)}\nneeds = [{needs}]\n"
        )
    return "\n".join(tables)

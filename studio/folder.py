"""Flows as files in the folder that the user chose: listed, opened, saved without losing anybody's change.

Blocking; called beside the loop. Paths from outside are relative, name a `.json` file, and never lead out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from runtime.errors import BadFlow, BadInput, Conflict, FarthingError, NotFound, StoreError
from runtime.spec import MAX_BYTES, LoadedFlow, load_flow

MOST_ENTRIES = 20_000
"""Files and folders looked at for a list, so that a home folder does not hold it up."""
MOST_FLOWS = 2_000
DEEPEST = 6
SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
MARK = b'"farthing.flow/'
"""A file that says so is a flow, even where it is broken."""
MAX_PATH_CHARS = 500


class Stale(Conflict):
    """The file is not what the writer thinks it is."""

    default_code = "flow.changed_outside"

    def __init__(self, message: str, current_hash: str | None, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.current_hash = current_hash


class FlowFile(NamedTuple):
    """A flow in the list. `error` says why it cannot be opened."""

    path: str
    id: str | None
    name: str
    description: str
    modified: datetime
    hash: str
    error: str | None = None


class Folder:
    """The folder of flows. What a file says is remembered until the file changes."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._known: dict[Path, tuple[int, int, FlowFile | None]] = {}

    def place(self, path: str) -> Path:
        """The file of a relative path. Raises BadInput for one that is none or leads out of the folder."""
        parts = path.split("/")
        odd = (
            not path
            or len(path) > MAX_PATH_CHARS
            or "\\" in path
            or not path.isprintable()
            or any(part in ("", ".", "..") or part.startswith(".") or part.endswith(" ") for part in parts)
            or (os.name == "nt" and ":" in path)
        )
        if odd or not _is_flow_name(parts[-1]):
            raise BadInput(
                f"{path!r} cannot be the path of a flow.",
                code="flow.path",
                remedy="Give a path inside the folder that ends with .json.",
            )
        place = self.root.joinpath(*parts)
        resolved = _resolved(place)
        if resolved is None or not resolved.is_relative_to(self.root):
            raise BadInput(
                f"{path!r} leads out of the folder of flows.",
                code="flow.path",
                remedy="Open the studio in the folder that it is in.",
            )
        return resolved

    def flows(self) -> list[FlowFile]:
        """Every flow in the folder, by path."""
        found: list[FlowFile] = []
        seen: dict[Path, tuple[int, int, FlowFile | None]] = {}
        for place in _walk(self.root):
            try:
                state = place.stat()
            except OSError:
                continue
            known = self._known.get(place)
            if known is None or known[:2] != (state.st_mtime_ns, state.st_size):
                known = (state.st_mtime_ns, state.st_size, self._read(place, state.st_mtime))
            seen[place] = known
            if known[2] is not None:
                found.append(known[2])
            if len(found) >= MOST_FLOWS:
                break
        self._known = seen
        return sorted(found, key=lambda flow: flow.path)

    def open(self, path: str) -> LoadedFlow:
        """A flow as it is on disk. Raises NotFound, BadInput or BadFlow."""
        return load_flow(self.read(path), name=path)

    def read(self, path: str) -> bytes:
        """A flow's bytes. Raises NotFound or BadInput."""
        place = self.place(path)
        try:
            with place.open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(
                f"There is no flow {path!r}.", remedy="It may have been moved or deleted."
            ) from None
        except OSError as error:
            raise BadInput(
                f"{path!r} cannot be read: {error.strerror}.",
                remedy="Make it a file that the server can read.",
            ) from None

    def hash(self, path: str) -> str:
        """SHA-256 of a flow's bytes. Raises NotFound or BadInput."""
        return sha256(self.read(path)).hexdigest()

    def save(self, path: str, raw: bytes, base_hash: str | None) -> str:
        """Write a flow, whole or not at all; the new hash. `base_hash` is what the file was when it was
        opened, null where it must not exist. Raises Stale, and StoreError where it cannot be written."""
        place = self.place(path)
        self._require(path, base_hash)
        temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            _write(temporary, raw, place)
            if base_hash is None:
                _put_new(temporary, place, path)
            else:
                self._require(path, base_hash)  # once more, directly before it counts
                temporary.replace(place)
            _sync_folder(place.parent)
        except OSError as error:
            raise StoreError(
                f"{path!r} cannot be written: {error.strerror}.",
                code="flow.not_written",
                remedy="Make the folder writable, or save it elsewhere.",
            ) from None
        finally:
            temporary.unlink(missing_ok=True)
        return sha256(raw).hexdigest()

    def delete(self, path: str, base_hash: str) -> None:
        """Delete a flow that still is what the caller saw. Raises NotFound or Stale."""
        place = self.place(path)
        if self._current(path) is None:
            raise NotFound(f"There is no flow {path!r}.", remedy="It may have been deleted already.")
        self._require(path, base_hash)
        place.unlink(missing_ok=True)

    def ids(self, but: str | None = None) -> set[str]:
        """The ids of the folder's flows, one file's excepted."""
        return {flow.id for flow in self.flows() if flow.id is not None and flow.path != but}

    def _require(self, path: str, base_hash: str | None) -> None:
        current = self._current(path)
        if current == base_hash:
            return
        if base_hash is None:
            raise Stale(
                f"There is a flow {path!r} already.", current, "Choose another name, or open that one."
            )
        what = "was deleted" if current is None else "was changed"
        raise Stale(
            f"{path!r} {what} outside the studio since it was opened.",
            current,
            "Look at both, then save again over it or under another name.",
        )

    def _current(self, path: str) -> str | None:
        try:
            return self.hash(path)
        except NotFound:
            return None

    def _read(self, place: Path, modified: float) -> FlowFile | None:
        """What a file says of itself; None for JSON that is no flow."""
        path, at = place.relative_to(self.root).as_posix(), datetime.fromtimestamp(modified, UTC)
        try:
            raw = self.read(path)
        except FarthingError:
            return None
        if MARK not in raw:
            return None
        digest = sha256(raw).hexdigest()
        try:
            spec = load_flow(raw, name=path).spec
        except BadFlow as error:
            return FlowFile(path, None, place.stem, "", at, digest, error.message)
        return FlowFile(path, spec.id, spec.name, spec.description, at, digest)


def _is_flow_name(name: str) -> bool:
    return name.endswith(".json") and not name.endswith(".script.json") and len(name) > len(".json")


def _walk(root: Path) -> Iterator[Path]:
    """Files that may be flows, not following links to folders, within bounds."""
    looked = 0
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        deep = len(here.relative_to(root).parts) >= DEEPEST
        folders[:] = [] if deep else sorted(f for f in folders if not f.startswith(".") and f not in SKIPPED)
        looked += len(folders) + len(files)
        for name in sorted(files):
            place = here / name
            if _is_flow_name(name) and not name.startswith(".") and _inside(place, root):
                yield place
        if looked > MOST_ENTRIES:
            return


def _inside(place: Path, root: Path) -> bool:
    if not place.is_symlink():
        return True
    resolved = _resolved(place)
    return resolved is not None and resolved.is_relative_to(root)


def _resolved(place: Path) -> Path | None:
    """Where a path leads; null where its links go in a circle."""
    try:
        return place.resolve()
    except (OSError, RuntimeError):
        return None


def _write(temporary: Path, raw: bytes, place: Path) -> None:
    """The new file beside the old one, with the old one's rights, safely on disk."""
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as file:
        if place.exists():
            temporary.chmod(place.stat().st_mode & 0o777)
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def _put_new(temporary: Path, place: Path, path: str) -> None:
    """Give the new file its name, unless something took it meanwhile."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise Stale(
            f"There is a flow {path!r} already.", None, "Choose another name, or open that one."
        ) from None
    except OSError:  # a file system without hard links
        temporary.replace(place)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

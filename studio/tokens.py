"""Tokens of programs: `tokens.toml` in the data folder, private, with a hash of each and never the token."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

from runtime.clock import Clock
from runtime.errors import BadInput, BadSettings, NotFound
from runtime.names import check_names
from runtime.settings.files import mode_of, parse, read_text, toml_string, write_private
from studio.roles import Credential, RoleName

log = logging.getLogger("farthing.studio")
WHAT = "file of tokens"
PREFIX = "farthing_"
"""Every token begins so, so that people and scanners see what it is."""


class Token(NamedTuple):
    """A token as kept. `hash` is SHA-256 in hex; `expires` null: never. Times are UTC."""

    id: str
    user: str
    role: RoleName
    hash: str
    created: datetime
    expires: datetime | None = None

    def expired(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now


class Tokens:
    """The tokens of one data folder, read again when the file changes."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path, self._clock = path, clock
        self._seen: tuple[int, int, int] | None = None
        self._all: tuple[Token, ...] = ()

    def all(self) -> tuple[Token, ...]:
        """Every token, oldest first. Raises BadSettings where the file is broken or others may write it."""
        seen = _stamp(self.path)
        if seen != self._seen:
            self._all, self._seen = _read(self.path), seen
        return self._all

    def who(self, given: str) -> Credential | None:
        """Whose token this is; None for one that is unknown, revoked or expired, and for all of them where
        the file cannot be used, which the log says."""
        wanted, found = hash_of(given), None
        try:
            known = self.all()
        except BadSettings as error:
            log.error("%s", error)
            return None
        for token in known:  # all of them are compared, so that time tells nothing
            if hmac.compare_digest(token.hash, wanted):
                found = token
        if found is None or found.expired(self._clock.now()):
            return None
        return Credential(found.user, found.role)

    def create(self, user: str, role: RoleName, expires: datetime | None) -> tuple[Token, str]:
        """A new token and its text, which is shown this once. Raises BadInput or BadSettings."""
        check_names(user=user)
        now = self._clock.now()
        if expires is not None and expires <= now:
            raise BadInput("The token would have expired already.", remedy="Give a time to come.")
        text = PREFIX + secrets.token_urlsafe(32)
        with _locked(self.path):
            token = Token(_new_id(self.all()), user, role, hash_of(text), now, expires)
            self._write([*self.all(), token])
        return token, text

    def revoke(self, token_id: str) -> Token:
        """Take a token back; it stops working at once, in running servers too. Raises NotFound."""
        with _locked(self.path):
            found = next((token for token in self.all() if token.id == token_id), None)
            if found is None:
                raise NotFound(f"There is no token {token_id!r}.", remedy="`farthing token list` lists them.")
            self._write([token for token in self.all() if token is not found])
        return found

    def _write(self, tokens: list[Token]) -> None:
        write_private(self.path, "\n".join(map(_table, tokens)))
        self._all, self._seen = tuple(tokens), _stamp(self.path)


def tokens_path(data: Path) -> Path:
    """The file of tokens in the data folder."""
    return data / "tokens.toml"


def hash_of(text: str) -> str:
    """SHA-256 in hex. A token has 256 bits of chance, so that no slower hash is needed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _new_id(known: tuple[Token, ...]) -> str:
    taken = {token.id for token in known}
    return next(name for name in iter(lambda: secrets.token_hex(4), "") if name not in taken)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: Path) -> tuple[Token, ...]:
    text = read_text(path, WHAT)
    if text is None:
        return ()
    mode = mode_of(path)
    if mode is not None and mode & 0o022:
        raise BadSettings(
            f"Others can write the {WHAT} {path}.", remedy=f"Look at it, then run: chmod 600 {path}"
        )
    raw = parse(text, path, WHAT).get("token", [])
    try:
        return tuple(_token(each) for each in raw)
    except (KeyError, TypeError, ValueError):
        raise BadSettings(
            f"The {WHAT} {path} is not one.", remedy="Delete it and create the tokens again."
        ) from None


def _token(raw: dict[str, Any]) -> Token:
    if raw["role"] not in get_args(RoleName):
        raise ValueError(raw["role"])
    expires = raw.get("expires")
    return Token(
        raw["id"],
        raw["user"],
        raw["role"],
        raw["hash"],
        datetime.fromisoformat(raw["created"]),
        None if expires is None else datetime.fromisoformat(expires),
    )


def _table(token: Token) -> str:
    lines = [
        "[[token]]",
        f"id = {toml_string(token.id)}",
        f"user = {toml_string(token.user)}",
        f"role = {toml_string(token.role)}",
        f"hash = {toml_string(token.hash)}",
        f"created = {toml_string(token.created.isoformat())}",
    ]
    if token.expires is not None:
        lines.append(f"expires = {toml_string(token.expires.isoformat())}")
    return "\n".join(lines) + "\n"


def _locked(path: Path) -> Any:
    """Keeps two processes from losing each other's tokens."""
    from filelock import FileLock

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadSettings(
            f"{path.parent} cannot be made: {error.strerror or os.strerror(error.errno or 0)}.",
            remedy="Make that folder writable for you.",
        ) from None
    return FileLock(f"{path}.lock", timeout=10, mode=0o600)

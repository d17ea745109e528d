"""The one form of every error: `{"error": {"code", "message", "node_id", "hint", "problems"?}}`."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from runtime.errors import (
    BadFlow,
    BadSettings,
    BudgetStop,
    Conflict,
    FarthingError,
    InputError,
    NotFound,
    NotGranted,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
)

log = logging.getLogger("farthing.studio")
STATUS: tuple[tuple[type[FarthingError], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (BadFlow, 422),
    (BadSettings, 422),
    (NotGranted, 422),
    (InputError, 400),
    (BudgetStop, 429),
    (StoreBusy, 503),
    (StoreReadOnly, 503),
    (StoreFull, 503),
    (StoreError, 500),
)
"""The first class that fits says the status; all else is 500."""
WORDS = {
    400: "The request cannot be understood.",
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    413: "The request is too large.",
    422: "The request cannot be carried out.",
}


class Refused(FarthingError):
    """A request that is turned down with a status of its own. `more` joins the error's body."""

    def __init__(self, status: int, code: str, message: str, remedy: str | None = None, **more: Any) -> None:
        super().__init__(message, code=code, remedy=remedy)
        self.status, self.more = status, more


class ErrorOut(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong: `code` is stable, `message` is for a person, `hint` says what to do."""

    code: str
    message: str
    node_id: str | None = None
    hint: str | None = None
    problems: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: ErrorOut


def json_response(value: Any, status: int = 200) -> Response:
    """JSON that no browser takes for anything else."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def refuse(status: int, code: str, message: str, hint: str | None = None, **more: Any) -> Response:
    """An error as an answer."""
    body: dict[str, Any] = {"code": code, "message": message, "node_id": None, "hint": hint, **more}
    return json_response({"error": body}, status)


def status_of(error: FarthingError) -> int:
    """The HTTP status of one of our errors."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def told(error: FarthingError) -> Response:
    """One of our errors as an answer."""
    more: dict[str, Any] = {"node_id": error.node_id}
    if isinstance(error, BadFlow):
        more["problems"] = [msgspec.structs.asdict(problem) for problem in error.problems]
    if isinstance(error, Refused):
        more |= error.more
    return refuse(status_of(error), error.code, error.message, error.remedy, **more)


async def on_http(_request: Request, error: Exception) -> Response:
    """Errors of the framework in our form."""
    assert isinstance(error, HTTPException)
    message = WORDS.get(error.status_code, error.detail)
    answer = refuse(error.status_code, f"http.{error.status_code}", message)
    answer.headers.update(error.headers or {})
    return answer


async def on_ours(_request: Request, error: Exception) -> Response:
    """Errors of ours, wherever they were raised."""
    assert isinstance(error, FarthingError)
    if status_of(error) >= 500:
        log.error("%s: %s", error.code, error)
    return told(error)


async def on_bug(request: Request, error: Exception) -> Response:
    """A fault of our own: the log has it whole from the server, the answer gives nothing away."""
    log.error("%s %s failed: %s", request.method, request.url.path, type(error).__name__)
    return refuse(500, "internal", "The server itself failed.", "Its log has the details; please report it.")

"""Every error that Farthing raises, one tree:

FarthingError
├── InputError (exit 2)      BadFlow, BadInput, BadConfig, BadSettings, NotFound, NotGranted, Conflict
├── BudgetStop (exit 3)      BudgetExceeded, BudgetWaitTimeout, CostUnknown
├── ModelFailure (exit 1)    one class, its `kind` says which
├── ToolFailure (exit 1)
├── RunFailure (exit 1)      BoundReached, ContextTooLarge, TemplateFailure, NodeFailed
└── StoreError (exit 1)      StoreBusy, StoreReadOnly, StoreFull, StoreCorrupt, StoreNewer, Fenced
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec


class FarthingError(Exception):
    """Something went wrong.

    `code` is stable and dotted (`budget.exceeded`); `message` is one sentence for a person; `remedy` says
    what to do; `node_id` and `run_id` say where, when that is known.
    """

    default_code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        remedy: str | None = None,
        node_id: str | None = None,
        run_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.remedy = remedy
        self.node_id = node_id
        self.run_id = run_id

    def __str__(self) -> str:
        where = f" (node {self.node_id!r})" if self.node_id else ""
        return f"{self.message}{where}" + (f" {self.remedy}" if self.remedy else "")


class InputError(FarthingError):
    """What was given cannot be used."""

    default_code = "input.bad"
    exit_code = 2


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong with a flow: `path` is a JSON path, `level` is `error` or `warning`."""

    code: str
    message: str
    remedy: str
    node_id: str | None = None
    path: str = "$"
    level: str = "error"


SHOWN_NAME = 100
"""Characters of a flow's name that an error repeats: one that is too long is among what it may be about."""


class BadFlow(InputError):
    """The flow document cannot be run; `problems` has every reason at once."""

    default_code = "flow.invalid"

    def __init__(self, problems: Sequence[Problem], *, name: str | None = None) -> None:
        self.problems = tuple(problems)
        subject = f"The flow {name[:SHOWN_NAME]!r}" if name else "The flow"
        first = self.problems[0]
        more = f" and {len(self.problems) - 1} more" if len(self.problems) > 1 else ""
        super().__init__(
            f"{subject} cannot be used: {first.message}{more}.", remedy=first.remedy, node_id=first.node_id
        )


class BadInput(InputError):
    """The input of a run or a command does not have the shape that is asked for."""

    default_code = "input.invalid"


class BadConfig(InputError):
    """A value of a configuration is outside what is allowed."""

    default_code = "config.invalid"


class BadSettings(InputError):
    """A settings file cannot be used."""

    default_code = "settings.invalid"


class NotFound(InputError):
    """What was named is not there."""

    default_code = "not_found"


class NotGranted(InputError):
    """The flow needs something that its user has not allowed yet."""

    default_code = "flow.not_granted"


class Conflict(InputError):
    """Something else changed it first."""

    default_code = "conflict"


class BudgetStop(FarthingError):
    """A limit stands in the way of the next call."""

    default_code = "budget.stop"
    exit_code = 3


class BudgetExceeded(BudgetStop):
    """Recorded usage has reached a limit; no call was made."""

    default_code = "budget.exceeded"


class BudgetWaitTimeout(BudgetStop):
    """Other calls held the rest of the budget for longer than `wait_s`."""

    default_code = "budget.wait_timeout"


class CostUnknown(BudgetStop):
    """The model has no price and reports no cost, and the budget blocks unknown cost."""

    default_code = "budget.cost_unknown"


class ModelFailure(FarthingError):
    """A model call failed.

    `kind`: auth, quota, rate_limited, model_not_found, context_overflow, provider_down, timeout,
    unreachable, connection_lost, stream_broken, content_filter, refusal, empty, bad_request, bad_response.
    `retryable`: surely not billed and worth another try. `maybe_billed`: the provider may have charged.
    `retry_after`: seconds that the provider asked to wait. `partial`: the Reply as far as it came, its
    usage and cost above all; null where nothing did.
    """

    default_code = "model.failed"

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool = False,
        maybe_billed: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        partial: Any = None,
        remedy: str | None = None,
        node_id: str | None = None,
        run_id: str | None = None,
    ) -> None:
        super().__init__(message, code=f"model.{kind}", remedy=remedy, node_id=node_id, run_id=run_id)
        self.kind = kind
        self.retryable = retryable
        self.maybe_billed = maybe_billed
        self.retry_after = retry_after
        self.status = status
        self.partial = partial


class ToolFailure(FarthingError):
    """A tool could not give a result; the model is told so."""

    default_code = "tool.failed"


class RunFailure(FarthingError):
    """A run could not be finished."""

    default_code = "run.failed"


class BoundReached(RunFailure):
    """A bound of steps, visits or depth was reached; the code names it."""

    default_code = "run.bound"


class ContextTooLarge(RunFailure):
    """What must be sent does not fit into the model's window."""

    default_code = "context.too_large"


class TemplateFailure(RunFailure):
    """A template or a condition could not be evaluated."""

    default_code = "template.failed"


class NodeFailed(RunFailure):
    """A node raised an error of its own."""

    default_code = "node.failed"


class StoreError(FarthingError):
    """The database cannot be used."""

    default_code = "store.failed"


class StoreBusy(StoreError):
    """Another process held the database for too long."""

    default_code = "store.busy"


class StoreReadOnly(StoreError):
    """The database cannot be written."""

    default_code = "store.read_only"


class StoreFull(StoreError):
    """The disk is full."""

    default_code = "store.full"


class StoreCorrupt(StoreError):
    """The file is not a sound Farthing database."""

    default_code = "store.corrupt"


class StoreNewer(StoreError):
    """The database was written by a newer Farthing."""

    default_code = "store.newer"


class Fenced(StoreError):
    """The run is no longer this process's: another one took it over or it has ended."""

    default_code = "run.fenced"

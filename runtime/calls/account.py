"""On whose behalf a call is made, how it is asked for, and what comes back."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from runtime.journal import Journal
from runtime.ledger import Rule
from runtime.messages import LanguageModel, OnDelta, Purpose, Reply, Request
from runtime.models.prices import Priced
from runtime.providers import ModelName, Provider
from runtime.usage import Usage


class Whose(msgspec.Struct, frozen=True):
    """For whom calls are made: what a command needs to find the counters they are on."""

    user_id: str | None
    flow_id: str
    session_uid: str
    rehearsal: bool


class Account(msgspec.Struct, frozen=True, dict=True):
    """On whose behalf and under which budgets calls are made. `path` names the node and its visit."""

    journal: Journal
    run_id: str
    node_id: str
    path: str
    rules: tuple[Rule, ...]
    provider: Provider
    model: ModelName
    client: LanguageModel
    whose: Whose
    wait_s: float | None = None

    @cached_property
    def full_name(self) -> str:
        """`provider:model`."""
        return str(self.model)

    @property
    def free(self) -> bool:
        """Calls are known to cost nothing: a local provider, and no price of the user's own for the model."""
        return self.provider.free and self.model.name not in self.provider.prices


class Asked(msgspec.Struct, frozen=True):
    """One call as its caller wants it. `index` counts the calls of a step. `kept` and `news` describe the
    messages for the timeline: how many were sent before, and those that are new."""

    request: Request
    purpose: Purpose = "main"
    step: int | None = None
    index: int = 0
    on_delta: OnDelta | None = None
    retry_maybe_billed: bool = False
    kept: int = 0
    news: tuple[Any, ...] = ()
    warn: bool = True
    carries: str | None = None
    keep_hold: bool = False
    hold_for: int = 1


class Answered(msgspec.Struct, frozen=True):
    """A reply with what it used; `key` names the call in the journal."""

    reply: Reply
    usage: Usage
    cost: int | None
    key: str


class Stored(msgspec.Struct, frozen=True):
    """A finished call as the journal keeps it."""

    reply: Reply
    usage: Usage
    cost: int | None


def call_key(account: Account, asked: Asked) -> str:
    return f"{account.path}/{asked.step or 0}/{asked.index}"


class Spent(msgspec.Struct, frozen=True):
    """What one attempt used, for the ledger."""

    usage: Usage
    priced: Priced
    estimated: bool

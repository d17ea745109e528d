"""Whose facts are cared for: one's own, or for an operator another user's."""

from __future__ import annotations

import msgspec

from runtime.errors import BadInput
from studio.api.facts import MAX_NAME_CHARS
from studio.api.route import Call, forbidden
from studio.api.shapes import partition_of
from studio.consolidations import Whose


class WhoseIn(msgspec.Struct, frozen=True, kw_only=True):
    """Whose facts, in a query or a body; null: one's own."""

    user: str | None = None
    rehearsal: bool = False


def whose_of(call: Call, asked: WhoseIn) -> Whose:
    """The user that is meant. Raises BadInput, or 403 for another's."""
    user = call.who.user if asked.user is None else asked.user
    if not user or len(user) > MAX_NAME_CHARS:
        raise BadInput(f"A user's id has 1 to {MAX_NAME_CHARS} characters.", remedy="Give another `user`.")
    if call.request.method != "GET" and not call.who.sees(user):
        raise forbidden("Only an operator takes care of others' facts.")
    return Whose(partition_of(asked.rehearsal), user if call.who.sees(user) else call.who.user)

"""Who may do what: roles in order of power, and the credential that a request came with."""

from __future__ import annotations

from typing import Literal, NamedTuple

RoleName = Literal["viewer", "runner", "editor", "operator"]
ROLES: tuple[RoleName, ...] = ("viewer", "runner", "editor", "operator")
"""From the least to the most. A viewer reads what is its user's own; a runner also runs saved flows and
changes its user's facts; an editor also writes flows and runs unsaved ones; an operator also acts for
others and sees theirs, changes limits, grants needs and sets keys."""


class Credential(NamedTuple):
    """The acting user and what they may do: from a cookie or a token, never from a request's body."""

    user: str
    role: RoleName

    def may(self, role: RoleName) -> bool:
        """Whether this credential has at least that role."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def operator(self) -> bool:
        return self.role == "operator"

    def sees(self, user_id: str | None) -> bool:
        """Whether what belongs to that user may be shown; what belongs to nobody is for operators."""
        return self.operator or (user_id is not None and user_id == self.user)

    def scope(self, wanted: str | None) -> str | None:
        """The user to filter by: an operator's wish (null: all), everybody else's own."""
        return wanted if self.operator else self.user

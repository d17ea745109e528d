"""What people call users, sessions and the like: bounded where a name first comes in, so that every place
which lists, counts or shows it can do so. What a database already has stays as it is, and readable."""

from __future__ import annotations

from runtime.errors import BadInput

LONGEST_NAME = 256
"""Characters of a name; the longest e-mail address has 254."""
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""What no name has, by category of Unicode: control characters, halves of pairs, ends of lines."""


def fault_in(name: str) -> str | None:
    """What keeps a text from being a name, as the end of a sentence; null where nothing does."""
    if not name.strip():
        return "is empty"
    if len(name) > LONGEST_NAME:
        return f"has {len(name):,} characters, more than {LONGEST_NAME}"
    if name.isprintable():
        return None
    import unicodedata  # hardly a name has something unprintable

    for place, char in enumerate(name, 1):
        if unicodedata.category(char) in _UNSEEN:
            return f"has a control character, U+{ord(char):04X}, as character {place}"
    return None


def check_name(name: str, what: str, remedy: str) -> None:
    """Raises BadInput where a text cannot be a name. `what` begins the sentence: `The user's id`."""
    fault = fault_in(name)
    if fault is not None:
        raise BadInput(f"{what} {fault}.", remedy=remedy)


def check_names(user: str | None = None, session: str | None = None) -> None:
    """Raises BadInput where the id of a user or the name of a session cannot be one; null: none is given."""
    if user is not None:
        check_name(user, "The user's id", "Give another user.")
    if session is not None:
        check_name(session, "The session's name", "Give another name.")

"""Help texts of fields: the text below a field in its class becomes its description in JSON Schema.

That reads and parses the source, so it is done when a schema is asked for and not when a class is made.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any


def helps(shape: type[Any]) -> dict[str, str]:
    """Help by attribute name, of this class and those it stands on."""
    found: dict[str, str] = {}
    for owner in reversed(shape.__mro__):
        found |= _texts(owner)
    return found


@cache
def _texts(cls: type[Any]) -> dict[str, str]:
    """The text below each annotated field in the body of a class; none where the source is not there."""
    if cls.__module__.partition(".")[0] in ("builtins", "pydantic", "msgspec", "typing"):
        return {}
    import ast
    import inspect
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found: dict[str, str] = {}
    for field, below in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            found[field.target.id] = inspect.cleandoc(below.value.value).replace("\n", " ")
    return found

"""Help texts of config fields: the text below a field in its class becomes its description in JSON Schema.

Pydantic can do this when a class is made, which reads and parses the source at every start; here it is done
when a schema is asked for.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any


def add_help(schema: dict[str, Any], cls: type[Any]) -> None:
    """Put each field's help into the schema of a model; use it as pydantic's `json_schema_extra`."""
    properties = schema.get("properties", {})
    fields = getattr(cls, "model_fields", {})
    for owner in reversed(cls.__mro__):
        for name, text in _texts(owner).items():
            shown = properties.get(name)
            if shown is None and name in fields:
                shown = properties.get(fields[name].alias or name)
            if isinstance(shown, dict):
                shown["description"] = text


@cache
def _texts(cls: type[Any]) -> dict[str, str]:
    """The text below each annotated field in the body of a class; none where the source is not there."""
    if cls.__module__.partition(".")[0] in ("builtins", "pydantic", "typing"):
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

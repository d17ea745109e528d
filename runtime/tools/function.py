"""A Python function as a tool: its name and words for the model, and the bounds within which it is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from runtime.clock import Clock
from runtime.errors import BadSettings
from runtime.messages import ToolSpec
from runtime.record import Effect
from runtime.tools.docstring import first_paragraph

if TYPE_CHECKING:
    from runtime.tools.signature import Signature

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names that every provider takes."""
RESERVED = frozenset({"answer", "memory_read", "memory_write", "memory_forget", "plan_update"})
"""Names that an agent's own actions have."""
TIMEOUT_S = 30.0
"""Longest time of a call where nothing else is said, in seconds."""
MAX_RESULT_TOKENS = 4_000
"""Longest result where nothing else is said, in tokens: a few pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a function is told of its call, in a parameter of this type; the model does not see that one.

    `clock` is the run's. `key` is the same whenever this very call is repeated: hand it on as an idempotency
    key. `folder` is the folder that the tool node allows, its links resolved.
    """

    clock: Clock
    run_id: str
    node_id: str
    step: int | None
    key: str
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function that may be a tool; calling it calls the function.

    `effect`: `none` changes nothing, `idempotent` may be repeated with the same arguments, `once` may not.
    `timeout_s` in seconds; `max_result_tokens` by our own count. `folder`: it needs an allowed folder.
    `source` says where it came from: a file, a package, or empty for one of Farthing's own.
    """

    function: Callable[..., Any]
    name: str
    description: str = ""
    effect: Effect = "once"
    timeout_s: float = TIMEOUT_S
    max_result_tokens: int = MAX_RESULT_TOKENS
    folder: bool = False
    source: str = field(default="", compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @cached_property
    def signature(self) -> Signature:
        """Its arguments. Raises BadSettings where the function cannot be a tool."""
        from runtime.tools.signature import read_signature

        return read_signature(self.function, self.name, ToolContext)

    @cached_property
    def spec(self) -> ToolSpec:
        """What the model is offered. Raises BadSettings where the function cannot be a tool."""
        return ToolSpec(self.name, self.description, self.signature.parameters)

    def bind(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        """The function's keyword arguments. Raises InputError that says in words what is wrong with them."""
        found = self.signature.read(arguments)
        if self.signature.context is not None:
            found[self.signature.context] = context
        return found


F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: Callable[..., Any], /) -> Function: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effect: Effect = "once",
    timeout_s: float = TIMEOUT_S,
    max_result_tokens: int = MAX_RESULT_TOKENS,
    folder: bool = False,
) -> Callable[[Callable[..., Any]], Function]: ...
def tool(function: Callable[..., Any] | None = None, /, **how: Any) -> Any:
    """Make a function a tool, as `@tool` or `@tool(effect="none", timeout_s=5)`.

    Its name and the first paragraph of its docstring are told to the model, its annotations become the JSON
    Schema of the arguments, and what the docstring says of each argument its description. It may be `async`;
    a plain one runs in a thread of its own, so it must not touch what others use without a lock, and a thread
    cannot be killed: after `timeout_s` nobody waits for it any more, but it goes on. Its result is any value
    that JSON can hold; NaN and infinities become texts. What it prints goes to standard error.
    Raises BadSettings for a name that no model could call.
    """
    if function is None:
        return lambda it: make(it, **how)
    return make(function, **how)


def make(function: Callable[..., Any], *, name: str | None = None, **how: Any) -> Function:
    """The tool that a function is. Raises BadSettings for a name or bounds that cannot be."""
    if isinstance(function, Function):
        raise BadSettings(
            f"{function.name} is a tool already.", code="tool.bad_function", remedy="Keep one @tool."
        )
    name = name or str(getattr(function, "__name__", ""))
    if not NAME.fullmatch(name) or name in RESERVED:
        why = "is the name of something else" if name in RESERVED else "is no name that a model could call"
        raise BadSettings(
            f"{name!r} {why}.",
            code="tool.bad_name",
            remedy='Name it with letters, digits and `_`: @tool(name="…").',
        )
    description = how.pop("description", None)
    made = Function(
        function=function,
        name=name,
        description=first_paragraph(function.__doc__) if description is None else description,
        **how,
    )
    if made.effect not in ("none", "idempotent", "once") or made.timeout_s <= 0 or made.max_result_tokens < 1:
        raise BadSettings(
            f"The bounds of the tool {name} cannot be.",
            code="tool.bad_bounds",
            remedy="`effect` is none, idempotent or once; `timeout_s` and `max_result_tokens` are positive.",
        )
    return made

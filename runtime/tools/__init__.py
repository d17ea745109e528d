"""Tools that agents may call: Python functions, made so by `tool`, and a few that come with Farthing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.tools.function import Function, ToolContext, tool

__all__ = ["Function", "ToolContext", "tool"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for: a run of a flow without tools needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from runtime.tools import function

    return getattr(function, name)

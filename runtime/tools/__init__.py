"""Tools that agents may call: Python functions, made so by `tool`, and a few that come with Farthing."""

from runtime.tools.function import Function, ToolContext, tool

__all__ = ["Function", "ToolContext", "tool"]

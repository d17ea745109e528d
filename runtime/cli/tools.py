"""List the functions that flows may name as tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from runtime.cli import options
from runtime.cli.opening import read_settings
from runtime.cli.plain import visible
from runtime.cli.streams import result_json, say, write
from runtime.cli.table import Column, show
from runtime.errors import FarthingError, NotFound

if TYPE_CHECKING:
    from runtime.tools.function import Function
    from runtime.tools.registry import ToolRegistry


@click.command(
    epilog=options.examples(
        "farthing tools", "farthing tools calculator", "farthing tools --tools my_tools.py --json"
    )
)
@click.argument("name", required=False)
@options.tools
@options.as_json
def command(name: str | None, tool_files: tuple[Path, ...], as_json: bool) -> None:
    """List the functions that a tool node may name; of NAME, what a model is told of it.

    They come with Farthing, with packages that are installed, from files in your settings and from --tools.
    """
    from runtime.tools.registry import installed_tools

    settings = read_settings(None)
    registry = installed_tools((*settings.tool_files, *tool_files))
    if name is not None:
        _one(_found(registry, name), as_json=as_json)
        return
    found, broken = _all(registry)
    if as_json:
        result_json([_json(each) for each in found])
    else:
        columns = (
            Column("tool", style="bold"),
            Column("effect"),
            Column("from", flexible=True),
            Column("what it does", flexible=True),
        )
        show(columns, [(f.name, f.effect, f.source or "Farthing", _first(f)) for f in found])
    for message in broken:
        say(message, "yellow")


def _all(registry: ToolRegistry) -> tuple[list[Function], list[str]]:
    """The tools, and what is wrong with those that cannot be used."""
    found, broken = [], []
    for name in registry.names():
        try:
            tool = registry.get(name)
            if tool is not None:
                _ = tool.spec
                found.append(tool)
        except FarthingError as error:
            broken.append(visible(f"{error.message} {error.remedy or ''}".strip()))
    return found, broken


def _found(registry: ToolRegistry, name: str) -> Function:
    tool = registry.get(name)
    if tool is None:
        raise NotFound(f"There is no tool {name!r}.", remedy=registry.nearest(name))
    return tool


def _json(tool: Function) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.spec.description,
        "parameters": tool.spec.parameters,
        "effect": tool.effect,
        "timeout_s": tool.timeout_s,
        "max_result_tokens": tool.max_result_tokens,
        "needs_folder": tool.folder,
        "source": tool.source or None,
    }


def _one(tool: Function, *, as_json: bool) -> None:
    if as_json:
        result_json(_json(tool))
        return
    folder = "; needs a folder that it may read" if tool.folder else ""
    write(f"{tool.name}, from {visible(tool.source or 'Farthing')}")
    write(f"effect {tool.effect}, at most {tool.timeout_s:g} s and {tool.max_result_tokens:,} tokens{folder}")
    for line in visible(tool.spec.description).splitlines():
        write(f"  {line}")
    write("")
    wanted = tool.spec.parameters.get("required", ())
    rows = [
        (name, _kind(about), "yes" if name in wanted else "", str(about.get("description", "")))
        for name, about in tool.spec.parameters.get("properties", {}).items()
    ]
    columns = (
        Column("argument", style="bold"),
        Column("kind"),
        Column("needed"),
        Column("what it is", flexible=True),
    )
    show(columns, rows)


def _kind(about: dict[str, Any]) -> str:
    if "enum" in about:
        return " | ".join(map(str, about["enum"]))
    return str(about.get("type") or " | ".join(_kind(each) for each in about.get("anyOf", ())) or "anything")


def _first(tool: Function) -> str:
    return tool.spec.description.partition("\n")[0]

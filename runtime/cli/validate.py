"""Check flows and say everything that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from runtime.cli import options
from runtime.cli.failure import USAGE, problem_lines
from runtime.cli.files import read_flow
from runtime.cli.opening import read_settings, with_tools
from runtime.cli.plain import one_line
from runtime.cli.streams import coloured, paint, result_json, write
from runtime.errors import BadFlow, FarthingError, Problem

if TYPE_CHECKING:
    from runtime.tools.registry import ToolRegistry


class Checked(NamedTuple):
    """What was found about one flow."""

    given: str
    flow_id: str | None
    name: str | None
    hash: str | None
    needs: tuple[str, ...]
    needs_hash: str | None
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> int:
        return sum(problem.level == "error" for problem in self.problems)


@click.command(
    epilog=options.examples(
        "farthing validate flow.json",
        "farthing validate flows/*.json --json",
        "farthing validate example:support",
    )
)
@click.argument("flows", nargs=-1, required=True, metavar="FLOW...")
@options.tools
@options.as_json
@click.pass_context
def command(ctx: click.Context, flows: tuple[str, ...], tool_files: tuple[Path, ...], as_json: bool) -> None:
    """Check each FLOW whole, without running anything.

    Every problem is told with its node, its place in the file and what to do. What a flow needs beyond
    the usual is listed with the hash that `run --allow` takes. Exit code 2 if any flow has an error.
    """
    checked = [check(given, tool_files) for given in flows]
    if as_json:
        result_json({"format": "farthing.validate/1", "flows": [_json(each) for each in checked]})
    else:
        for each in checked:
            for line in _lines(each):
                write(line)
    ctx.exit(USAGE if any(each.errors for each in checked) else 0)


def check(given: str, tool_files: tuple[Path, ...] = ()) -> Checked:
    """Everything that is wrong with one flow, given these tools beside the installed ones and those of the
    settings; what it needs."""
    from runtime.plan import read_plan
    from runtime.registry import installed
    from runtime.trust import needs_hash, say_needs

    try:
        file = read_flow(given)
        folder = file.path.resolve().parent
        plan = read_plan(file.raw, installed(), lambda: _tools(tool_files), folder, name=given)
    except BadFlow as error:
        return Checked(given, None, None, None, (), None, error.problems)
    except FarthingError as error:
        problem = Problem(error.code, error.message, error.remedy or "")
        return Checked(given, None, None, None, (), None, (problem,))
    allow = needs_hash(plan.needs) if plan.needs else None
    return Checked(given, plan.flow_id, plan.name, plan.hash, say_needs(plan.needs), allow, plan.warnings)


def _tools(files: tuple[Path, ...]) -> ToolRegistry:
    """The tools that a flow can name when it is run; asked for only where one does."""
    from runtime.tools.registry import installed_tools

    return installed_tools(with_tools(read_settings(None), files).tool_files)


def _json(checked: Checked) -> dict[str, Any]:
    return {
        "flow": checked.given,
        "ok": not checked.errors,
        "id": checked.flow_id,
        "name": checked.name,
        "hash": checked.hash,
        "needs": checked.needs,
        "allow": checked.needs_hash,
        "problems": [msgspec.structs.asdict(problem) for problem in checked.problems],
    }


def _lines(checked: Checked) -> list[str]:
    on = coloured(sys.stdout)
    errors, warnings = checked.errors, len(checked.problems) - checked.errors
    counts = [
        f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((errors, "error"), (warnings, "warning")) if n
    ]
    verdict = paint("cannot run", "red", on=on) if errors else paint("sound", "green", on=on)
    name = f" ({one_line(checked.name)})" if checked.name else ""
    lines = [f"{one_line(checked.given)}{name}: {', '.join([verdict, *counts])}"]
    for problem in checked.problems:
        lines += problem_lines(problem, on=on)
    if checked.needs:
        lines += [f"  wants to {one_line(need)}" for need in checked.needs]
        lines.append(f"  grant it with: run --allow {checked.needs_hash}")
    return lines

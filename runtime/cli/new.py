"""Write a new flow to start from."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from runtime.cli import options
from runtime.cli.files import FlowFile, read_flow
from runtime.cli.streams import say
from runtime.clock import SystemClock
from runtime.errors import BadInput
from runtime.names import check_name

if TYPE_CHECKING:
    from runtime.spec import FlowSpec

DEFAULT_NAME = "my-flow"
SUFFIX = ".json"


@click.command(
    epilog=options.examples(
        "farthing new greeter",
        "farthing new shop --from example:support --to flows/shop.json",
        "farthing new --to - | farthing validate /dev/stdin",
    )
)
@click.argument("name", required=False)
@click.option(
    "--from", "source", metavar="FLOW", help="Begin with this flow instead: a file or example:NAME."
)
@click.option("--to", "target", metavar="FILE", help="Where to write it; - prints it. Else NAME.json here.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def command(name: str | None, source: str | None, target: str | None, force: bool) -> None:
    """Write a flow called NAME: one agent with memory and a daily budget, or a copy of another flow.

    It gets an id of its own, under which its sessions, facts and budgets are kept.
    """
    from runtime.spec import save_flow

    if name is not None and ("/" in name or "\\" in name or name.endswith(SUFFIX)):
        raise BadInput(
            f"{name!r} is a path, and NAME is what the flow is called.", remedy=f"Give --to {name}."
        )
    origin = read_flow(source) if source is not None else None
    spec = flow_spec(name, origin)
    data = save_flow(spec)
    if target == "-":
        options.refuse_unused("with --to -", "force")
        sys.stdout.write(data.decode())
        return
    path = Path(target) if target is not None else Path(file_name(spec.name))
    write_new(path, data, force=force)
    if origin is not None and origin.script is not None:
        write_new(path.with_name(f"{path.stem}.script.json"), origin.script.read_bytes(), force=force)
    say(f'Wrote {path}. Try: farthing run {path} "Hello"')


def flow_spec(name: str | None, origin: FlowFile | None) -> FlowSpec:
    """The new flow's document, with a fresh id."""
    from runtime.spec import load_flow

    spec = load_flow(origin.raw, name=origin.name).spec if origin is not None else first_flow()
    otherwise = spec.name if origin else DEFAULT_NAME
    fresh = {"id": SystemClock().new_id(), "name": otherwise if name is None else name}
    if len(fresh["name"]) > 200:
        raise BadInput("A flow's name has 1 to 200 characters.", remedy="Give another name.")
    check_name(fresh["name"], "The flow's name", "Give another name.")
    return msgspec.structs.replace(spec, **fresh)


def first_flow() -> FlowSpec:
    """A flow that somebody would begin with."""
    from runtime.spec import EdgeSpec, FlowSpec, NodeSpec

    nodes = (
        NodeSpec(id="question", type="input"),
        NodeSpec(id="helper", type="agent", config={"instructions": "You help with whatever you are asked."}),
        NodeSpec(id="notes", type="memory", config={"scope": "user"}),
        NodeSpec(
            id="daily",
            type="budget",
            config={"metric": "spend", "period": "daily", "limit": "0.50", "threshold_pct": 80},
        ),
        NodeSpec(id="answer", type="output"),
    )
    edges = (
        EdgeSpec(source="question", target="helper"),
        EdgeSpec(source="notes", target="helper", target_port="memory"),
        EdgeSpec(source="daily", target="helper", target_port="budget"),
        EdgeSpec(source="helper", target="answer"),
    )
    return FlowSpec(
        name=DEFAULT_NAME, description="Answers, and remembers its user.", nodes=nodes, edges=edges
    )


def file_name(name: str) -> str:
    """A file name from a flow's name: letters, digits, dots, `-` and `_` stay."""
    return (re.sub(r"[^\w.-]+", "-", name).strip("-.") or DEFAULT_NAME) + SUFFIX


def write_new(path: Path, data: bytes, *, force: bool) -> None:
    """Write a file that is not there yet, or with `force` in place of one, whole or not at all. Raises
    BadInput where it is there, or where it cannot be written."""
    whole = force and path.is_file()  # a device or a pipe is written to as it is
    target = path.with_name(f".{path.name}.{os.getpid()}.tmp") if whole else path
    made = False
    try:
        with target.open("wb" if force else "xb") as file:
            made = whole or not force
            file.write(data)
            file.flush()
            if path.is_file():
                os.fsync(file.fileno())
        if whole:
            target.replace(path)
    except FileExistsError:
        raise BadInput(
            f"{path} is there already.", remedy="Name another file with --to, or add --force."
        ) from None
    except OSError as error:
        if made:
            with suppress(OSError):
                target.unlink()
        raise BadInput(
            f"{path} cannot be written: {error.strerror}.", remedy="Name another file with --to."
        ) from None

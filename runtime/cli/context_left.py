"""What a context left out, as the command shows it: stage by stage, and item by item."""

from __future__ import annotations

from runtime.cli.plain import one_line
from runtime.cli.streams import paint, write
from runtime.cli.table import Column, show
from runtime.events import ContextAssembled, ContextItem


def gave_way(context: ContextAssembled, *, on: bool) -> None:
    """What the window took, stage by stage."""
    if not context.gave_way:
        return
    room = (context.window or 0) - (context.output_buffer or 0)
    write("")
    write(paint(f"Gave way to fit into {room:,} tokens:", "bold", on=on))
    columns = (
        Column("stage", right=True), Column("what", flexible=True), Column("items", right=True),
        Column("before", right=True), Column("after", right=True),
    )  # fmt: skip
    rows = [
        (str(each.stage), each.name, f"{each.items:,}", f"{each.before:,}", f"{each.after:,}")
        for each in context.gave_way
    ]
    show(columns, rows)


def left_out(context: ContextAssembled, *, on: bool) -> None:
    """Each item with its reason."""
    if not context.left_out_count and not context.left_out:
        return
    write("")
    count = max(context.left_out_count, len(context.left_out))
    write(paint(f"Left out: {count:,}", "bold", on=on))
    columns = (Column("what", flexible=True), Column("tokens", right=True), Column("why", flexible=True))
    show(columns, [(_what(item), f"{item.tokens:,}", item.why or "") for item in context.left_out])
    if count > len(context.left_out):
        write(paint(f"and {count - len(context.left_out):,} more", "dim", on=on))


def _what(item: ContextItem) -> str:
    """What was left out; messages of the history are counted from 1, as those that were sent."""
    first, _, last = item.ref.removeprefix("history/").partition("-")
    if item.ref.startswith("history/") and first.isdecimal() and last.isdecimal():
        return f"history: messages {int(first) + 1} to {int(last) + 1}"
    return (
        f"{item.ref} ({one_line(item.source)})"
        if item.ref.startswith("result/") and item.source
        else item.ref
    )

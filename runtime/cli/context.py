"""Show what a model was sent and what each part cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from runtime.cli import options
from runtime.cli.context_bill import Bill, Part, Sent, bill, calls_of, row_of
from runtime.cli.context_left import gave_way, left_out
from runtime.cli.find import find_session, session_of_run, tell_kind
from runtime.cli.opening import with_record
from runtime.cli.plain import one_line, visible
from runtime.cli.streams import coloured, paint, result_json, say, width_of, write
from runtime.cli.table import Column, show
from runtime.cli.timeline_numbers import money
from runtime.errors import NotFound
from runtime.events import ContextItem, decode
from runtime.facts import Partition
from runtime.record import LedgerFilter, LedgerRow, Record, SessionLine
from runtime.usage import decimal_text, money_text

BAR = 40
"""Columns of the bar of the window at most."""


class _Seq(msgspec.Struct):
    seq: int


_seq = msgspec.json.Decoder(_Seq)


class Asked(NamedTuple):
    """Which calls are meant."""

    step: int | None
    run_id: str | None
    node: str | None
    purpose: str | None


@click.command(
    epilog=options.examples(
        "farthing context monday",
        "farthing context monday 2 --node helper",
        "farthing context monday 2 --messages",
        "farthing context --json",
    )
)
@click.argument("session", required=False)
@click.argument("step", required=False, type=click.IntRange(min=1))
@options.user
@options.flow
@click.option(
    "--run",
    "run_id",
    callback=options.filled,
    metavar="ID",
    help="Of this run; else of the session's last one.",
)
@click.option("--node", callback=options.filled, metavar="ID", help="Of this agent.")
@click.option(
    "--purpose",
    callback=options.filled,
    metavar="NAME",
    help="Of calls made for this: main, thought, summary, …",
)
@click.option("--messages", is_flag=True, help="Also the messages that were new with this call.")
@options.as_json
@click.option("--rehearsal", is_flag=True, help="Look among rehearsals (runs on the scripted model) only.")
@options.database
def command(
    session: str | None,
    step: int | None,
    user_id: str | None,
    flow: str | None,
    run_id: str | None,
    node: str | None,
    purpose: str | None,
    messages: bool,
    as_json: bool,
    rehearsal: bool,
    db: Path | None,
) -> None:
    """Show the bill of a context: what the model was sent at STEP of SESSION's last run, part by part with
    tokens and cost, and what was left out and why. Without STEP, that of the last call; without SESSION,
    of the latest session.
    """
    partition: Partition | None = "rehearsal" if rehearsal else None
    asked = Asked(step, run_id, node, purpose)

    async def work(record: Record) -> tuple[SessionLine, list[tuple[Sent, LedgerRow | None]]]:
        owner = None if run_id is None else await session_of_run(record, run_id)
        line = await find_session(record, session or owner, partition=partition, user_id=user_id, flow=flow)
        bodies = await record.events_json(line.uid, run_id=run_id)
        chosen = _chosen(calls_of((_seq.decode(body).seq, decode(body)) for body in bodies), asked)
        if not rehearsal:
            await tell_kind(
                record, line, latest=session is None and run_id is None, user_id=user_id, flow=flow
            )
        runs = {sent.called.run_id for sent in chosen}
        rows = [
            row
            for each in runs
            for row in await record.ledger(
                LedgerFilter("rehearsal" if line.partition == "rehearsal" else "real", run_id=each)
            )
        ]
        return line, [(sent, row_of(sent, rows)) for sent in chosen]

    line, found = with_record(db, work)
    if as_json:
        result_json([_json(line, sent, bill(sent, row.price if row else None)) for sent, row in found])
        return
    for number, (sent, row) in enumerate(found):
        if number:
            write("")
        _print(line, sent, bill(sent, row.price if row else None), messages=messages)


def _chosen(calls: list[Sent], asked: Asked) -> list[Sent]:
    """The calls that are meant. Raises NotFound with the steps that there are."""
    if asked.run_id is None and calls:
        last = calls[-1].called.run_id
        calls = [sent for sent in calls if sent.called.run_id == last]
    fitting = [
        sent
        for sent in calls
        if asked.node in (None, sent.called.node_id) and asked.purpose in (None, sent.called.purpose)
    ]
    found = [sent for sent in fitting if asked.step in (None, sent.called.step)]
    if not found:
        nodes = sorted({sent.called.node_id for sent in calls if sent.called.node_id})
        if asked.node is not None and asked.node not in nodes and nodes:
            raise NotFound(
                f"No model was called for a node {asked.node!r}.", remedy=f"There are: {', '.join(nodes)}."
            )
        steps = sorted({sent.called.step for sent in fitting if sent.called.step is not None})
        there = "`farthing events` shows what happened."
        if steps:
            listed = ", ".join(map(str, steps))
            there = f"There is only step {listed}." if len(steps) == 1 else f"There are steps {listed}."
        raise NotFound("No model was called there.", remedy=there)
    return found if asked.step is not None else found[-1:]


def _json(line: SessionLine, sent: Sent, made: Bill) -> dict[str, Any]:
    context, called, used = sent.context, sent.called, sent.used
    return {
        "session_uid": line.uid,
        "run_id": called.run_id,
        "seq": sent.seq,
        "node_id": called.node_id,
        "step": called.step,
        "call": called.call,
        "purpose": called.purpose,
        "model": called.model,
        "window": context.window if context else None,
        "tokens": context.tokens if context else None,
        "parts": [
            {
                **part._asdict(),
                "share": round(part.share, 4),
                "cached": round(part.cached, 4),
                "cost": decimal_text(part.cost),
            }
            for part in made.parts
        ],
        "gave_way": context.gave_way if context else (),
        "left_out": context.left_out if context else (),
        "left_out_count": context.left_out_count if context else 0,
        "usage": used.usage if used else None,
        "cost": decimal_text(used.cost) if used else None,
        "answer": {"tokens": made.answer_tokens, "cost": decimal_text(made.answer_cost)},
        "shared_by": "prices" if made.by_price else "tokens",
        "kept": called.kept,
        "messages": called.messages,
        "digest": called.digest,
    }


def _print(line: SessionLine, sent: Sent, made: Bill, *, messages: bool) -> None:
    on = coloured(sys.stdout)
    for number, each in enumerate(_head(line, sent)):
        write(paint(each, "dim" if number else "bold", on=on))
    if sent.context is None:
        say("The timeline has no bill of this call.", "yellow")
    else:
        write(_window(sent, on=on))
        write("")
        _parts(sent, made)
        gave_way(sent.context, on=on)
        left_out(sent.context, on=on)
    if messages:
        _messages(sent, on=on)


def _head(line: SessionLine, sent: Sent) -> list[str]:
    called, used = sent.called, sent.used
    what = "" if called.purpose == "main" else f" · {called.purpose}"
    step = "" if called.step is None else f" · step {called.step}"
    head = [f"{one_line(called.node_id or 'call')}{step}{what} · {one_line(called.model)}"]
    head.append(f"session {one_line(line.name)} · event {sent.seq} · run {called.run_id}")
    if used is None:
        return [*head, "not ended"]
    usage = used.usage
    cached = f", {usage.cached:,} of it cached" if usage.cached else ""
    mark = " by our own count" if used.estimated else ""
    return [*head, f"in {usage.input:,}{cached} → out {usage.output:,}{mark} · {_money(used.cost)}"]


def _money(cost: int | None) -> str:
    return "cost unknown" if cost is None else money_text(cost)


def _window(sent: Sent, *, on: bool) -> str:
    assert sent.context is not None
    tokens, window = sent.context.tokens, sent.context.window
    if not window:
        return f"{tokens:,} tokens by our count; the model's window is not known"
    columns = min(BAR, width_of(sys.stdout) - 40)
    full = min(columns, max(1, round(tokens / window * columns))) if tokens else 0
    bar = paint("█" * full, "cyan", on=on) + paint("░" * (columns - full), "dim", on=on)
    return f"{bar} {tokens:,} of {window:,} tokens ({tokens / window:.0%})"


def _parts(sent: Sent, made: Bill) -> None:
    columns = (
        Column("part", flexible=True),
        Column("tokens", right=True),
        Column("share", right=True),
        Column("cached", right=True, spare=True),
        Column("cost", right=True),
        Column("score", right=True, spare=True),
        Column("source", flexible=True, spare=True),
    )
    rows: list[tuple[str, ...]] = []
    for part in made.parts:
        rows.append(
            (
                _part_name(part),
                f"{part.tokens:,}",
                f"{part.share:.0%}",
                f"{part.cached:.0%}" if part.cached else "",
                _short(part.cost),
                "",
                "",
            )
        )
        rows += [_item(item) for item in part.items]
    rows.append(("answer", f"{made.answer_tokens:,}", "", "", _short(made.answer_cost), "", ""))
    show(columns, rows)
    if sent.used is not None and sent.used.cost is not None and not made.by_price:
        say(
            "The cost is shared by tokens: the provider said what the call cost, not what a token costs.",
            "dim",
        )


def _short(cost: int | None) -> str:
    return "unknown" if cost is None else money(cost)


def _part_name(part: Part) -> str:
    first = (part.first or 0) + 1
    if not part.messages:
        return part.name
    if part.messages == 1:
        return f"{part.name}: message {first}"
    return f"{part.name}: messages {first} to {first + part.messages - 1}"


def _item(item: ContextItem) -> tuple[str, ...]:
    score = "" if item.score is None else f"{item.score:.4f}"
    return (f"· {item.ref}", f"{item.tokens:,}" if item.tokens else "", "", "", "", score, item.source or "")


def _messages(sent: Sent, *, on: bool) -> None:
    called = sent.called
    write("")
    if called.kept:
        count = "1 message" if called.kept == 1 else f"{called.kept:,} messages"
        write(paint(f"{count} from before, and:", "dim", on=on))
    for message in called.messages:
        told: dict[str, Any] = message if isinstance(message, dict) else {"content": message}
        write(paint(f"{one_line(str(told.get('role', '?')))}:", "bold", on=on))
        for part in str(told.get("content") or "").split("\n"):
            write(f"  {visible(part)}")
        for call in told.get("tool_calls") or ():
            write(f"  → {one_line(msgspec.json.encode(call).decode())}")

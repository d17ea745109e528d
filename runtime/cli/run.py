"""Run a flow on your input."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.cli import files, options
from runtime.cli.batch import Asked, refuse_others, run_batch
from runtime.cli.live import Live
from runtime.cli.opening import opened, read_settings, with_tools
from runtime.cli.recorded import recorded
from runtime.cli.run_input import Given, gather
from runtime.cli.run_result import failed_json, outcome_json, show_end, show_outputs
from runtime.cli.streams import result_json, say
from runtime.clock import SystemClock
from runtime.errors import FarthingError
from runtime.names import check_names

if TYPE_CHECKING:
    from runtime.run.services import Services
    from runtime.run.start import Outcome, RunRequest
    from runtime.settings import Settings


@click.command(
    epilog=options.examples(
        'farthing run example:support "My name is Ada." --user ada',
        "farthing run example:summarise < report.txt",
        "farthing run flow.json --input question.json --limit spend=0.05 --json",
        "farthing run flow.json --set topic=tides --set words=200 --model openai:gpt-4.1-mini",
        "farthing run flow.json --batch questions.jsonl --out answers.jsonl --limit spend=2.00",
    )
)
@click.argument("flow")
@click.argument("text", required=False)
@click.option(
    "--input", "input_file", metavar="FILE", help="Input: a .json object, - for JSON, or a text file."
)
@click.option(
    "--set", "sets", multiple=True, metavar="FIELD=VALUE", help="One field of the input; repeatable."
)
@click.option("--session", metavar="NAME", help="The session to go on with, or to begin; else a new one.")
@click.option(
    "--user", "user_id", default=options.LOCAL_USER, metavar="ID", help="Who it is for.", show_default=True
)
@click.option("--model", metavar="PROVIDER:NAME", help="The model for this run; `scripted` rehearses.")
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="METRIC=N",
    help="A limit for this run: spend=0.50, tokens=20000.",
)
@click.option(
    "--allow", metavar="HASH", help="Grant what the flow needs; `farthing validate` prints the hash."
)
@click.option("--real-tools", is_flag=True, help="In a rehearsal, run every tool for real.")
@click.option(
    "--record",
    "record_to",
    type=click.Path(path_type=Path),
    metavar="NAME.script.json",
    help="Keep what the models answer as a script that plays it again.",
)
@options.tools
@click.option(
    "--batch", metavar="FILE", help="Run on each line of a .jsonl or .csv file, or of - (JSON lines)."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --batch: keep the results here; begun again, it goes on where it ended.",
)
@click.option(
    "--concurrency", default=8, show_default=True, metavar="N", help="With --batch: runs at the same time."
)
@click.option("--retry-failed", is_flag=True, help="With --batch and --out: run failed lines once more.")
@options.as_json
@options.database
@click.pass_context
def command(
    ctx: click.Context,
    flow: str,
    text: str | None,
    input_file: str | None,
    sets: Sequence[str],
    session: str | None,
    user_id: str,
    model: str | None,
    limits: tuple[str, ...],
    allow: str | None,
    real_tools: bool,
    record_to: Path | None,
    tool_files: tuple[Path, ...],
    batch: str | None,
    out: Path | None,
    concurrency: int,
    retry_failed: bool,
    as_json: bool,
    db: Path | None,
) -> None:
    """Run FLOW, a file or example:NAME, on TEXT.

    Without TEXT, what is piped in is the text. The result goes to stdout, everything else to stderr.
    Exit codes: 0 done, 1 failed, 2 bad input, 3 stopped by a budget, 130 cancelled.
    """
    try:
        options.refuse_empty(("--user", user_id), ("--session", session), ("--model", model))
        check_names(user_id, session)
        file = files.read_flow(flow)
        given_of_batch = [
            f"--{name.replace('_', '-')}"
            for name in ("concurrency", "retry_failed")
            if ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        ]
        if batch is not None and out is None:
            options.refuse_unused("without --out", "retry_failed")
        refuse_others(batch, out, record_to, (text, input_file, sets), given_of_batch)
        given = gather(Given(text, input_file, sets)) if batch is None else None
        from runtime.run.start import RunRequest

        request = RunRequest(
            flow_bytes=file.raw,
            flow_path=file.path,
            input=given,
            session=session,
            user=user_id,
            model=model,
            limits=limits,
            allow=allow,
            real_tools=real_tools,
            script=file.script,
            trusted=file.example,
        )
        settings = with_tools(read_settings(db, folder=file.path.parent), tool_files)
        if batch is not None:
            ctx.exit(run_batch(request, Asked(batch, out, concurrency, retry_failed), settings, _on_signals))
        live = Live(new_session=session is None, quiet=as_json, db=db)
        outcome = asyncio.run(_run(request, settings, live, record_to))
    except FarthingError as error:
        if as_json:
            result_json(failed_json(error))
        raise
    ctx.exit(_finish(outcome, live, as_json=as_json, db=db))


async def _run(request: RunRequest, settings: Settings, live: Live, record_to: Path | None = None) -> Outcome:
    """The run's outcome; on Ctrl-C or SIGTERM it is cancelled and its outcome says so."""
    from runtime.run.services import Services
    from runtime.run.start import prepare, start

    clock = SystemClock()
    async with opened(settings.db, clock) as record:
        services = Services(record, settings, clock)
        live.clean_with(services.redactor)
        try:
            with recorded(record_to, services, live.entry) as on_event:
                active = start(prepare(request, services), services, on_event, live.delta)
                with _on_signals(active.cancel):
                    return await active.outcome()
        finally:
            live.end()
            await _rest(services)


async def _rest(services: Services) -> None:
    """Let maintenance end. Ctrl-C and SIGTERM cancel it; what the run gave is told all the same."""
    resting = asyncio.ensure_future(services.rest())
    with _on_signals(resting.cancel):
        await asyncio.wait([resting])
    if not resting.cancelled():
        resting.result()


@contextlib.contextmanager
def _on_signals(cancel: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C and SIGTERM cancel once; a second one is harmless, since the first still works."""
    loop = asyncio.get_running_loop()
    asked = False

    def once() -> None:
        nonlocal asked
        if not asked:
            asked = True
            say("cancelling …", "yellow")
            cancel()

    undo = [_listen(loop, number, once) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield
    finally:
        for each in undo:
            each()


def _listen(
    loop: asyncio.AbstractEventLoop, number: signal.Signals, cancel: Callable[[], None]
) -> Callable[[], object]:
    try:
        loop.add_signal_handler(number, cancel)
    except NotImplementedError:  # Windows has no such handlers on its loop
        before = signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(cancel))
        return lambda: signal.signal(number, before)
    return lambda: loop.remove_signal_handler(number)


def _finish(outcome: Outcome, live: Live, *, as_json: bool, db: Path | None) -> int:
    """Show the end; the exit code."""
    if as_json:
        result_json(outcome_json(outcome))
    else:
        show_outputs(outcome, streamed=live.streamed)
    sys.stdout.flush()
    show_end(outcome, stopped=live.stopped, db=db)
    return outcome.exit_code

"""`run --batch`: its input, its results on stdout or in a file, its progress and its summary."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.cli.live import REHEARSAL
from runtime.cli.opening import opened
from runtime.cli.plain import clip, one_line
from runtime.cli.run_result import cost_text
from runtime.cli.streams import is_terminal, json_text, say, width_of
from runtime.clock import SystemClock
from runtime.errors import BadInput, NotFound

if TYPE_CHECKING:
    from runtime.run.batch import OnResult
    from runtime.run.batch_lines import Line
    from runtime.run.batch_result import Result, Summary
    from runtime.run.services import Services
    from runtime.run.start import RunRequest
    from runtime.settings import Settings

MAX_BYTES = 512 * 1024 * 1024
"""The largest file of inputs."""
MOST_CONCURRENT = 256
TOLD = 20
"""So many failed lines are told on stderr; the results have all of them."""

Cancels = Callable[[Callable[[], None]], AbstractContextManager[None]]
"""Lets Ctrl-C call what it is given."""


class Asked(msgspec.Struct, frozen=True):
    """What the command line says of a batch."""

    file: str
    out: Path | None
    concurrency: int
    retry_failed: bool


def refuse_others(
    batch: str | None,
    out: Path | None,
    record_to: Path | None,
    inputs: Sequence[object],
    given: Sequence[str],
) -> None:
    """Raises BadInput for options that do not go together: a batch and an input of one run, say.
    `given`: those of a batch alone that were given."""
    if batch is None:
        if out is not None:
            raise BadInput("--out is for a batch.", remedy="Add --batch FILE, or use > FILE.")
        if given:
            raise BadInput(
                f"{given[0]} is for a batch.", remedy=f"Add --batch FILE, or leave {given[0]} out."
            )
        return
    if record_to is not None:
        raise BadInput("--record keeps one run, not a batch.", remedy="Leave one of them away.")
    if any(inputs):
        raise BadInput(
            "A batch takes its inputs from its file.",
            remedy="Leave TEXT, --input and --set away, or --batch.",
        )


def run_batch(request: RunRequest, asked: Asked, settings: Settings, cancels: Cancels) -> int:
    """Run the whole batch; its exit code. Raises FarthingError where it cannot begin."""
    if not 1 <= asked.concurrency <= MOST_CONCURRENT:
        raise BadInput(
            f"--concurrency is a number from 1 to {MOST_CONCURRENT}, not {asked.concurrency}.",
            remedy=f"Give --concurrency {min(max(asked.concurrency, 1), MOST_CONCURRENT)}, or leave it out.",
        )
    data = _read(asked.file)
    return asyncio.run(_run(request, asked, data, settings, cancels))


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    path = Path(name)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadInput(f"{name} is larger than {MAX_BYTES // 1024**2} MiB.", remedy="Split it.")
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"There is no file {name!r}.", remedy="Check the path.") from None
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.", remedy="Name a file.") from None


async def _run(request: RunRequest, asked: Asked, data: bytes, settings: Settings, cancels: Cancels) -> int:
    from runtime.run.batch import Batch, BatchRequest, lines_in_order
    from runtime.run.batch_result import ResultFile
    from runtime.run.services import Services

    clock = SystemClock()
    async with opened(settings.db, clock) as record:
        services = Services(record, settings, clock)
        lines = _lines(request, asked.file, data, services)
        try:
            with ExitStack() as stack:
                file = None if asked.out is None else stack.enter_context(ResultFile(asked.out))
                kept = {} if file is None else dict(file.kept)
                batch_id = next((each.batch for each in reversed(kept.values())), clock.new_id())
                show = Progress(len(lines))
                keep = lines_in_order(lines, _print) if file is None else file.add
                batch = Batch(
                    BatchRequest(
                        run=request,
                        lines=tuple(lines),
                        batch=batch_id,
                        concurrency=asked.concurrency,
                        kept=kept,
                        retry_failed=asked.retry_failed,
                    ),
                    services,
                    _listener(keep, show),
                )
                with cancels(batch.cancel):
                    summary = await batch.run()
                if file is not None:
                    file.put_in_order(lines)
                show.end(summary)
                return summary.exit_code
        finally:
            await services.rest()


def _lines(request: RunRequest, name: str, data: bytes, services: Services) -> list[Line]:
    """The batch's lines, read as the flow's input node wants them. Raises BadFlow or BadInput."""
    from runtime.plan import read_plan
    from runtime.run.batch_lines import read_lines

    folder = None if request.flow_path is None else request.flow_path.resolve().parent
    plan = read_plan(request.flow_bytes, services.registry, services.find_tools, folder)
    schema: dict[str, Any] | None = plan.entry.config.input_schema if plan.entry is not None else None
    lines = read_lines(data, "csv" if name.lower().endswith(".csv") else "jsonl", schema)
    if not lines:
        where = "standard input" if name == "-" else name
        raise BadInput(f"{where} has no lines.", remedy="Write an input on each line.")
    return lines


def _print(result: Result) -> None:
    sys.stdout.write(json_text(result) + "\n")
    sys.stdout.flush()


def _listener(keep: OnResult, show: Progress) -> OnResult:
    def listen(result: Result) -> None:
        show.clear()
        keep(result)
        show.result(result)

    return listen


class Progress:
    """What a person sees while a batch works: on a terminal one line that changes, and everywhere the lines
    that failed and a summary."""

    def __init__(self, lines: int) -> None:
        self._lines, self._ended, self._failed, self._tokens = lines, 0, 0, 0
        self._shown, self._rehearsal = is_terminal(sys.stderr), False

    def result(self, result: Result) -> None:
        """A line has ended."""
        if result.rehearsal and not self._rehearsal:
            self._rehearsal = True
            self._say(REHEARSAL, "yellow")
        self._ended += 1
        self._tokens += result.usage.tokens
        if result.state in ("failed", "invalid"):
            self._failed += 1
            self._fail(result)
        if self._shown:
            failed = f", {self._failed} failed" if self._failed else ""
            text = f"{self._ended} of {self._lines}{failed}, {self._tokens:,} tokens"
            sys.stderr.write("\r\x1b[K" + clip(text, width_of(sys.stderr) - 1))
            sys.stderr.flush()

    def _fail(self, result: Result) -> None:
        if self._failed == TOLD + 1:
            self._say("further failed lines are in the results only")
        if self._failed > TOLD or result.error is None:
            return
        name = f" ({one_line(result.id)})" if result.id else ""
        self._say(f"line {result.line}{name}: {one_line(result.error.message)}", "red")

    def clear(self) -> None:
        """Take the line that changes away, since something else is going to be written."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _say(self, text: str, *styles: str) -> None:
        self.clear()
        say(text, *styles)

    def end(self, summary: Summary) -> None:
        """The batch is over."""
        counts = [f"{summary.done} done"]
        counts += [f"{summary.failed} failed"] if summary.failed else []
        counts += [f"{summary.not_run} not run"] if summary.not_run else []
        kept = f" ({summary.kept} of them before)" if summary.kept else ""
        used = f"{summary.usage.tokens:,} tokens · {cost_text(summary.cost, summary.unknown)}"
        if summary.stopped and summary.why:
            self._say(f"stopped: {one_line(summary.why)}", "red")
        self._say(f"{', '.join(counts)}{kept} · {used}{' · rehearsal' if summary.rehearsal else ''}")

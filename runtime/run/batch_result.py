"""The results of a batch's lines, and the file that keeps them so that a batch can go on after its death."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple

import msgspec

from runtime.errors import BadInput
from runtime.events import CallError
from runtime.run.batch_lines import Line
from runtime.usage import Usage, parse_money

State = Literal["completed", "failed", "invalid", "cancelled", "not_run"]
TO_DO = frozenset({"cancelled", "not_run"})
"""States of lines that have not been run to their end."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one line.

    `tokens` are what a budget counts of `usage`. `cost` in dollars is what is known of it, null where nothing
    is; `unknown_cost` counts the calls without a known cost. `hash` is of what the line says.
    """

    line: int
    id: str | None = None
    state: State
    outputs: dict[str, Any] = {}
    error: CallError | None = None
    usage: Usage = Usage()
    tokens: int = 0
    cost: str | None = "0"
    unknown_cost: int = 0
    run_id: str | None = None
    session: str | None = None
    rehearsal: bool = False
    batch: str
    hash: str

    def answers(self, line: Line, *, retry_failed: bool = False) -> bool:
        """Whether it is the final result of this line: it was run to its end, and no budget stopped it."""
        if self.hash != line.hash or self.state in TO_DO:
            return False
        stopped = self.error is not None and self.error.code.startswith("budget.")
        return self.state != "failed" or not (stopped or retry_failed)

    @property
    def nanos(self) -> int:
        """The known cost in nano-dollars."""
        return 0 if self.cost is None else parse_money(self.cost)


class Summary(NamedTuple):
    """What became of a batch. `kept` are lines that an earlier attempt had finished. `stopped`: a budget that
    governs all lines was used up, which `why` tells. Cost in nano-dollars."""

    done: int = 0
    failed: int = 0
    not_run: int = 0
    kept: int = 0
    usage: Usage = Usage()
    cost: int = 0
    unknown: int = 0
    cancelled: bool = False
    stopped: bool = False
    rehearsal: bool = False
    why: str | None = None

    @property
    def exit_code(self) -> int:
        """0 where every line succeeded, 130 cancelled, 3 where a budget ended it, else 1."""
        if self.cancelled:
            return 130
        return 3 if self.stopped else 1 if self.failed or self.not_run else 0


def summed(results: Iterable[Result]) -> Summary:
    """The counts and sums of results."""
    done = failed = not_run = cost = unknown = 0
    usage, rehearsal = Usage(), False
    for result in results:
        rehearsal = rehearsal or result.rehearsal
        done += result.state == "completed"
        failed += result.state in ("failed", "invalid")
        not_run += result.state in TO_DO
        usage, cost, unknown = usage + result.usage, cost + result.nanos, unknown + result.unknown_cost
    return Summary(done, failed, not_run, usage=usage, cost=cost, unknown=unknown, rehearsal=rehearsal)


class ResultFile:
    """The file of a batch's results, one JSON line each.

    While the batch works they are in the order in which they ended, so that a killed batch loses none; once
    it is over they are in the order of the input. Opened, it is this process's alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: dict[int, Result] = {}
        self._lock: Any = None
        self._file: Any = None

    def __enter__(self) -> ResultFile:
        """Raises BadInput where it cannot be written, another batch is at work on it, or it holds something
        else than a batch's results."""
        from filelock import FileLock, Timeout

        if not self.path.parent.is_dir():
            raise BadInput(
                f"There is no folder {self.path.parent}.", remedy="Make it, or name another with --out."
            )
        try:
            self._lock = FileLock(f"{self.path}.lock", timeout=0)
            self._lock.acquire()
            self._read()
            self._file = self.path.open("ab")
        except Timeout:
            raise BadInput(
                f"Another batch is writing {self.path}.",
                remedy="Wait for it, or name another file with --out.",
            ) from None
        except OSError as error:
            self._let_go()
            raise BadInput(
                f"{self.path} cannot be written: {error.strerror}.", remedy="Name another file with --out."
            ) from None
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        self._let_go()

    def add(self, result: Result) -> None:
        """Keep a result: from here on it survives the death of the process."""
        self.kept[result.line] = result
        self._file.write(msgspec.json.encode(result) + b"\n")
        self._file.flush()

    def put_in_order(self, lines: Iterable[Line]) -> None:
        """The batch is over: one result for each line, in their order, and nothing else."""
        beside = self.path.with_name(f"{self.path.name}.sorting")
        with beside.open("wb") as file:
            for line in lines:
                result = self.kept.get(line.number)
                if result is not None and result.hash == line.hash:
                    file.write(msgspec.json.encode(result) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._file.close()
        beside.replace(self.path)
        self._file = self.path.open("ab")

    def _read(self) -> None:
        """What is there already. The beginning of a line that a killed process did not end is removed."""
        if not self.path.exists():
            return
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for raw in whole.splitlines():
            try:
                result = msgspec.json.decode(raw, type=Result)
            except (msgspec.ValidationError, msgspec.DecodeError):
                raise self._foreign() from None
            self.kept[result.line] = result
        if data and not whole and not data.startswith(b'{"line":'):
            raise self._foreign()
        if len(whole) < len(data):
            os.truncate(self.path, len(whole))

    def _foreign(self) -> BadInput:
        return BadInput(
            f"{self.path} is there and holds something else than a batch's results.",
            remedy="Name another file with --out; nothing was changed in it.",
        )

    def _let_go(self) -> None:
        if self._lock is not None and self._lock.is_locked:
            self._lock.release()
            Path(f"{self.path}.lock").unlink(missing_ok=True)

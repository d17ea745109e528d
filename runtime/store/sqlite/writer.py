"""The writer: one thread that owns the one writing connection and commits many verbs at a time."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from runtime.errors import StoreError
from runtime.store.sqlite.connection import store_error
from runtime.store.sqlite.rows import SqliteRows

MOST_VERBS = 512
"""Verbs of one transaction at most, so that the first of a long queue are not kept waiting."""

Verb = Callable[[SqliteRows], Any]


class _Job(msgspec.Struct, frozen=True):
    verb: Verb
    future: asyncio.Future[Any]
    durable: bool


class Committed(NamedTuple):
    """What a transaction changed that others wait for: the sessions with new events, and the pulse."""

    sessions: frozenset[str]
    pulse: int | None


class Writer:
    """Runs verbs in order of arrival. Every verb that was handed over happens, whole or not at all,
    whether or not its caller still waits; a verb that fails leaves the others of its batch standing."""

    def __init__(
        self,
        path: Path,
        connect: Callable[[], SqliteRows],
        loop: asyncio.AbstractEventLoop,
        notify: Callable[[Committed], None],
    ) -> None:
        self._path = path
        self._connect = connect
        self._loop = loop
        self._notify = notify
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="farthing-writer", daemon=True)
        self._started: asyncio.Future[None] = loop.create_future()
        self._stopped: asyncio.Future[None] = loop.create_future()
        self._closed = False

    async def start(self) -> None:
        self._thread.start()
        await asyncio.shield(self._started)

    async def run(self, verb: Verb, *, durable: bool = False) -> Any:
        """Hand a verb over and wait for its commit. `durable`: on the disk before it is answered."""
        if self._closed:
            raise StoreError("The database is closed.", remedy="Open it again.")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._jobs.put(_Job(verb, future, durable))
        return await future

    async def stop(self) -> None:
        """Finish what was handed over, then let go of the connection."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        await self._stopped
        self._thread.join()

    # -- the thread

    def _work(self) -> None:
        try:
            rows = self._connect()
        except BaseException as error:
            self._call(_fail, self._started, error)
            return
        self._call(_succeed, self._started, None)
        try:
            while (batch := self._next()) is not None:
                self._commit(rows, batch)
        finally:
            rows.close()
            self._call(_succeed, self._stopped, None)

    def _next(self) -> list[_Job] | None:
        job = self._jobs.get()
        if job is None:
            return None
        batch = [job]
        while len(batch) < MOST_VERBS:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            batch.append(job)
        return batch

    def _commit(self, rows: SqliteRows, batch: list[_Job]) -> None:
        try:
            rows.begin(durable=any(job.durable for job in batch))
        except sqlite3.Error as error:  # another process holds the file: nobody is served, nobody waits twice
            rows.rollback()
            told = store_error(error, self._path)
            self._call(self._answer, [(job, None, told) for job in batch], Committed(frozenset(), None))
            return
        try:
            answers = self._transaction(rows, batch)
        except sqlite3.Error as error:
            if len(batch) > 1:  # one of them may be at fault: each for itself
                for job in batch:
                    self._commit(rows, [job])
                return
            answers = [(batch[0], None, store_error(error, self._path))]
        except Exception as error:
            answers = [(batch[0], None, error)]
        committed = Committed(frozenset(rows.touched), rows.pulse)
        rows.touched.clear()
        rows.pulse = None
        self._call(self._answer, answers, committed)

    def _transaction(
        self, rows: SqliteRows, batch: list[_Job]
    ) -> list[tuple[_Job, Any, BaseException | None]]:
        """The verbs of a batch in the transaction that was begun.

        Nearly always all of them go well, so they run straight one after the other; when one raises, all are
        taken back and run again, each at its own savepoint.
        """
        try:
            answers: list[tuple[_Job, Any, BaseException | None]] = [(j, j.verb(rows), None) for j in batch]
            rows.commit()
        except BaseException as error:
            rows.rollback()
            if len(batch) == 1 or isinstance(error, sqlite3.Error) or not isinstance(error, Exception):
                raise
            return self._one_by_one(rows, batch)
        return answers

    def _one_by_one(
        self, rows: SqliteRows, batch: list[_Job]
    ) -> list[tuple[_Job, Any, BaseException | None]]:
        """The same batch in a new transaction; a verb that raises leaves the others standing."""
        try:
            rows.begin(durable=any(job.durable for job in batch))
            answers = [self._at_savepoint(rows, job) for job in batch]
            rows.commit()
        except BaseException:
            rows.rollback()
            raise
        return answers

    @staticmethod
    def _at_savepoint(rows: SqliteRows, job: _Job) -> tuple[_Job, Any, BaseException | None]:
        rows.savepoint()
        try:
            answer = job.verb(rows)
        except sqlite3.Error:
            raise
        except Exception as error:
            rows.back_to_savepoint()
            return job, None, error
        rows.release()
        return job, answer, None

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        """On the loop's thread; a loop that is gone has nobody waiting."""
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            return

    def _answer(self, answers: list[tuple[_Job, Any, BaseException | None]], committed: Committed) -> None:
        for job, answer, error in answers:
            if error is None:
                _succeed(job.future, answer)
            else:
                _fail(job.future, error)
        if committed.sessions or committed.pulse is not None:
            self._notify(committed)


def _succeed(future: asyncio.Future[Any], answer: Any) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)

"""One experiment: processes, a model, and a hand that kills, ends, cancels and raises at random."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter as Tally
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runtime.ledger import Rule
from runtime.record import LimitChange, SessionFilter
from runtime.run.services import Services
from runtime.run.start import prepare
from runtime.store.opening import open_record
from tests.crash.clock import ShiftedClock
from tests.crash.flows import FLOWS, SETTINGS, request, settings_in
from tests.crash.laws import Rules, check_laws
from tests.fake_model.plays import Play, answer, failure, tool_call
from tests.fake_model.server import FakeModel, Seen

NEW_YEAR = datetime(2029, 1, 1, tzinfo=UTC)
"""Midnight, a Monday, the first of a month and of a year at once."""
RUNS = 24
"""Of each process, where nothing else is said."""
LONGEST_S = 180.0


class AnyModel(FakeModel):
    """Answers after a random while, calls tools, fails at times. No answer uses more than was counted."""

    def __init__(self, seed: int) -> None:
        super().__init__(keep_calls=False)
        self._chance = random.Random(seed)

    def take(self, seen: Seen) -> Play:
        self.count += 1
        chance, lot = self._chance, self._chance.random()
        delay = chance.random() * 0.25
        if lot < 0.04:
            return failure(500, {"message": "busy"}, delay_s=delay)
        usage = {"prompt_tokens": chance.randrange(1, 6), "completion_tokens": chance.randrange(1, 50)}
        usage["total_tokens"] = sum(usage.values())
        if lot < 0.07:
            return answer("cut off", usage=usage, delay_s=delay, promise=100_000)
        if lot < 0.5 and seen.body.get("tools"):
            wanted = tool_call("memory_write", json.dumps({"key": f"k{chance.randrange(4)}", "value": "x"}))
            return answer("", tool_calls=[wanted], usage=usage, delay_s=delay)
        return answer('{"action": "answer", "answer": "oiled"}', usage=usage, delay_s=delay)


class World:
    """The hand, its own view of the database, and the processes."""

    def __init__(self, folder: Path, seed: int, count: int, runs: int, url: str) -> None:
        self._folder, self._seed, self._count, self._runs = folder, seed, count, runs
        self._chance = random.Random(seed)
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "config.toml"
        config.write_text(SETTINGS.format(url=url), encoding="utf-8")
        config.chmod(0o600)
        self._settings = settings_in(folder)
        self._processes: list[Process] = []
        self._killed: set[Process] = set()
        self.done: Tally[str] = Tally()

    async def live(self) -> Tally[str]:
        """From the first process to the last; then the laws. What happened, counted."""
        await asyncio.gather(*(self._load() for _ in range(self._count)))
        border = NEW_YEAR - timedelta(seconds=1 + 2 * self._chance.random())
        self._shift = (border - datetime.now(UTC)).total_seconds()
        self._clock = ShiftedClock(self._shift)
        self._record = open_record(self._settings.db, self._clock)
        await self._record.open()
        rules = await _rules(Services(self._record, self._settings, self._clock))
        try:
            for each in list(self._processes):
                await self._go(each)
            async with asyncio.timeout(LONGEST_S):
                while any(each.returncode is None for each in self._processes):
                    await asyncio.sleep(0.05 + 0.35 * self._chance.random())
                    await self._act(rules)
            await asyncio.gather(*map(self._check_process, self._processes))
            await self._record.reap()
            return self.done + await check_laws(self._record, self._settings.db, rules)
        finally:
            for each in self._processes:
                if each.returncode is None:
                    each.kill()
            await asyncio.gather(*(each.wait() for each in self._processes))
            await self._record.close()

    async def _load(self) -> Process:
        number = self._seed * 100 + len(self._processes)
        command = (sys.executable, "-W", "error", "-m", "tests.crash.worker")
        arguments = (str(self._folder), str(number), str(self._runs))
        process = await asyncio.create_subprocess_exec(
            *command, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        self._processes.append(process)
        assert process.stdout is not None
        await process.stdout.readline()
        return process

    async def _go(self, process: Process) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{self._shift}\n".encode())
        await process.stdin.drain()

    async def _check_process(self, process: Process) -> None:
        _, err = await process.communicate()
        if process not in self._killed:
            assert (process.returncode, err.decode()) == (0, "")

    async def _act(self, rules: Rules) -> None:
        living = [each for each in self._processes if each.returncode is None]
        lot = self._chance.random()
        if len(living) < self._count and len(self._processes) < 2 * self._count:
            await self._go(await self._load())
        elif lot < 0.12 and living:
            process = self._chance.choice(living)
            self._killed.add(process)
            process.kill()
            self.done["killed"] += 1
        elif lot < 0.17 and living:
            process = self._chance.choice(living)
            self._killed.add(process)  # it may be before it has set its handler
            process.terminate()
            self.done["ended"] += 1
        elif lot < 0.4:
            await self._cancel()
        elif lot < 0.8:
            await self._change(rules)

    async def _cancel(self) -> None:
        sessions = await self._record.sessions(SessionFilter(state="running", limit=100))
        runs = [
            run for line in sessions for run in await self._record.runs(line.uid) if run.state == "running"
        ]
        if runs:
            run = self._chance.choice(runs)
            self.done["asked to cancel"] += await self._record.ask_cancel(run.run_id, "mia")

    async def _change(self, rules: Rules) -> None:
        """A raise, and now and then a reset, of any counter."""
        lines = await self._record.all_counters("real")
        if not lines:
            return
        key, counter = self._chance.choice(lines)
        limit = max(counter.limit or 0, *(rule.limit for rule in rules[key.pot] if rule.metric == key.metric))
        more = limit + self._chance.randrange(1, 1 + limit // 4)
        reset = self._chance.random() < 0.15
        change = LimitChange(
            action="reset" if reset else "raise", key=key, budget=key.pot, amount=None if reset else more,
            actor="mia", reason="a test", at=self._clock.now(),
        )  # fmt: skip
        await self._record.change_limit(change, [])
        self.done[change.action] += 1


async def _rules(services: Services) -> dict[str, list[Rule]]:
    """Every limit that governs any of the flows, by its pot."""
    found: dict[str, list[Rule]] = {}
    for name in FLOWS:
        prepared = prepare(request(name, "ada", "s", ("tokens=900",)), services)
        for given in (each for choice in prepared.assignments.values() for each in choice):
            for rule in given.rules:
                known = found.setdefault(rule.pot, [])
                if rule.metric not in [each.metric for each in known]:
                    known.append(rule)
    await services.rest()
    return found


async def experiment(folder: Path, seed: int, count: int, *, runs: int = RUNS) -> Tally[str]:
    """A world of this seed, with so many processes at a time and runs in each."""
    model = AnyModel(seed).start()
    try:
        return await World(folder, seed, count, runs, model.url).live()
    finally:
        model.join()

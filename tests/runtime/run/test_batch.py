"""Batches: lines as inputs, results in order, shared budgets, early stops, and going on after a death."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.clock import SystemClock
from runtime.errors import BadFlow, BadInput, NotGranted
from runtime.models.scripted import ScriptedModel
from runtime.record import Record, SessionFilter
from runtime.run.batch import Batch, BatchRequest, lines_in_order
from runtime.run.batch_lines import Line, read_lines
from runtime.run.batch_result import Result, ResultFile, Summary
from runtime.run.services import Services
from runtime.run.start import RunRequest
from runtime.settings import load_settings
from runtime.store.opening import open_record
from runtime.testing import FixedClients
from tests.flows import Document, agent_flow, flow, node, says

SCRIPT = Path(sys.executable).with_name("farthing")
SHAPE = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "tag": {}}}


# -- lines


def test_json_lines_are_texts_or_objects_with_what_stands_beside_them() -> None:
    data = (
        b'\xef\xbb\xbf"one"\n\n{"text": "two", "id": 2, "user": "ada", "session": "s"}\r\n'
        b'{"input": "three", "id": "c"}\n{"input": {"text": "four"}}\n{"text": "five"}'
    )
    found = [(x.number, x.input, x.id, x.session, x.user) for x in read_lines(data, "jsonl", None)]
    assert found == [
        (1, "one", None, None, None),
        (3, {"text": "two"}, "2", "s", "ada"),
        (4, "three", "c", None, None),
        (5, {"text": "four"}, None, None, None),
        (6, {"text": "five"}, None, None, None),
    ]


def test_a_field_of_the_flow_goes_before_what_may_stand_beside() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string"}, "q": {"type": "string"}}}
    (line,) = read_lines(b'{"id": "x", "q": "y", "user": "ada"}', "jsonl", schema)
    assert (line.input, line.id, line.user) == ({"id": "x", "q": "y"}, None, "ada")
    (wrapped,) = read_lines(b'{"input": {"id": "x", "q": "y"}, "user": "ada"}', "jsonl", schema)
    assert (wrapped.input, wrapped.user) == ({"id": "x", "q": "y"}, "ada")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"{", "it is not sound JSON"),
        (b'"\xff"', "it is not UTF-8 text"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[1]", "it is neither a text nor an object"),
        (b'{"text": NaN}', "it is not sound JSON"),
        (b'{"text": "x", "user": ""}', "its `user` is no text"),
        (b'{"text": "x", "session": {}}', "its `session` is no text"),
    ],
    ids=range(7),
)
def test_a_line_that_is_none_says_why_and_the_rest_goes_on(raw: bytes, why: str) -> None:
    good, bad, more = read_lines(b'"a"\n' + raw + b'\n"b"', "jsonl", None)
    assert (good.input, more.input, more.number) == ("a", "b", 3)
    assert bad.number == 2
    assert str(bad.wrong).startswith(why)


def test_csv_columns_become_fields_of_the_types_that_the_flow_asks_for() -> None:
    data = b'q,n,tag,user\n"a, ""b""\nc",3,x,ada\n7,,y,\nd,many,z,bob\ne,1\n\nf,2,"w",ada\n'
    lines = read_lines(data, "csv", SHAPE)
    assert [(x.number, x.input, x.user) for x in lines if x.wrong is None] == [
        (2, {"q": 'a, "b"\nc', "n": 3, "tag": "x"}, "ada"),
        (4, {"q": "7", "tag": "y"}, None),
        (5, {"q": "d", "n": "many", "tag": "z"}, "bob"),
        (8, {"q": "f", "n": 2, "tag": "w"}, "ada"),
    ]
    assert [(x.number, x.wrong) for x in lines if x.wrong] == [
        (6, "it has 2 cells and there are 4 columns"),
    ]


def test_csv_as_spreadsheets_write_it() -> None:
    (line,) = read_lines("\ufefftext;id\r\nhö, du;7\r\n".encode(), "csv", None)
    assert (line.input, line.id) == ({"text": "hö, du"}, "7")
    for broken in (b"", b"a,a\n1,2\n", b"a,\n1,2\n"):
        with pytest.raises(BadInput, match="names of its columns"):
            read_lines(broken, "csv", None)
    with pytest.raises(BadInput, match="UTF-8"):
        read_lines(b"text\n\xff", "csv", None)


@given(st.binary(max_size=200), st.sampled_from(["jsonl", "csv"]))
def test_any_bytes_give_lines_or_one_clear_error(data: bytes, kind: Any) -> None:
    try:
        lines = read_lines(data, kind, SHAPE)
    except BadInput:
        return
    numbers = [line.number for line in lines]
    assert numbers == sorted(set(numbers))
    assert all(len(line.hash) == 16 for line in lines)


@given(st.permutations(range(6)))
def test_results_are_handed_on_in_the_order_of_the_lines(order: list[int]) -> None:
    lines = [Line(n, "h", "x") for n in range(6)]
    told: list[int] = []
    listen = lines_in_order(lines, lambda result: told.append(result.line))
    for n in order:
        listen(Result(line=n, state="completed", batch="b", hash="h"))
    assert told == list(range(6))


# -- running


class Place:
    """A store and a scripted model for batches of one test."""

    def __init__(self, replies: Sequence[Document] | None = None, record: Record | None = None) -> None:
        clock = SystemClock()
        self.record = record or open_record(None, clock)
        if replies is None:
            self.model = ScriptedModel(clock=clock)
        else:
            self.model = ScriptedModel.playing({"*": replies}, clock=clock)
        settings = load_settings({"FARTHING_CONFIG": "/dev/null/none"}, folder=None)
        self.services = Services(self.record, settings, clock, clients=FixedClients(clock, self.model))
        self.told: list[Result] = []

    async def run(self, document: Document, lines: Sequence[Line], **how: Any) -> Summary:
        """Run a batch of a flow that came from the caller."""
        batch = Batch(self.request(document, lines, **how), self.services, self.told.append)
        return await batch.run()

    def request(
        self,
        document: Document,
        lines: Sequence[Line],
        *,
        kept: Sequence[Result] = (),
        concurrency: int = 4,
        batch: str = "b",
        **run: Any,
    ) -> BatchRequest:
        """A batch for the user u, trusted unless said otherwise."""
        asked = RunRequest(flow_bytes=msgspec.json.encode(document), **{"user": "u", "trusted": True, **run})
        return BatchRequest(
            run=asked, lines=tuple(lines), batch=batch, concurrency=concurrency,
            kept={result.line: result for result in kept},
        )  # fmt: skip

    async def runs(self) -> int:
        """How many runs the store has, of whatever state."""
        found = await self.record.sessions(SessionFilter(partition="rehearsal", limit=1000))
        return sum(line.runs for line in found)


def texts(*inputs: Any) -> list[Line]:
    return [Line(n, f"hash {text}", text) for n, text in enumerate(inputs, 1)]


@pytest.mark.promise("BAT-1")
async def test_every_line_is_a_run_and_bad_ones_stop_nothing() -> None:
    at = Place([says("one", 10), says("two", 10), says("three", 10)])
    await at.record.open()
    lines = [*texts("a", "b", {"no": "text"}, "c"), Line(5, "h", wrong="it is none")]
    summary = await at.run(agent_flow(), lines, concurrency=2)
    assert summary == Summary(done=3, failed=2, usage=summary.usage, cost=summary.cost, rehearsal=True)
    assert (summary.usage.tokens, summary.exit_code) == (30, 1)
    by_line = {result.line: result for result in at.told}
    assert {n: r.state for n, r in by_line.items()} == {
        1: "completed", 2: "completed", 3: "invalid", 4: "completed", 5: "invalid",
    }  # fmt: skip
    assert len({r.session for r in by_line.values() if r.session}) == 3
    assert by_line[3].error is not None
    assert "asks for a text" in by_line[3].error.message
    await at.services.close()


async def test_lines_run_at_the_same_time_up_to_the_bound() -> None:
    at = Place([says("ok", latency_s=0.2) for _ in range(8)])
    await at.record.open()
    began = time.monotonic()
    assert (await at.run(agent_flow(), texts(*"abcdefgh"), concurrency=8)).done == 8
    together = time.monotonic() - began
    assert together < 1.2  # one after the other takes 1.6 s and more
    await at.services.close()


async def test_lines_have_users_and_sessions_of_their_own() -> None:
    at = Place()
    await at.record.open()
    lines = [
        Line(1, "1", "My name is Ada.", user="ada", session="s"),
        Line(2, "2", "What is my name?", user="ada"),
        Line(3, "3", "What is my name?", user="bob"),
    ]
    await at.run(agent_flow(memory={"scope": "user"}), lines, concurrency=1)
    answers = [next(iter(result.outputs.values())) for result in at.told]
    assert answers[1:] == ["Your name: Ada.", "I know no facts about you yet."]
    assert at.told[0].session == "s"
    await at.services.close()


@pytest.mark.promise("BAT-3")
async def test_a_budget_that_governs_every_line_ends_the_batch() -> None:
    at = Place([says("ok", 60) for _ in range(9)])
    await at.record.open()
    document = agent_flow(budgets=[{"metric": "tokens", "period": "daily", "limit": 100}])
    summary = await at.run(document, texts(*"abcdef"), concurrency=1)
    assert (summary.done, summary.failed, summary.not_run) == (2, 1, 3)
    assert (summary.stopped, summary.exit_code) == (True, 3)
    assert at.model.calls == 2
    assert [result.state for result in at.told] == ["completed"] * 2 + ["failed"] + ["not_run"] * 3
    assert "used up" in str(summary.why)
    other = [line._replace(user="v") for line in texts("a")]
    assert (await at.run(document, other)).exit_code == 0  # the budget of another user
    await at.services.close()


async def test_a_budget_of_one_run_or_of_a_part_ends_only_that_line() -> None:
    one = agent_flow(budgets=[{"metric": "tokens", "period": "run", "limit": 0}])
    at = Place([])
    await at.record.open()
    summary = await at.run(one, texts("a", "b"))
    assert (summary.failed, summary.not_run, summary.exit_code) == (2, 0, 1)
    routed = flow(
        [
            node("start", "input"),
            node("r", "router", branches=[{"name": "x", "when": "input == 'x'"}], default="y"),
            node("paid", "agent"), node("free", "agent"), node("end", "output"),
            node("b", "budget", metric="tokens", period="daily", limit=0),
        ],
        [("start", "r"), ("r.x", "paid"), ("r.y", "free"), ("paid", "end"), ("free", "end"),
         ("b", "paid", "budget")],
    )  # fmt: skip
    at = Place([says("ok") for _ in range(2)])
    await at.record.open()
    summary = await at.run(routed, texts("x", "y", "y"), concurrency=1)
    assert (summary.done, summary.failed, summary.not_run, summary.exit_code) == (2, 1, 0, 1)
    await at.services.close()


async def test_limits_of_the_command_line_hold_for_the_whole_batch_and_go_on_with_it() -> None:
    at = Place([says("ok", 60) for _ in range(9)])
    await at.record.open()
    lines = [line._replace(user=user) for line, user in zip(texts(*"abcd"), "uvwx", strict=True)]
    first = await at.run(agent_flow(), lines, concurrency=1, limits=("tokens=100",))
    assert (first.done, first.failed, first.not_run, first.exit_code) == (2, 1, 1, 3)
    again = await at.run(agent_flow(), lines, concurrency=1, limits=("tokens=100",), kept=at.told)
    assert (again.done, again.kept, again.exit_code) == (2, 2, 3)
    raised = await at.run(agent_flow(), lines, concurrency=1, limits=("tokens=500",), kept=at.told[:4])
    assert (raised.done, raised.kept, raised.exit_code) == (4, 2, 0)
    await at.services.close()


async def test_what_would_be_refused_for_every_line_is_refused_once() -> None:
    at = Place([])
    await at.record.open()
    needy = agent_flow(budgets=[{"limit": 5, "pot": "shared:team"}])
    with pytest.raises(NotGranted):
        await at.run(needy, texts("a", "b"), trusted=False)
    with pytest.raises(BadFlow):
        await at.run({"format": "farthing.flow/1", "name": "f", "nodes": []}, texts("a"))
    with pytest.raises(BadInput, match="user"):
        await at.run(agent_flow(memory={"scope": "user"}), texts("a"), user=None)
    assert at.told == []
    assert await at.runs() == 0
    await at.services.close()


@pytest.mark.promise("BAT-2")
async def test_finished_lines_are_not_run_again_and_changed_ones_are() -> None:
    at = Place([says(f"answer {n}") for n in range(6)])
    await at.record.open()
    await at.run(agent_flow(), texts("a", "b", "c"), concurrency=1)
    first = list(at.told)
    lines = [*texts("a", "B", "c"), Line(4, "hash d", "d")]
    summary = await at.run(agent_flow(), lines, kept=first, concurrency=1)
    assert (summary.done, summary.kept) == (4, 2)
    assert [result.line for result in at.told[3:]] == [2, 4]
    assert await at.runs() == 5
    await at.services.close()


async def test_a_run_that_ended_before_its_line_was_written_is_found_in_the_store() -> None:
    at = Place([says("first", 5), says("second", 7), says("never")])
    await at.record.open()
    await at.run(agent_flow(), texts("a", "b"), concurrency=1)
    first, second = at.told
    summary = await at.run(agent_flow(), texts("a", "b"), kept=[first])
    assert at.model.calls == 2
    found = at.told[-1]
    assert found == second
    assert (summary.done, summary.kept, summary.usage.tokens) == (2, 1, 12)
    await at.services.close()


async def test_cancelling_ends_every_run_and_begins_no_other() -> None:
    at = Place([says("slow", latency_s=60) for _ in range(4)])
    await at.record.open()
    batch = Batch(at.request(agent_flow(), texts(*"abcd"), concurrency=2), at.services, at.told.append)
    work = asyncio.create_task(batch.run())
    while at.model.calls < 2:
        await asyncio.sleep(0.01)
    batch.cancel()
    batch.cancel()
    summary = await asyncio.wait_for(work, 5)
    assert (summary.not_run, summary.exit_code) == (4, 130)
    assert sorted(result.state for result in at.told) == ["cancelled"] * 2 + ["not_run"] * 2
    assert await at.runs() == 2
    await at.services.close()


# -- the file of results


def result(line: int, **more: Any) -> Result:
    return Result(line=line, **{"state": "completed", "batch": "b", "hash": f"h{line}"} | more)


def test_a_half_written_line_is_dropped_and_the_file_ends_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path) as file:
        for n in (3, 1, 2):
            file.add(result(n))
    path.write_bytes(path.read_bytes() + b'{"line":4,"id":null,"sta')
    with ResultFile(path) as file:
        assert sorted(file.kept) == [1, 2, 3]
        file.add(result(4))
        file.put_in_order([Line(n, f"h{n}") for n in (1, 2, 4)])  # the third line has gone from the input
        file.add(result(5))
    assert [json.loads(line)["line"] for line in path.read_text().splitlines()] == [1, 2, 4, 5]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.jsonl"]


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    for content in (b"my notes\n", b"my notes", b'{"line": "one"}\n', b"\xff\xfe"):
        path = tmp_path / "notes.txt"
        path.write_bytes(content)
        with pytest.raises(BadInput, match="something else"), ResultFile(path):
            pass
        assert path.read_bytes() == content


def test_two_batches_never_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path), pytest.raises(BadInput, match="Another batch"), ResultFile(path):
        pass


@given(st.integers(0, 400))
def test_wherever_a_write_was_cut_off_what_was_whole_is_kept(cut: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.jsonl"
        whole = b"".join(msgspec.json.encode(result(n)) + b"\n" for n in (1, 2))
        path.write_bytes(whole[: min(cut, len(whole))])
        kept = whole[:cut].count(b"\n")
        if 0 < cut < 8:
            with pytest.raises(BadInput), ResultFile(path):
                pass
            return
        with ResultFile(path) as file:
            assert len(file.kept) == kept


# -- the command


def write_batch(folder: Path, lines: int, latency_s: float, **agent: Any) -> None:
    (folder / "f.json").write_bytes(msgspec.json.encode(agent_flow(agent=agent)))
    replies = [{"text": "ok", "latency_s": latency_s, "usage": {"input": 10, "output": 1}}]
    script = {"format": "farthing.script/1", "replies": {"*": replies}}
    (folder / "f.script.json").write_text(json.dumps(script))
    (folder / "in.jsonl").write_text("".join(f'"question {n}"\n' for n in range(1, lines + 1)))


COMMAND = [str(SCRIPT), "run", "f.json", "--batch", "in.jsonl", "--out", "out.jsonl"]


def finished(path: Path) -> list[dict[str, Any]]:
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in whole]


@pytest.mark.slow
@pytest.mark.promise("BAT-2")
def test_a_batch_that_is_killed_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    write_batch(tmp_path, 24, 0.15)
    out = tmp_path / "out.jsonl"
    for least in (3, 9):  # killed twice, at different places
        running = subprocess.Popen(
            [*COMMAND, "--concurrency", "3"], cwd=tmp_path, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while len(finished(out)) < least and time.monotonic() < deadline:
            assert running.poll() is None
            time.sleep(0.005)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
    before = {each["line"]: each["run_id"] for each in finished(out)}
    assert 9 <= len(before) < 24
    done = subprocess.run(COMMAND, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    results = finished(out)
    assert [each["line"] for each in results] == list(range(1, 25))
    assert all(each["state"] == "completed" for each in results)
    assert {each["line"]: each["run_id"] for each in results if each["line"] in before} == before
    completed = asyncio.run(completed_runs())
    assert completed == 24, "every line was run to its end exactly once"
    assert done.stderr.splitlines()[-1].startswith(f"24 done ({len(before)} of them before)")


async def completed_runs() -> int:
    record = open_record(Path(os.environ["FARTHING_DB"]), SystemClock())
    await record.open()
    count = 0
    for session in await record.sessions(SessionFilter(partition="rehearsal", limit=1000)):
        runs = await record.runs(session.uid)
        assert all(run.state in ("completed", "interrupted") for run in runs)
        count += sum(run.state == "completed" for run in runs)
    await record.close()
    return count


def test_ctrl_c_ends_a_batch_cleanly_and_it_can_go_on(tmp_path: Path) -> None:
    write_batch(tmp_path, 6, 0.4)
    running = subprocess.Popen(
        [*COMMAND, "--concurrency", "2"], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(finished(tmp_path / "out.jsonl")) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, "")
    assert "Traceback" not in err
    states = [each["state"] for each in finished(tmp_path / "out.jsonl")]
    assert len(states) == 6
    assert "not_run" in states
    done = subprocess.run(COMMAND, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0
    assert [each["state"] for each in finished(tmp_path / "out.jsonl")] == ["completed"] * 6


def test_results_go_to_standard_output_in_order_and_the_rest_to_standard_error(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, 0.0)
    (tmp_path / "in.csv").write_text('text,id\nhello,a\n"two, lines",b\nhello\n')
    done = subprocess.run(
        [str(SCRIPT), "run", "f.json", "--batch", "in.csv"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["line"], each["id"], each["state"]) for each in results] == [
        (2, "a", "completed"), (3, "b", "completed"), (4, None, "invalid"),
    ]  # fmt: skip
    assert results[0]["outputs"] == {"end": "ok"}
    assert (results[0]["tokens"], results[0]["rehearsal"]) == (11, True)
    assert done.returncode == 1
    assert "line 4: it has 1 cells and there are 2 columns." in done.stderr
    assert done.stderr.splitlines()[-1].startswith("2 done, 1 failed · 22 tokens · $")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("hello", "--batch", "in.jsonl"), "takes its inputs from its file"),
        (("--batch", "none.jsonl"), "There is no file 'none.jsonl'"),
        (("--batch", "empty.jsonl"), "has no lines"),
        (("--batch", "in.jsonl", "--concurrency", "0"), "a number from 1 to"),
        (("--out", "x.jsonl"), "--out is for a batch"),
        (("--batch", "in.jsonl", "--out", "no/such/folder/x.jsonl"), "There is no folder"),
    ],
    ids=range(6),
)
def test_a_batch_that_cannot_begin_says_why(args: Sequence[str], words: str, tmp_path: Path) -> None:
    write_batch(tmp_path, 1, 0.0)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    done = subprocess.run(
        [str(SCRIPT), "run", "f.json", *args],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_tools_from_a_file_are_named_granted_and_called(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, 0.0)
    document = agent_flow()
    document["nodes"].append(node("t", "tool", function="shout"))
    document["edges"].append({"source": "t", "target": "a", "target_port": "tool"})
    (tmp_path / "f.json").write_bytes(msgspec.json.encode(document))
    replies = [{"tool_calls": [{"name": "shout", "arguments": {"text": "hi"}}]}, {"text": "done"}]
    script = {"format": "farthing.script/1", "replies": {"*": replies}}
    (tmp_path / "f.script.json").write_text(json.dumps(script))
    (tmp_path / "mine.py").write_text(
        "def shout(text: str) -> str:\n    'Shout.'\n    print('noise')\n    return text.upper()\n"
    )

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SCRIPT), *args], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )

    unknown = call("validate", "f.json")
    assert unknown.returncode == 2
    assert "names the function 'shout', which is not registered" in unknown.stdout
    checked = json.loads(call("validate", "f.json", "--tools", "mine.py", "--json").stdout)
    hash_ = checked["flows"][0]["allow"]
    refused = call("run", "f.json", "hi", "--tools", "mine.py")
    assert refused.returncode == 2
    assert hash_ in refused.stderr
    ran = call("run", "f.json", "hi", "--tools", "mine.py", "--real-tools", "--allow", hash_)
    assert (ran.returncode, ran.stdout) == (0, "done\n")
    assert "noise" in ran.stderr

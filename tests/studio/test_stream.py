"""Events as a stream: nothing lost or repeated over breaks, resets said, and an end that is one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.clock import SystemClock
from runtime.events import Custom, RunFinished, RunStarted
from runtime.record import Record, RunEnd, RunStart, SessionKey
from runtime.store.opening import open_record
from studio import feeds as feeds_module
from studio.feeds import Feeds
from studio.stream import Place, Watch, open_stream, place_of, watch
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.live import A, Frame, Live, frames

AT = datetime(2026, 3, 1, tzinfo=UTC)


def begin(live: Live, token: str, text: str = "My name is Ada.", **more: Any) -> dict[str, Any]:
    started = live.request("POST", f"{A}/runs", {"path": "talk.json", "input": text, **more}, token=token)
    assert started.status == 201, started
    found: dict[str, Any] = started.json
    return found


def read(live: Live, token: str, path: str, cursor: str | None = None) -> list[Frame]:
    headers = {} if cursor is None else {"last-event-id": cursor}
    with live.stream(path, token, headers) as response:
        return list(frames(response))


@pytest.mark.promise("STU-3")
def test_stream_has_every_event_once_and_ends_with_the_run(live: Live) -> None:
    token = live.token("reader", "runner")
    run = begin(live, token)
    path = f"{A}/sessions/{run['session_uid']}/events"
    with live.stream(f"{path}?run={run['run_id']}", token) as response:
        kind = response.headers["content-type"]
        assert response.status == 200 and kind is not None and kind.startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["x-content-type-options"] == "nosniff"
        seen = list(frames(response))
    events = [frame for frame in seen if frame.event == "message"]
    assert [frame.id for frame in events] == list(range(1, len(events) + 1))
    assert events[-1].json["type"] == "run.finished" and seen[-1].event == "end"
    stored = live.request("GET", path, token=token).json
    assert [frame.json for frame in events] == stored["events"] and stored["next"] is None


@pytest.mark.promise("STU-3")
def test_stream_goes_on_after_the_last_id(live: Live) -> None:
    token = live.token("reader", "runner")
    run = begin(live, token)
    live.wait(token, run["run_id"])
    path = f"{A}/sessions/{run['session_uid']}/events?stream=1"
    whole = [frame.id for frame in read(live, token, path) if frame.id]
    for last in (1, 5, len(whole) - 1):
        assert [frame.id for frame in read(live, token, path, str(last)) if frame.id] == whole[last:]
        assert [f.id for f in read(live, token, f"{path}&after={last}") if f.id] == whole[last:]
    with live.stream(path, token, {"last-event-id": str(len(whole))}) as response:
        assert response.status == 204


@pytest.mark.promise("STU-3")
@pytest.mark.parametrize("cursor", ["abc", "-1", "99999", "1.5", "9" * 40, "²"])
def test_bad_cursor_starts_anew_and_says_so(live: Live, cursor: str) -> None:
    token = live.token("reader", "runner")
    run = begin(live, token)
    live.wait(token, run["run_id"])
    path = f"{A}/sessions/{run['session_uid']}/events?stream=1"
    sent = cursor.encode("utf-8").decode("latin-1")
    seen = read(live, token, path, sent)
    assert seen[0].event == "reset" and seen[0].json == {"first_seq": 1}
    assert [frame.id for frame in seen if frame.id] == [f.id for f in read(live, token, path) if f.id]


@pytest.mark.parametrize(
    ("given_id", "place"),
    [
        (None, Place(0, False)),
        ("0", Place(0, False)),
        ("9", Place(0, True)),
        ("10", Place(10, False)),
        ("20", Place(20, False)),
        ("21", Place(0, True)),
    ],
)
def test_purged_cursor_starts_anew(given_id: str | None, place: Place) -> None:
    """Events 11 to 20 are kept: who has read 10 goes on, who has read 9 has missed something."""
    assert place_of(given_id, 11, 20) == place


@pytest.mark.promise("STU-3")
def test_page_can_leave_and_the_run_goes_on(paid: Live, fake_model: FakeModel) -> None:
    token = paid.token("ada", "runner")
    fake_model.play(answer("one two three four", gap_s=0.05))
    run = begin(paid, token)
    path = f"{A}/sessions/{run['session_uid']}/events?stream=1"
    with paid.stream(path, token) as response:
        assert next(frames(response)).id == 1
        assert paid.studio.feeds.watchers == 1
    until = time.monotonic() + 3
    while paid.studio.feeds.watchers and time.monotonic() < until:
        time.sleep(0.01)
    assert paid.studio.feeds.watchers == 0
    ended = paid.wait(token, run["run_id"])
    assert (ended["state"], ended["outputs"]) == ("completed", {"answer": "one two three four"})
    assert [frame.event for frame in read(paid, token, path)][-1] == "end"


def test_text_comes_live_and_a_newcomer_gets_what_was_said(paid: Live, fake_model: FakeModel) -> None:
    token = paid.token("ada", "runner")
    words = " ".join(f"word{i}" for i in range(30))
    fake_model.play(answer(words, gap_s=0.03))
    run = begin(paid, token)
    path = f"{A}/sessions/{run['session_uid']}/events?stream=1"
    with paid.stream(path, token) as first:
        come = frames(first)
        seen = [next(come)]
        while [frame.event for frame in seen].count("delta") < 5:
            seen.append(next(come))
        late = read(paid, token, path)
        seen += list(come)
    for watcher in (seen, late):
        text, call = "", set()
        for frame in watcher:
            if frame.event == "delta":
                assert frame.id is None and frame.json["offset"] == len(text), "no gap, no repeat"
                text += frame.json["text"]
                call.add((frame.json["run_id"], frame.json["node_id"], frame.json["call"]))
        assert text == words
        assert call == {(run["run_id"], "helper", "helper#1/1/0")}
        order = [frame.json["type"] if frame.event == "message" else frame.event for frame in watcher]
        assert order.index("model.called") < order.index("delta") < order.index("agent.response")
        assert "delta" not in order[order.index("agent.response") :]
    stored = paid.request("GET", path.replace("stream=1", "limit=5000"), token=token).json["events"]
    assert not [event for event in stored if event["type"] == "delta"]


def test_events_of_another_process_come_too(live: Live) -> None:
    """Here another store on the same file, as another process has it."""
    token = live.token("chief", "operator")

    async def elsewhere() -> str:
        clock = SystemClock()
        record = open_record(live.settings().db, clock)
        await record.open()
        try:
            uid = await _begin(record, "elsewhere")
            ready.append(uid)
            for n in range(30):
                await record.append("elsewhere", [Custom(at=AT, run_id="elsewhere", name=f"n{n}")])
                await asyncio.sleep(0.01)
            await _end(record, "elsewhere")
            return uid
        finally:
            await record.close()

    import threading

    ready: list[str] = []
    thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    thread.start()
    while not ready:
        time.sleep(0.005)
    seen = read(live, token, f"{A}/sessions/{ready[0]}/events")
    thread.join()
    names = [frame.json.get("name") for frame in seen if frame.event == "message"]
    assert [name for name in names if name in {f"n{n}" for n in range(30)}] == [f"n{n}" for n in range(30)]
    assert seen[-1].event == "end"
    run = live.request("GET", f"{A}/runs/elsewhere", token=token).json
    assert run["state"] == "completed" and run["here"] is False


def test_reply_cannot_forge_a_frame(paid: Live, fake_model: FakeModel) -> None:
    live = paid
    evil = "x\n\nid: 999\nevent: end\ndata: {}\n\n\r\ndata: forged\u2028</script><img src=x onerror=alert(1)>"
    fake_model.play(answer(evil))
    token = live.token("ada", "runner")
    name = "id: 999</script><img src=x onerror=alert(1)>"
    body = {"path": "talk.json", "input": "x", "session": evil}
    refused = live.request("POST", f"{A}/runs", body, token=token)
    assert refused.status == 400 and "control character" in refused.json["error"]["message"]
    run = begin(live, token, evil, session=name)
    seen = read(live, token, f"{A}/sessions/{run['session_uid']}/events?run={run['run_id']}")
    assert [frame.event for frame in seen].count("end") == 1 and seen[-1].event == "end"
    assert [f.id for f in seen if f.event == "message"] == list(range(1, len(seen) - _transient(seen) + 1))
    answered = live.request("GET", f"{A}/runs/{run['run_id']}", token=token)
    assert answered.json["outputs"] == {"answer": evil} and answered.json["session"] == name
    assert answered.headers["content-type"] == "application/json"
    assert answered.headers["x-content-type-options"] == "nosniff"


def _transient(seen: list[Frame]) -> int:
    return sum(frame.event != "message" for frame in seen)


# The feed itself, on a store in memory


class Quiet:
    """Nobody is speaking."""

    def so_far(self, uid: str) -> list[bytes]:
        return []

    def flush(self, uid: str) -> None:
        return None


async def _begin(record: Record, run_id: str, name: str = "s") -> str:
    start = RunStart(
        run_id=run_id, session=SessionKey("real", "ada", "talk", name), flow_name="talk", flow_hash="h",
        flow=b"{}", at=AT,
    )  # fmt: skip
    said = RunStarted(at=AT, run_id=run_id, flow_id="talk", flow_name="talk", flow_hash="h")
    claimed, _ = await record.claim(start, [said])
    return claimed.session_uid


async def _end(record: Record, run_id: str) -> None:
    await record.finish(
        RunEnd(run_id=run_id, state="completed", at=AT),
        [],
        lambda totals: [RunFinished(at=AT, run_id=run_id, state="completed")],
    )


async def _say(record: Record, run_id: str, count: int) -> None:
    await record.append(run_id, [Custom(at=AT, run_id=run_id, name="x") for _ in range(count)])


@pytest.fixture
async def record() -> AsyncIterator[Record]:
    made = open_record(None, SystemClock())
    await made.open()
    yield made
    await made.close()


def ids(chunks: list[bytes]) -> list[int]:
    found = b"".join(chunks).split(b"\n\n")
    return [int(frame[4 : frame.index(b"\n")]) for frame in found if frame.startswith(b"id: ")]


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
    st.lists(st.integers(0, 60), min_size=1, max_size=5),
    st.sampled_from([200, 100_000]),
)
def test_every_watcher_sees_each_event_once(bursts: list[int], starts: list[int], kept: int) -> None:
    """Whatever the bursts, wherever watchers begin, and however little of the log is kept."""

    async def one(record: Record, feeds: Feeds, uid: str, after: int) -> list[int]:
        from studio.feeds import last_seq

        last = await last_seq(record, uid)
        place = place_of(str(after), 1, last)
        feed = await feeds.join(uid, last)
        chunks = []
        async for chunk in watch(feed, record, place, Watch(1, last)):
            chunks.append(chunk)
            await asyncio.sleep(0.001 * (after % 3))
        await feeds.leave(feed)
        return ids(chunks)

    async def main() -> None:
        record = open_record(None, SystemClock())
        await record.open()
        uid = await _begin(record, "r")
        feeds = Feeds(record, Quiet())
        watchers = []
        for number, burst in enumerate(bursts):
            if number < len(starts):
                watchers.append(
                    (starts[number], asyncio.create_task(one(record, feeds, uid, starts[number])))
                )
            await _say(record, "r", burst)
            await asyncio.sleep(0.002)
        await _end(record, "r")
        total = 2 + sum(bursts) + 1
        for after, task in watchers:
            seen = await asyncio.wait_for(task, 10)
            known = seen[0] - 1 if seen else after
            assert seen == list(range(known + 1, total + 1)) and known in (0, after)
        assert feeds.watchers == 0
        await record.close()

    before = feeds_module.KEPT_BYTES
    feeds_module.KEPT_BYTES = kept
    try:
        asyncio.run(main())
    finally:
        feeds_module.KEPT_BYTES = before


async def test_quiet_stream_shows_signs_of_life_and_stops_on_request(record: Record) -> None:
    uid = await _begin(record, "r")
    feeds = Feeds(record, Quiet())
    feed = await feeds.join(uid, 2)
    source = watch(feed, record, Place(2, False), Watch(1, 2, ping_s=0.01))
    assert [await anext(source), await anext(source)] == [b"retry: 1000\n\n", b": ping\n\n"]
    feeds.stop()
    rest = [chunk async for chunk in source]
    assert b"event: end\ndata: {}\n\n" not in rest, "the browser is to come again once the server is back"
    await feeds.leave(feed)
    assert feeds.watchers == 0


async def test_stream_of_a_store_that_closes_ends(record: Record) -> None:
    uid = await _begin(record, "r")
    feeds = Feeds(record, Quiet())
    feed = await feeds.join(uid, 2)
    source = watch(feed, record, Place(2, False), Watch(1, 2))
    await anext(source)
    rest = asyncio.create_task(_drain(source))
    await record.close()
    await asyncio.wait_for(rest, 5)
    await feeds.leave(feed)


async def _drain(source: Any) -> list[bytes]:
    return [chunk async for chunk in source]


async def test_stream_is_left_when_nothing_of_it_was_read(record: Record) -> None:
    """A client that is gone before the first byte leaves nothing behind."""
    uid = await _begin(record, "r")
    feeds = Feeds(record, Quiet())
    response = await open_stream(feeds, record, uid, None, None)

    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        await asyncio.sleep(10)

    await asyncio.wait_for(response({"type": "http"}, gone, send), 5)
    assert feeds.watchers == 0


async def test_end_of_one_run_is_no_end_of_the_session(record: Record) -> None:
    uid = await _begin(record, "one")
    await _begin(record, "two")
    feeds = Feeds(record, Quiet())
    feed = await feeds.join(uid, 3)
    of_one = asyncio.create_task(_drain(watch(feed, record, Place(0, False), Watch(1, 3, "one"))))
    of_all = asyncio.create_task(_drain(watch(feed, record, Place(0, False), Watch(1, 3))))
    await _end(record, "one")
    chunks = await asyncio.wait_for(of_one, 5)
    assert chunks[-1] == b"event: end\ndata: {}\n\n" and ids(chunks) == [1, 2, 3, 4]
    assert not of_all.done()
    await _end(record, "two")
    assert ids(await asyncio.wait_for(of_all, 5)) == [1, 2, 3, 4, 5]
    await feeds.leave(feed)


def test_frames_hold_the_stored_json(live: Live) -> None:
    token = live.token("reader", "runner")
    run = begin(live, token)
    live.wait(token, run["run_id"])
    path = f"{A}/sessions/{run['session_uid']}/events"
    only = live.request("GET", f"{path}?run={run['run_id']}&limit=3&after=1", token=token).json
    assert [event["seq"] for event in only["events"]] == [2, 3, 4] and only["next"] == 4
    assert json.loads(read(live, token, path)[1].data) == only["events"][0]

"""Erasing: no copy of a value stays anywhere, and everything else stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.errors import Conflict, NotFound
from runtime.events import (
    AgentRequest,
    AgentUsage,
    MemoryErased,
    MemoryWrite,
    ModelCalled,
    NodeFinished,
    RunFinished,
    ToolRequest,
    ToolResponse,
)
from runtime.facts import Erase, Erased, Shelf
from runtime.messages import Message, ToolCall
from runtime.record import RunEnd, Turn
from runtime.usage import Usage
from tests.runtime.store.support import Scene, open_scene

ANN = Shelf("real", "flow", "user", "ann")
BOB = ANN._replace(owner="bob")
MARKER = 'Zanzibar-7 "quoted" <é>\n第二行'
"""With everything that JSON and a prompt's fence write otherwise."""


async def erase(scene: Scene, *keys: str, shelf: Shelf = ANN, preview: bool = False) -> Erased:
    def said(erased: Erased) -> list[MemoryErased]:
        about: dict[str, Any] = {"at": scene.at, "namespace": shelf.namespace, "scope": shelf.scope}
        return [MemoryErased(**about, keys=erased.keys, receipt=erased.receipt, places=erased.places)]

    wish = Erase(keys=keys, receipt="R-1", at=scene.at, preview=preview)
    erased, entries = await scene.record.erase_facts(shelf, wish, said)
    assert bool(entries) is not preview
    return erased


async def live(scene: Scene, value: Any, *, user: str = "ann", run_id: str = "run-1", key: str = "k") -> None:
    """A whole run in which a value is told, remembered, called with, answered and kept."""
    about: dict[str, Any] = {"at": scene.at, "run_id": run_id, "node_id": "agent", "step": 1}
    shelf = ANN._replace(owner=user)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    arguments = msgspec.json.encode({"key": key, "value": value}).decode()
    call = ToolCall("c1", "memory_write", arguments)
    messages = (Message("user", f"It is {text}, is it not?"), Message("assistant", None, (call,)))
    await scene.claim(run_id, f"session of {run_id}", user=user)
    await scene.record.append(
        run_id,
        [
            AgentRequest(**about, text=f"It is {text}, is it not?"),
            ModelCalled(**about, call="c", purpose="main", model="m", messages=messages, digest="d"),
            AgentUsage(**about, call="c", purpose="main", model="m", usage=Usage(input=1234567, output=3)),
            ToolRequest(**about, call="c1", tool="memory_write", arguments={"key": key, "value": value}),
            MemoryWrite(
                **about,
                namespace="flow",
                scope="user",
                keys=(key,),
                outcome="created",
                version=1,
                value=value,
            ),
            ToolResponse(**about, call="c1", tool="memory_read", result={"facts": {key: value}}),
            NodeFinished(**about, output={"text": f"Noted: {text}.", "n": 7}),
        ],
    )
    await scene.write(shelf, key, value, run_id=run_id, origin="model")
    opened = await scene.opened("call/1", run_id=run_id)
    result = {"reply": {"message": msgspec.to_builtins(messages[1]), "finish": "stop"}, "cost": 5}
    await scene.close(opened, run_id=run_id, result=result)
    end = RunEnd(
        run_id=run_id,
        state="completed",
        outputs={"answer": f"Noted: {text}."},
        turns=(Turn(node_id="agent", messages=messages),),
        at=scene.at,
    )
    finished = RunFinished(at=scene.at, run_id=run_id, state="completed", outputs=end.outputs)
    await scene.record.finish(end, [], lambda _: [finished])


async def everything(scene: Scene, user: str, run_id: str = "run-1") -> str:
    """Whatever can be read of a user, as one text of JSON strings decoded."""
    uid = scene.sessions[run_id]
    found: list[Any] = [await scene.events(run_id), await scene.record.history(uid, "agent")]
    for shelf, _ in await scene.record.shelves("real", user):
        found.append(await scene.record.fact_versions(shelf))
    found += [await scene.record.run(run_id)]
    raw = msgspec.json.encode(found).decode()
    return raw + raw.replace("\\\\", "\\").replace('\\"', '"').replace("\\n", "\n")


@pytest.mark.promise("MEM-10")
@pytest.mark.parametrize(
    "value", ["Amsterdam-Noord", MARKER, {"street": "Prinsengracht 263", "no": 1}, 31415926]
)
async def test_an_erased_value_stands_nowhere(scene: Scene, value: Any) -> None:
    await live(scene, value)
    before = await scene.events()
    assert "memory_write" in await everything(scene, "ann")
    erased = await erase(scene, "k")
    after = await everything(scene, "ann")
    needle = value if isinstance(value, str) else "Prinsengracht" if isinstance(value, dict) else str(value)
    assert needle not in after
    assert needle.split("\n")[0].split(" <")[0] not in after
    assert "[erased R-1]" in after
    (fact,) = await scene.versions(ANN, "k")
    assert (fact.state, fact.value) == ("erased", "[erased R-1]")
    assert await scene.current(ANN) == {}
    assert erased.places["facts"] == 1
    assert {"events", "turns", "outputs", "calls"} <= erased.places.keys()
    events = await scene.events()
    kept = ("seq", "type", "at", "usage", "call", "tool", "run_id", "step", "v")
    assert [{name: event.get(name) for name in kept} for event in events] == [
        {name: event.get(name) for name in kept} for event in before
    ]


async def test_the_history_stays_valid(scene: Scene) -> None:
    await live(scene, "Amsterdam-Noord")
    await erase(scene, "k")
    user, asked = await scene.record.history(scene.sessions["run-1"], "agent")
    assert user.content == "It is [erased R-1], is it not?"
    assert asked.tool_calls[0].id == "c1"
    assert msgspec.json.decode(asked.tool_calls[0].arguments) == {"key": "k", "value": "[erased R-1]"}


async def test_a_short_value_is_erased_where_its_key_says_so_and_else_counted(scene: Scene) -> None:
    await live(scene, "Ghent")
    shown = await erase(scene, "k", preview=True)
    assert shown.left["events"] >= 1
    assert await scene.current(ANN) == {"k": "Ghent"}
    erased = await erase(scene, "k")
    assert (erased.places, erased.left) == (shown.places, shown.left)
    by_type = {event["type"]: event for event in await scene.events()}
    assert by_type["memory.write"]["value"] == "[erased R-1]"
    assert by_type["tool.request"]["arguments"] == {"key": "k", "value": "[erased R-1]"}
    assert by_type["tool.response"]["result"] == {"facts": {"k": "[erased R-1]"}}
    assert by_type["agent.request"]["text"] == "It is Ghent, is it not?"
    _, asked = await scene.record.history(scene.sessions["run-1"], "agent")
    assert "Ghent" not in asked.tool_calls[0].arguments


async def test_a_value_that_is_a_word_of_ours_breaks_no_event(scene: Scene) -> None:
    for number, word in enumerate(("completed", "agent.usage", "assistant", "run.finished", "run-1")):
        run_id = f"run-{number}"
        await live(scene, word, run_id=run_id, key=f"k{number}")
        before = await scene.types(run_id)
        await erase(scene, f"k{number}")
        assert await scene.types(run_id) == before
        line = await scene.record.run(run_id)
        assert line is not None
        assert line.state == "completed"
        assert [m.role for m in await scene.record.history(scene.sessions[run_id], "agent")] == [
            "user",
            "assistant",
        ]


async def test_another_users_same_words_are_theirs(scene: Scene) -> None:
    await live(scene, "Amsterdam-Noord")
    await live(scene, "Amsterdam-Noord", user="bob", run_id="run-2")
    before = await everything(scene, "bob", "run-2")
    await erase(scene, "k")
    assert await everything(scene, "bob", "run-2") == before
    assert await scene.current(BOB) == {"k": "Amsterdam-Noord"}


async def test_summaries_and_copies_lose_the_words_and_keep_the_rest(scene: Scene) -> None:
    await live(scene, "Amsterdam-Noord")
    await scene.write(ANN, "__summary", "Ann lives in Amsterdam-Noord and cycles.", kind="summary")
    await scene.write(ANN._replace(namespace="other"), "home", "Amsterdam-Noord")
    uid = scene.sessions["run-1"]
    await scene.write(Shelf("real", "flow", "session", uid), "note", ["x", "Amsterdam-Noord"])
    erased = await erase(scene, "k")
    assert erased.places["other facts"] == 3
    assert await scene.current(ANN) == {"__summary": "Ann lives in [erased R-1] and cycles."}
    assert await scene.current(ANN._replace(namespace="other")) == {}
    assert await scene.current(Shelf("real", "flow", "session", uid)) == {"note": ["x", "[erased R-1]"]}


async def test_every_version_goes_and_nothing_takes_it_back(scene: Scene) -> None:
    for value in ("first value", "second value", "third value"):
        await scene.write(ANN, "k", value)
    await scene.write(ANN, "k", "a rival value", origin="tainted")
    assert (await erase(scene, "k")).versions == 4
    assert {fact.state for fact in await scene.versions(ANN, "k")} == {"erased"}
    with pytest.raises(Conflict, match="erased"):
        await scene.record.undo_fact(ANN, "k", "ann", scene.at, lambda _: [])
    with pytest.raises(NotFound):
        await erase(scene, "k")
    await scene.write(ANN, "k", "new value")
    with pytest.raises(Conflict, match="erased"):
        await scene.record.undo_fact(ANN, "k", "ann", scene.at, lambda _: [])
    assert await scene.current(ANN) == {"k": "new value"}


async def test_nothing_is_erased_while_a_run_may_write_it_again(scene: Scene) -> None:
    await scene.write(ANN, "k", "Amsterdam-Noord")
    await scene.claim("run-1")
    with pytest.raises(Conflict, match="run-1"):
        await erase(scene, "k")
    await erase(scene, "k", preview=True)
    assert await scene.current(ANN) == {"k": "Amsterdam-Noord"}
    await scene.finish("run-1", "cancelled")
    await erase(scene, "k")


async def test_facts_of_a_session_without_a_user_are_erased_in_it_alone(scene: Scene) -> None:
    await live(scene, "Amsterdam-Noord", user="ann")
    claimed = await scene.claim("run-9", "nobody's", user=None)
    await scene.say("run-9", "n")
    shelf = Shelf("real", "flow", "session", claimed.session_uid)
    await scene.write(shelf, "k", "Amsterdam-Noord")
    await scene.finish("run-9", "cancelled")
    await erase(scene, "k", shelf=shelf)
    assert await scene.current(shelf) == {}
    assert await scene.current(ANN) == {"k": "Amsterdam-Noord"}


@pytest.mark.promise("MEM-10")
@pytest.mark.parametrize("size", [1, 300])
async def test_no_byte_of_an_erased_value_is_left_in_the_files(tmp_path: Path, size: int) -> None:
    """Small and large enough for several pages, and among much that was moved about before."""
    path = tmp_path / "farthing.db"
    scene = await open_scene(path)
    marker = "UNIQUE-MARKER-0193"
    await live(scene, marker * size)
    for number in range(24):
        await live(
            scene,
            f"{marker}-{number}. {'filling ' * (number * 17)}",
            run_id=f"more-{number}",
            key=f"k{number}",
        )
        if number % 3 == 0:
            await erase(scene, f"k{number}")
    erased = await erase(scene, "k", *(f"k{number}" for number in range(24) if number % 3))
    assert (erased.swept, erased.remains) == (True, False)
    for part in tmp_path.iterdir():
        assert marker.encode() not in part.read_bytes(), part.name
    await scene.record.close()

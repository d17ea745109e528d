"""Tools in runs: offered, called, answered, bounded, redacted; what a flow needs for them."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.errors import BadFlow, NotGranted
from runtime.run.services import Services
from runtime.run.start import RunRequest, execute
from runtime.settings import load_settings
from runtime.settings.model import Secret
from runtime.testing import Bench
from runtime.tools.registry import installed_tools
from runtime.trust import needs_hash
from tests.flows import calls, flow, node, says
from tests.runtime.run.tooling import add, run, with_tools


async def test_a_function_is_offered_called_and_answered() -> None:
    ran = await run(with_tools("add"), [calls("add", {"a": "2"}), says("done")], add)
    (offered,) = ran.requests[0].tools
    assert (offered.name, offered.description) == ("add", "Add two whole numbers.")
    assert offered.parameters["properties"]["a"] == {"type": "integer"}
    (asked,), (answered,) = ran.of("tool.request"), ran.of("tool.response")
    assert (asked.tool, asked.arguments, asked.effect) == ("add", {"a": "2"}, "once")
    assert (answered.result, answered.call, answered.truncated) == (3, asked.call, False)
    assert ran.requests[1].messages[-1].content == "3"
    assert ran.text == "done"


@pytest.mark.parametrize("strategy", ["json", "thinker"])
async def test_functions_are_called_by_every_strategy(strategy: str) -> None:
    thought = [says("I add.")] if strategy == "thinker" else []
    script = [
        *thought, says('{"action": "add", "arguments": {"a": 2}}'),
        *thought, says('{"action": "answer", "answer": "3"}'),
    ]  # fmt: skip
    ran = await run(with_tools("add", agent={"strategy": strategy}), script, add)
    assert [event.result for event in ran.of("tool.response")] == [3]


@pytest.mark.promise("TOO-3")
async def test_calls_of_one_step_run_at_the_same_time_with_results_in_call_order() -> None:
    meeting = threading.Barrier(3, timeout=10)

    def slow(n: int) -> int:
        """Wait for the two others, then longer the smaller the number."""
        meeting.wait()
        time.sleep(0.02 * (3 - n))
        return n

    three = says("", tool_calls=[{"name": "slow", "arguments": {"n": n}} for n in range(3)])
    ran = await run(with_tools("slow"), [three, says("done")], slow)
    told = [m.content for m in ran.requests[1].messages if m.role == "tool"]
    assert told == ["0", "1", "2"]
    assert len({event.call for event in ran.of("tool.response")}) == 3


async def fails() -> None:
    """Fail."""
    raise ValueError("no\nluck with 0123-secret-value " + "x" * 1000)


def hangs() -> None:
    """Never end."""
    threading.Event().wait(30)


async def hangs_async() -> None:
    """Never end, and mind no cancelling at first."""
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        await asyncio.sleep(0.01)
        raise


def leaves() -> None:
    """Try to end the process."""
    raise SystemExit(3)


def gives_an_object() -> object:
    """Give what JSON cannot hold."""
    return object()


@pytest.mark.promise("TOO-2", "RUN-6")
@pytest.mark.parametrize(
    ("function", "code", "words"),
    [
        (fails, "tool.failed", "fails failed: ValueError: no luck with [secret pass] xxx"),
        (hangs, "tool.timeout", "hangs did not end within 0.1 s."),
        (hangs_async, "tool.timeout", "hangs_async did not end within 0.1 s."),
        (leaves, "tool.failed", "leaves failed: SystemExit: 3"),
        (gives_an_object, "tool.bad_result", "gives_an_object was called, but gave what JSON cannot hold"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_a_tool_that_fails_is_answered_to_the_model(function: Any, code: str, words: str) -> None:
    settings = load_settings({"FARTHING_CONFIG": os.devnull}, folder=None)
    secret = Secret(name="pass", value="0123-secret-value")
    settings = msgspec.structs.replace(settings, secrets={"pass": secret})
    document = with_tools(function.__name__, timeout_s=0.1)
    async with Bench(settings=settings, tools=[function]) as bench:
        began = time.monotonic()
        script = [calls(function.__name__, {}), says("sorry")]
        ran = await bench.run(document, "go", script=script, strict=True, real_tools=True)
        assert time.monotonic() - began < 5
        assert (await bench.run(document, "again", script=[says("fine")], strict=True)).text == "fine"
    (answered,) = ran.of("tool.response")
    assert answered.error.code == code
    assert answered.error.message.startswith(words)
    assert len(answered.error.message) < 400
    assert "Traceback" not in answered.error.message
    told = msgspec.json.decode(ran.requests[1].messages[-1].content or "")
    assert told == {"error": answered.error.message}
    assert ran.text == "sorry"


@pytest.mark.promise("TOO-1")
async def test_arguments_that_do_not_fit_are_told_in_words_and_nothing_is_called() -> None:
    called = []

    def book(day: int, room: str) -> None:
        """Book a room."""
        called.append((day, room))

    script = [calls("book", {"day": "soon", "rom": "A"}), says("done")]
    ran = await run(with_tools("book"), script, book)
    (answered,) = ran.of("tool.response")
    assert called == []
    assert answered.error.code == "tool.bad_arguments"
    assert answered.error.message == (
        "book was not called: `day` should be a valid integer, unable to parse string as an integer;"
        " `room` is missing; there is no argument `rom`. It takes `day`, `room`."
    )


@pytest.mark.parametrize("arguments", ['{"a": 1e999}', '{"a": "\\ud800"}', '{"a": 1, "b": NaN}'])
async def test_numbers_and_characters_that_no_event_can_hold_are_refused(arguments: str) -> None:
    ran = await run(with_tools("add"), [calls("add", arguments), says("done")], add)
    assert ran.of("tool.response")[0].error.code == "tool.bad_arguments"
    assert ran.text == "done"


def big() -> str:
    """Give 5 MB."""
    return "word " * 1_000_000


def numbers() -> dict[str, float]:
    """Give what is no number."""
    return {"a": float("nan"), "b": float("-inf"), "c": 0.5}


@pytest.mark.promise("TOO-2")
async def test_a_long_result_is_cut_and_says_how_much() -> None:
    ran = await run(with_tools("big", max_result_tokens=100), [calls("big", {}), says("done")], big)
    (answered,) = ran.of("tool.response")
    assert answered.truncated
    assert answered.result.startswith("word word")
    assert answered.result.endswith(" of 5,000,000 characters are left out]")
    assert len(answered.result) < 1000
    assert ran.requests[1].messages[-1].content == answered.result


async def test_nan_is_told_as_a_text_and_reaches_no_event() -> None:
    ran = await run(with_tools("numbers"), [calls("numbers", {}), says("done")], numbers)
    assert ran.of("tool.response")[0].result == {"a": "NaN", "b": "-Infinity", "c": 0.5}


@pytest.mark.promise("TOO-2")
async def test_what_a_tool_prints_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    async def says_so() -> str:
        """Print, and be async."""
        print("from a task")
        await asyncio.sleep(0)
        return "ok"

    def says_too() -> str:
        """Print, and be in a thread."""
        print("from a thread")
        return "ok"

    both = says("", tool_calls=[{"name": name, "arguments": {}} for name in ("says_so", "says_too")])
    await run(with_tools("says_so", "says_too"), [both, says("done")], says_so, says_too)
    print("from us")
    seen = capsys.readouterr()
    assert seen.out == "from us\n"
    assert sorted(seen.err.splitlines()) == ["from a task", "from a thread"]


# -- what a flow needs


@pytest.mark.promise("TOO-6")
async def test_needs_are_granted_before_a_tool_may_be_used(tmp_path: Path) -> None:
    tools = tmp_path / "mine.py"
    tools.write_text('def shout(text: str) -> str:\n    """Shout."""\n    return text.upper()\n')
    path = tmp_path / "flow.json"
    document = with_tools("shout", "calculator", "current_time")
    document["nodes"].append(node("files", "tool", function="read_file", folder="docs"))
    document["edges"].append({"source": "files", "target": "a", "target_port": "tool"})
    path.write_bytes(msgspec.json.encode(document))
    async with Bench() as bench:
        settings = msgspec.structs.replace(bench.settings, db=tmp_path / "f.db")
        services = Services(bench.record, settings, bench.clock, tools=installed_tools([tools]))
        request = RunRequest(flow_bytes=path.read_bytes(), flow_path=path, input="go", user="u")
        with pytest.raises(NotGranted) as refused:
            await execute(request, services)
        wanted = {f"tool shout ({tools})", f"folder {tmp_path / 'docs'}"}
        assert needs_hash(wanted) in str(refused.value)
        allowed = msgspec.structs.replace(request, allow=needs_hash(wanted))
        assert (await execute(allowed, services)).state == "completed"
        assert (await execute(request, services)).state == "completed"


async def test_a_flow_that_takes_a_tool_for_more_harmless_must_be_granted_that(tmp_path: Path) -> None:
    from runtime.plan import compile_flow
    from runtime.registry import installed
    from runtime.spec import load_flow

    def find() -> Any:
        return installed_tools(given=[add])

    def needs(**config: Any) -> tuple[str, ...]:
        raw = msgspec.json.encode(with_tools("add", **config))
        return compile_flow(load_flow(raw), installed(), find).needs

    source = f"({add.__module__})"
    assert needs() == (f"tool add {source}",)
    assert needs(effect="once") == needs()
    assert needs(effect="none") == (f"tool add {source} as effect none",)


async def test_two_tools_of_one_name_for_one_agent_are_refused() -> None:
    document = with_tools("add")
    document["nodes"].append(node("more", "tool", function="add"))
    document["edges"].append({"source": "more", "target": "a", "target_port": "tool"})
    with pytest.raises(BadFlow) as refused:
        await run(document, [], add)
    assert [p.code for p in refused.value.problems] == ["tool.same_name"]


async def test_a_node_of_ones_own_calls_its_tools_through_the_same_door() -> None:
    from nodes.template import node as template
    from runtime.node import Inputs, NodeContext, NodeResult, NodeType, Port
    from runtime.registry import Registry, installed

    async def use(config: Any, inputs: Inputs, ctx: NodeContext) -> NodeResult:
        return NodeResult([await ctx.call_tool("add", {"a": n}) for n in (1, 2)])

    kind = NodeType(
        name="user", config=template.config, title="U", category="Tools", help="h", icon="i",
        inputs=(Port("in"), Port("tool", "tool")), outputs=(Port("out"),), run=use,
    )  # fmt: skip
    registry = Registry(list, {**{t.name: t for t in installed().all()}, "user": kind})
    document = flow(
        [node("u", "user", text="x"), node("t", "tool", function="add"), node("end", "output")],
        [("u", "end"), ("t", "u", "tool")],
    )
    async with Bench(registry=registry, tools=[add]) as bench:
        ran = await bench.run(document)
    assert ran.outcome.outputs == {"end": [2, 3]}
    assert len({event.call for event in ran.of("tool.response")}) == 2

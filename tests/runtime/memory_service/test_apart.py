"""A law: whatever is said, written, forgotten and recalled, nobody is ever sent what is another user's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.clock import VirtualClock
from runtime.store.opening import open_record
from runtime.testing import Bench
from tests.flows import agent_flow, calls, says
from tests.quick import examples

USERS = ("ann", "ANN", "ann ", "eve")
KEYS = ("bicycle", "brake", "usage")


class Act(NamedTuple):
    """One run: who, in which session, and what is done there."""

    user: str
    session: str
    what: str
    key: str


acts = st.lists(
    st.builds(
        Act,
        st.sampled_from(USERS),
        st.sampled_from(("one", "two")),
        st.sampled_from(("say", "write", "read", "forget", "ask")),
        st.sampled_from(KEYS),
    ),
    min_size=4,
    max_size=10,
)


def script(act: Act, marker: str) -> list[dict[str, Any]]:
    tools = {
        "write": calls("memory_write", {"key": act.key, "value": f"brake {marker}"}),
        "read": calls("memory_read", {}),
        "forget": calls("memory_forget", {"keys": [act.key]}),
    }
    return [*([tools[act.what]] if act.what in tools else []), says(f"the brake answer {marker}")]


async def holds(acts: list[Act], scope: str, path: Path | None) -> None:
    memory = {
        "scope": scope,
        "tools": ["read", "write", "forget"],
        "injection": {"tokens": 300},
        **({"episodes": 5, "priming": {"enabled": True}} if scope == "user" else {}),
    }
    document = agent_flow(agent={"context": {"mode": "full"}}, memory=memory)
    clock = VirtualClock()
    owner: dict[str, tuple[str, str]] = {}
    async with Bench(record=open_record(path, clock), clock=clock) as bench:
        for number, act in enumerate(acts):
            marker = f"zq{number}zq"
            owner[marker] = (act.user, act.session)
            text = f"The brake of my bicycle {marker if act.what == 'say' else ''}"
            ran = await bench.run(
                document, text, script=script(act, marker), user=act.user, session=act.session, strict=True
            )
            sent = "\n".join(m.wire.decode() for request in ran.requests for m in request.messages)
            for other, (user, session) in owner.items():
                if user != act.user or (scope == "session" and session != act.session):
                    assert other not in sent, (act, other)


@pytest.mark.promise("MEM-4")
@pytest.mark.parametrize("scope", ["user", "session"])
@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(acts=acts)
def test_nobody_is_sent_what_is_anothers_in_memory(scope: str, acts: list[Act]) -> None:
    asyncio.run(holds(acts, scope, None))


@pytest.mark.parametrize("scope", ["user", "session"])
@settings(max_examples=examples(8), suppress_health_check=list(HealthCheck))
@given(acts=acts)
def test_nobody_is_sent_what_is_anothers_on_disk(scope: str, acts: list[Act]) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(holds(acts, scope, Path(folder) / "f.db"))

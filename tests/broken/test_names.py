"""Ids that read like a part of another's pot, and the user id under which everyone is counted."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadFlow, BadInput
from runtime.names import fault_in
from runtime.settings import load_settings
from runtime.testing import Bench, run_flow
from tests.flows import agent_flow, says

POT: list[dict[str, Any]] = [{"metric": "tokens", "period": "daily", "limit": 100, "name": "b"}]


@pytest.mark.promise("BUD-12", "BUD-14", "MOD-9")
@pytest.mark.parametrize("field", ["id", "name"])
@pytest.mark.parametrize("found", ["shared:team", "settings", "limit", "*", "@admin", "a/b"])
async def test_flow_cannot_go_by_an_id_that_leads_into_another_pot(found: str, field: str) -> None:
    with pytest.raises(BadFlow) as caught:
        await run_flow(agent_flow(budgets=POT) | {field: found}, "Hello", script=[says("Hi")])
    assert repr(found) in str(caught.value)


async def test_name_may_hold_what_an_id_may_not() -> None:
    ran = await run_flow(agent_flow(budgets=POT) | {"id": "q", "name": "Q/A"}, "Hello", script=[says("Hi")])
    assert ran.outcome.state == "completed"


@pytest.mark.promise("BUD-8", "LED-2")
async def test_nobody_goes_by_the_name_of_everyone() -> None:
    with pytest.raises(BadInput, match="user"):
        await run_flow(agent_flow(budgets=POT), "Hello", script=[says("Hi")], user="*")


@pytest.mark.promise("EVT-7")
@pytest.mark.parametrize("what", ["user", "session"])
async def test_no_name_holds_a_configured_secret(what: str) -> None:
    secret = "very-secret-value-0815"
    settings = load_settings({"FARTHING_CONFIG": os.devnull, "OPENAI_API_KEY": secret}, folder=None)
    async with Bench(settings=settings) as bench:
        with pytest.raises(BadInput) as caught:
            names: dict[str, Any] = {what: f"a-{secret}"}
            await bench.run(agent_flow(), "Hello", script=[says("Hi")], **names)
    assert caught.value.code == "run.secret_name"
    assert secret not in str(caught.value)


BAD_NAMES = {
    "x" * 100_000: "has 100,000 characters, more than 256",
    "": "is empty",
    " \t": "is empty",
    "a\x1b[2Jb": "has a control character, U+001B, as character 2",
    "ada\n": "has a control character, U+000A, as character 4",
    "a\u2028b": "has a control character, U+2028, as character 2",
    "\x9f": "has a control character, U+009F, as character 1",
}
GOOD_NAMES = ["x" * 256, "Ada Lovelace", "o'hara; ls", "李", "👩‍👩‍👧", "a\u202eb", "spiffe://x/y?z=1", " a "]


@pytest.mark.promise("CLI-15")
@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name[:9]))
async def test_what_cannot_be_a_name_is_refused_with_why(name: str) -> None:
    for what in ("user", "session"):
        if what == "session" and not name:
            continue  # no session is named
        names: dict[str, Any] = {what: name}
        with pytest.raises(BadInput) as caught:
            await run_flow(agent_flow(), "Hello", script=[says("Hi")], **names)
        assert BAD_NAMES[name] in caught.value.message and len(str(caught.value)) < 200
    for field in ("id", "name") if name else ("name",):  # without an id the name serves
        with pytest.raises(BadFlow) as refused:
            await run_flow(agent_flow() | {field: name}, "Hello", script=[says("Hi")])
        assert len(str(refused.value)) < 300


@pytest.mark.parametrize("name", GOOD_NAMES)
async def test_what_can_be_a_name_reaches_storage_as_it_is(name: str) -> None:
    async with Bench() as bench:
        ran = await bench.run(agent_flow(), "Hello", script=[says("Hi")], user=name, session=name)
        line = await bench.record.session(ran.outcome.session_uid)
    assert line is not None and (line.user_id, line.name) == (name, name)


@given(name=st.text())
def test_a_name_is_refused_or_has_nothing_that_moves_the_cursor(name: str) -> None:
    fault = fault_in(name)
    if fault is None:
        assert name.strip() and len(name) <= 256 and len(name.splitlines()) == 1
        assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in name)

"""Care of memory over HTTP: which models could judge at which price, and every change of a large shelf."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from runtime.facts import FactWrite
from tests.fake_model.plays import answer
from tests.fake_model.server import FakeModel
from tests.studio.conftest import settings_for
from tests.studio.live import Live
from tests.studio.test_memory import ask, ended, looked, write


def test_models_are_offered_with_their_prices_and_the_one_that_is_chosen_is_asked(
    fake_model: FakeModel, own_live: Callable[..., Live]
) -> None:
    dear = '[providers.fake.prices.dear]\ninput = "10"\noutput = "40"\n'
    other = f'[providers.own]\nbase_url = "{fake_model.url}"\ndefault_model = "unpriced"\n'
    live = own_live(settings_for(fake_model) + dear + other)
    chief, viewer = live.token("chief", "operator"), live.token("vi", "viewer")
    for key, value in (("home", "lives in Ghent"), ("place", "lives in Ghent too")):
        body = {"namespace": "talk", "scope": "user", "owner": "chief", "key": key, "value": value}
        ask(live, chief, "PUT", "/facts", body)
    asked = ask(live, chief, "GET", "/memory/judging")
    assert asked["model"] == "fake:ok" and asked["pairs"] == 1
    offers = {offer["name"]: offer for offer in asked["models"]}
    assert asked["models"][0]["name"] == "fake:ok" and set(offers) == {"fake:ok", "fake:dear", "own:unpriced"}
    assert [offer["default"] for offer in asked["models"]] == [True, False, False]
    assert (offers["fake:dear"]["input"], offers["fake:dear"]["output"]) == ("10", "40")
    assert float(offers["fake:dear"]["cost"]) == pytest.approx(10 * float(offers["fake:ok"]["cost"]))
    assert (offers["own:unpriced"]["input"], offers["own:unpriced"]["cost"]) == (None, None)
    assert not any(offer["free"] for offer in asked["models"])
    assert asked["cost"] == offers["fake:ok"]["cost"]
    named = ask(live, chief, "GET", "/memory/judging?model=ollama:small")["models"][-1]
    assert (named["name"], named["free"], named["cost"]) == ("ollama:small", True, "0")
    ask(live, chief, "GET", "/memory/judging?model=nobody:x", status=422)
    assert ask(live, viewer, "GET", "/memory/judging")["pairs"] == 0

    fake_model.play(answer(json.dumps({"verdicts": [{"pair": 1, "relation": "same"}]})))
    ask(live, chief, "POST", "/memory/judge", {"model": "nobody:x"}, 422)
    ask(live, chief, "POST", "/memory/judge", {"model": "scripted"}, 400)
    ask(live, chief, "POST", "/memory/judge", {"model": "fake:dear"}, 202)
    until = time.monotonic() + 10
    while (last := ask(live, chief, "GET", "/memory/consolidation/progress")["last"])["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert last["state"] == "done", last
    assert fake_model.calls[-1].body["model"] == "dear"


def test_every_change_of_a_large_shelf_can_be_looked_at_found_and_left_out(live: Live) -> None:
    token, chief = live.token("liv", "runner"), live.token("chief", "operator")
    shelf = {"namespace": "talk", "scope": "user", "owner": "liv"}
    now = live.studio.services.clock.now()
    soon = now + timedelta(milliseconds=10)
    for number in range(503):
        fact = FactWrite(key=f"k{number:04}", value=f"note {number}", origin="model", valid_to=soon)
        write(live, "liv", fact)
    time.sleep(0.02)
    told, changes = looked(live, token)
    (plan,) = told["shelves"]
    assert (len(changes), plan["more"], plan["waiting"]) == (500, 3, 0)
    assert len(set(plan["ids"])) == 503 and [change["id"] for change in changes] == plan["ids"][:500]
    where = "/memory/consolidation/changes?rehearsal=1&" + "&".join(f"{k}={v}" for k, v in shelf.items())
    last = ask(live, token, "GET", f"{where}&plan={told['plan']}&offset=500&limit=50")
    assert [change["id"] for change in last["changes"]] == plan["ids"][500:] and last["ids"] == plan["ids"]
    assert last["changes"][0]["fact"]["value"].startswith("note ")
    found = ask(live, token, "GET", f"{where}&text=NOTE%20502")
    assert [change["key"] for change in found["changes"]] == ["k0502"] and len(found["ids"]) == 1
    ask(live, token, "GET", f"{where}&plan=another", status=409)
    for wrong in ("limit=0", "limit=501", "offset=-1", f"text={'x' * 201}"):
        ask(live, token, "GET", f"{where}&{wrong}", status=400)
    other = where.replace("owner=liv", "owner=eve")
    ask(live, token, "GET", other, status=404)
    left = [each for each in plan["ids"] if each != last["ids"][502]]
    body = {"user": "liv", "rehearsal": True, "plan": told["plan"], "leave": left}
    ask(live, chief, "POST", "/memory/consolidate", body, 202)
    assert ended(live, token)["made"] == 1
    assert len(looked(live, token)[0]["shelves"][0]["ids"]) == 502

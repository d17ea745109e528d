"""Every example flow runs with no key, and its timeline is the one that was looked at and kept.

`KEEP_TIMELINES=1 pytest tests/test_flows.py` keeps today's timelines; look at the difference.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.plan import compile_flow
from runtime.registry import installed
from runtime.spec import load_flow, save_flow
from runtime.testing import Bench

ROOT = Path(__file__).parent.parent
FLOWS = sorted(path for path in (ROOT / "flows").glob("*.json") if not path.name.endswith(".script.json"))
KEPT = ROOT / "tests" / "data" / "timelines"


class Turn(msgspec.Struct, forbid_unknown_fields=True):
    """One run of an example; turns of one flow share a store."""

    input: Any
    user: str = "ada"
    session: str = "one"
    timeline: list[dict[str, Any]] = []


def name_of(path: Path) -> str:
    return path.stem


@pytest.mark.promise("NOD-4")
@pytest.mark.golden
@pytest.mark.parametrize("path", FLOWS, ids=name_of)
async def test_example_has_the_kept_timeline(path: Path) -> None:
    kept = KEPT / path.name
    turns = msgspec.json.decode(kept.read_bytes(), type=list[Turn])
    assert turns, "an example shows at least one turn"
    fresh = []
    async with Bench() as bench:
        for turn in turns:
            ran = await bench.run(path, turn.input, user=turn.user, session=turn.session)
            assert ran.outcome.state in ("completed", "failed")
            assert ran.outcome.rehearsal
            fresh.append(msgspec.structs.replace(turn, timeline=ran.timeline()))
    encoded = msgspec.json.format(msgspec.json.encode(fresh), indent=1) + b"\n"
    if os.environ.get("KEEP_TIMELINES"):
        kept.write_bytes(encoded)
        return
    for turn, now in zip(turns, fresh, strict=True):
        assert now.timeline == turn.timeline


@pytest.mark.parametrize("path", FLOWS, ids=name_of)
def test_example_is_sound_and_saved_in_the_one_spelling(path: Path) -> None:
    loaded = load_flow(path.read_bytes())
    plan = compile_flow(loaded, installed())
    assert plan.warnings == ()
    assert plan.needs == ()
    assert save_flow(loaded.spec) == path.read_bytes()
    assert loaded.spec.description.count(".") >= 1
    assert all(node.config.model is None for node in plan.reasoners), "examples name no model"


def test_every_example_has_a_timeline() -> None:
    assert {path.name for path in FLOWS} == {path.name for path in KEPT.glob("*.json")}

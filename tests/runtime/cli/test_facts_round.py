"""What was exported is imported as it was: export, import and export again give the same bytes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.cli.main import call
from runtime.clock import VirtualClock
from runtime.facts import FactWrite, Shelf
from runtime.store.opening import open_record
from tests.quick import examples
from tests.runtime.cli.conftest import Farthing

text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    ["city", "a=b", "=1+1", "__plan/helper", "__compacted/helper/0198", "__lifecycle", "日本"]
)
acts = st.one_of(
    st.tuples(st.just("write"), keys, value, st.sampled_from(["user", "model", "derived", "tainted"])),
    st.tuples(st.just("forget"), keys),
    st.tuples(st.just("ends"), keys, value),
)


async def play(path: Path, history: list[tuple[Any, ...]]) -> None:
    clock = VirtualClock()
    record = open_record(path, clock)
    await record.open()
    shelves = [Shelf("real", "shop", "user", "ada"), Shelf("real", "bank", "user", "ada")]
    for number, (what, key, *rest) in enumerate(history):
        shelf = shelves[number % 2]
        clock.advance(1)
        if what == "forget":
            await record.forget_facts(shelf, [key], clock.now(), [], run_id=None)
            continue
        wish = FactWrite(
            key=key,
            value=rest[0],
            origin=rest[1] if what == "write" else "user",
            valid_to=clock.now() if what == "ends" else None,
            confidence=0.5,
            subject="ada",
            attribute=f"about {number % 3}",
        )
        await record.write_fact(shelf, wish, clock.now(), lambda _written: [], run_id=None)
    await record.close()


def said(*args: str) -> bytes:
    """What a command prints that goes well."""
    with CliRunner().isolation(env={"FARTHING_CONFIG": os.devnull}) as (out, err, _):
        assert call(args) == 0, err.getvalue()
        sys.stdout.flush()
        return out.getvalue()


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(acts, max_size=12))
def test_export_import_and_export_again_are_equal(history: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, second, file = (str(folder / each) for each in ("first.db", "second.db", "facts.jsonl"))
        asyncio.run(play(Path(first), history))
        said("facts", "export", "--internal", "--db", first, "--to", file)
        said("facts", "import", "--internal", "--db", second, file)
        assert said("facts", "export", "--internal", "--db", second) == Path(file).read_bytes()
        said("facts", "import", "--internal", "--db", second, file)
        assert said("facts", "export", "--internal", "--db", second) == Path(file).read_bytes()


def test_facts_of_farthings_own_are_read_where_that_is_said(farthing: Farthing, folder: Path) -> None:
    asyncio.run(play(folder / "a.db", [("write", "__plan/helper", {"items": ["x" * 5000]}, "derived")]))
    farthing("facts", "export", "--internal", "--db", "a.db", "--to", "own.jsonl")
    refused = farthing("facts", "import", "own.jsonl", "--db", "b.db")
    assert refused.code == 2
    assert "'__plan/helper' is Farthing's own" in refused.err and "--internal" in refused.err
    assert farthing("facts", "import", "own.jsonl", "--db", "b.db", "--internal").err.startswith("1 added")
    (fact,) = json.loads(farthing("facts", "list", "--internal", "--json", "--db", "b.db").out)
    assert fact["key"] == "__plan/helper"

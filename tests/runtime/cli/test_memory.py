"""`farthing memory compact`: by hand, whatever the monitor says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.flows import agent_flow
from tests.runtime.cli.conftest import Farthing


def talk(farthing: Farthing, folder: Path, turns: int, *, enabled: bool = True) -> None:
    """A rehearsed session of so many turns."""
    document = agent_flow(
        agent={"context": {"mode": "full"}}, memory={"compaction": {"enabled": enabled}}, name="talk"
    )
    (folder / "talk.json").write_text(json.dumps(document))
    for turn in range(turns):
        text = f"Turn {turn}: the chain of my tandem slips and the rear brake squeals. " * 3
        assert farthing("run", "talk.json", text, "--session", "s").code == 0


def test_a_sessions_old_turns_are_summed_up_by_hand(farthing: Farthing, folder: Path) -> None:
    talk(farthing, folder, 10)
    said = farthing("memory", "compact", "--session", "s", "--rehearsal", "--json")
    assert said.code == 0, said.err
    (done,) = said.json
    assert (done["node_id"], done["turns"], done["calls"]) == ("a", 6, 1)
    assert done["errors"] == []
    assert done["tokens_saved"] > 0
    assert farthing("run", "talk.json", "And now?", "--session", "s").code == 0
    events = [json.loads(line) for line in farthing("events", "s", "--rehearsal", "--json").out.splitlines()]
    bill = [event for event in events if event["type"] == "context.assembled"][-1]
    parts = {part["name"]: part for part in bill["sections"]}
    assert parts["summaries"]["tokens"] > 0
    assert parts["history"]["first"] == 12
    again = farthing("memory", "compact", "--session", "s", "--rehearsal")
    assert "a: nothing to sum up." in again.err


def test_the_maintenance_is_no_session_that_events_shows_by_itself(farthing: Farthing, folder: Path) -> None:
    talk(farthing, folder, 10)
    farthing("memory", "compact", "--session", "s", "--rehearsal")
    shown = farthing("events", "--rehearsal", "--json").out
    assert "memory.compacted" not in shown
    assert "memory.compacted" in farthing("events", "@maintenance", "--rehearsal", "--json").out


def test_a_flow_without_compaction_is_told_so(farthing: Farthing, folder: Path) -> None:
    talk(farthing, folder, 1, enabled=False)
    said = farthing("memory", "compact", "--session", "s", "--rehearsal")
    assert said.code == 2
    assert "compaction.enabled" in said.err
    missing = farthing("memory", "compact", "--session", "none", "--rehearsal")
    assert missing.code == 2
    assert "There is no session 'none'" in missing.err

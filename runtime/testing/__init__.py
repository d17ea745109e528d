"""For people who test their flows: a scripted model, a virtual clock, `run_flow`, timelines and spend.

Nothing here touches the network, the user's settings or their database. `runtime.testing_pytest` has the
fixtures; docs/testing.md is the guide.
"""

from runtime.clock import VirtualClock
from runtime.models.scripted import ScriptedModel
from runtime.testing.bench import Bench, FixedClients, Flow, Ran, Script, flow_bytes, run_flow, scripted
from runtime.testing.golden import GOLDEN_LEFT_OUT, golden
from runtime.testing.kept import KEEP, assert_timeline, difference
from runtime.testing.spend import assert_spend

__all__ = [
    "GOLDEN_LEFT_OUT",
    "KEEP",
    "Bench",
    "FixedClients",
    "Flow",
    "Ran",
    "Script",
    "ScriptedModel",
    "VirtualClock",
    "assert_spend",
    "assert_timeline",
    "difference",
    "flow_bytes",
    "golden",
    "run_flow",
    "scripted",
]

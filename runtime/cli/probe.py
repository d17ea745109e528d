"""Trying a model: one small call through the gate, held, settled and recorded like any other.

It is a run of a flow of its own with one node, so budgets, ledger and timeline know it.
"""

from __future__ import annotations

import msgspec

from runtime.messages import Message, Request
from runtime.node import Config, Inputs, NodeContext, NodeResult, NodeType, always
from runtime.registry import Registry
from runtime.run.services import Services
from runtime.run.start import Outcome, RunRequest, execute

FLOW = "@test"
"""The flow that tests are recorded under; ids that begin so are Farthing's own."""
WORDS = "Answer with the one word: ready"
MOST_OUTPUT = 64
"""Tokens of the answer at most: enough for a word, and for models that think before it."""
LONGEST_S = 30.0


class ProbeConfig(Config):
    """A test needs only its model."""

    model: str
    """`provider:name`."""


async def _run(_config: ProbeConfig, _inputs: Inputs, ctx: NodeContext) -> NodeResult:
    request = Request(
        model="", messages=(Message("user", WORDS),), max_output_tokens=MOST_OUTPUT, timeout_s=LONGEST_S
    )
    return NodeResult((await ctx.complete(request, purpose="test")).text)


probe = NodeType(
    name="probe",
    config=ProbeConfig,
    title="Test",
    category="Reason",
    help="Tries a model with one small call.",
    icon="plug",
    run=_run,
    result_of_flow=True,
    reasons=always,
)


async def try_model(services: Services, model: str, user: str) -> Outcome:
    """One call to a model. Raises BadSettings where it is not configured."""
    services.settings.resolve_model(model)
    flow = {
        "format": "farthing.flow/1",
        "id": FLOW,
        "name": FLOW,
        "nodes": [{"id": "probe", "type": "probe", "config": {"model": model}}],
        "edges": [],
    }
    own = Services(
        services.record,
        services.settings,
        services.clock,
        registry=Registry(tuple, {"probe": probe}),
        counter=services.gate.counter,
        clients=services.clients,
    )
    request = RunRequest(flow_bytes=msgspec.json.encode(flow), user=user, model=model, trusted=True)
    return await execute(request, own)

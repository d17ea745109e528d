"""The flows that the processes run, with budgets of every kind on pots of their own and shared ones."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec

from runtime.run.start import RunRequest
from runtime.settings import Settings, load_settings
from tests.flows import agent_flow, flow, node

USERS = ("ada", "bob")
TEAM = {"pot": "shared:team", "metric": "tokens", "period": "weekly", "limit": 1_500}
SETTINGS = """
default_model = "fake:m"
[providers.fake]
base_url = "{url}"
timeout_s = 5.0
[providers.fake.prices.m]
input = "1000"
output = "1000"
[[budget]]
name = "default-daily"
limit = "none"
[[budget]]
name = "house"
for = "all_users_together"
period = "daily"
limit = "5.00"
[[budget]]
name = "mine"
metric = "tokens"
period = "lifetime"
strict = true
limit = 3000
"""


def _solo() -> dict[str, Any]:
    budgets = (
        {"metric": "tokens", "period": "session", "limit": 1_200},
        {"metric": "spend", "period": "run", "limit": "1.20", "strict": True},
    )
    agent = {"max_output_tokens": 60, "max_iterations": 4}
    return agent_flow(agent=agent, memory={"scope": "user"}, budgets=budgets, name="solo")


def _pair() -> dict[str, Any]:
    agent = {"max_output_tokens": 60, "max_iterations": 3}
    nodes = [
        node("start", "input"),
        node("a", "agent", **agent),
        node("b", "agent", **agent),
        node("end", "output"),
        node("team", "budget", **TEAM),
        node("month", "budget", metric="spend", period="monthly", limit="2.00", strict=True),
    ]
    edges: list[Any] = [("start", "a"), ("start", "b"), ("a", "end"), ("b", "end")]
    edges += [(budget, agent, "budget") for budget in ("team", "month") for agent in ("a", "b")]
    return flow(nodes, edges, name="pair")


def _think() -> dict[str, Any]:
    budgets = ({"metric": "tokens", "period": "daily", "limit": 1_200}, TEAM)
    agent = {"max_output_tokens": 60, "strategy": "thinker", "max_iterations": 3}
    return agent_flow(agent=agent, budgets=budgets, name="think")


def _blind(name: str, unknown_cost: str) -> dict[str, Any]:
    budgets = (
        {"metric": "spend", "period": "daily", "limit": "1.00", "unknown_cost": unknown_cost},
        {"metric": "tokens", "period": "session", "limit": 1_200, "strict": True},
    )
    return agent_flow(agent={"max_output_tokens": 60, "model": "fake:x"}, budgets=budgets, name=name)


FLOWS = {
    each["name"]: each
    for each in (_solo(), _pair(), _think(), _blind("blind", "block"), _blind("dim", "warn"))
}


def request(name: str, user: str, session: str, limits: tuple[str, ...] = ()) -> RunRequest:
    """A run of one of the flows."""
    return RunRequest(
        flow_bytes=msgspec.json.encode(FLOWS[name]), input="How are the chains?", session=session, user=user,
        limits=limits, trusted=True,
    )  # fmt: skip


def any_request(chance: random.Random) -> RunRequest:
    """A run of any flow, by any user, in one of few sessions."""
    limits = ("tokens=900",) if chance.random() < 0.2 else ()
    return request(chance.choice(list(FLOWS)), chance.choice(USERS), f"s{chance.randrange(3)}", limits)


def settings_in(folder: Path) -> Settings:
    """The settings that `SETTINGS` was written to."""
    env = {
        "FARTHING_CONFIG": str(folder / "config.toml"),
        "FARTHING_DB": str(folder / "data" / "farthing.db"),
    }
    return load_settings(env, folder=None)

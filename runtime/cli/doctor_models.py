"""Which model would run and why, and which providers are ready."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from runtime.cli.doctor_report import Problem, Section
from runtime.cli.plain import one_line
from runtime.clock import SystemClock
from runtime.errors import FarthingError
from runtime.providers import SCRIPTED, Provider
from runtime.settings import Settings

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
PROBE_S = 0.3
"""How long a server on this machine may take to take a connection, in seconds."""


def model_section(settings: Settings, flag: str | None, problems: list[Problem]) -> Section:
    """Which model a flow that names none would use, and why."""
    why = _why(settings, flag)
    try:
        chosen = settings.resolve_model(flag)
    except FarthingError as error:
        problems.append(Problem(error.message, error.remedy or ""))
        return Section("model", [f"none ({why})"], {"model": None, "why": why})
    name = str(chosen.model)
    if answers(chosen.provider.base_url) is False:
        where = chosen.provider.base_url
        problems.append(
            Problem(f"Nothing answers at {where} ({name}).", "Start that server, or name another model.")
        )
    lines = [f"{one_line(name)}, since {why}"]
    if chosen.provider.name == SCRIPTED:
        lines.append("This rehearses: the scripted model answers, no real one.")
    else:
        lines.append(_price(chosen.provider, chosen.model.name))
    return Section("model", lines, {"model": name, "why": why, "rehearsal": chosen.provider.name == SCRIPTED})


def _price(provider: Provider, model: str) -> str:
    """What the model costs; without a price a limit on spend holds nothing back."""
    from runtime.calls.pricing import price_text

    return price_text(provider, model, SystemClock().now()) or (
        "Its price is not known: unless the provider reports a cost, limits on spend do not count it."
        f" Give it in [providers.{provider.name}.prices], or limit tokens."
    )


def _why(settings: Settings, flag: str | None) -> str:
    """Where the model of a flow that names none comes from, in the order in which it is looked for."""
    if flag:
        return "--model says so"
    if settings.from_env.endpoint:
        return "FARTHING_BASE_URL and FARTHING_MODEL say so"
    if settings.from_env.model:
        return "FARTHING_MODEL says so"
    if settings.folder_model:
        return "farthing.toml in this folder says so"
    if settings.default_model:
        return f"default_model in {settings.path} says so"
    return "no model is set; set FARTHING_MODEL or default_model, or give --model"


def providers_section(settings: Settings) -> Section:
    """Every provider: whether it could be used now, and where its key is from; never the key."""
    lines, data = [], []
    width = max((len(name) for name in settings.providers), default=0)
    for name, provider in settings.providers.items():
        ready = settings.usable(name)
        if provider.key is not None and provider.key_from:
            key = f"key from {provider.key_from}"
        elif name in settings.needs_key:
            key = f"set {provider.key_from}"
        else:
            key = "needs no key"
        state = state_of(provider, ready=ready)
        where = f" · {provider.base_url}" if provider.base_url else ""
        lines.append(f"{one_line(name):<{width}}  {state:<7}  {one_line(key + where)}")
        data.append(
            {
                "name": name,
                "ready": ready,
                "state": state,
                "key": provider.key is not None,
                "key_from": provider.key_from or None,
                "base_url": provider.base_url or None,
                "default_model": provider.default_model,
                "free": provider.free,
                "own_prices": sorted(provider.prices),
            }
        )
    return Section("providers", lines, data)


def state_of(provider: Provider, *, ready: bool) -> str:
    """A word for whether a provider could be used now."""
    if provider.name == SCRIPTED:
        return "offline"
    heard = answers(provider.base_url)
    return "no key" if not ready else {None: "ready", True: "answers", False: "silent"}[heard]


def answers(base_url: str) -> bool | None:
    """Whether something listens at an address of this machine; None for an address elsewhere."""
    found = urlsplit(base_url)
    if found.hostname not in LOOPBACK:
        return None
    try:
        with socket.create_connection((found.hostname, found.port or 80), PROBE_S):
            return True
    except OSError:
        return False

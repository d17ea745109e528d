"""The settings as the rest of Farthing sees them: which model, which rules, which secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from runtime.errors import BadSettings
from runtime.ledger import Rule
from runtime.providers import ENV_PROVIDER, SCRIPTED, ModelName, Provider
from runtime.settings.places import keys_path


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """A named secret. `value` is null where its variable is not set; no repr shows it. `hosts`: the only ones
    that it may be sent to, each `host`, `host:port`, or `*.host` for what lies below it; none: any that the
    settings send it to."""

    name: str
    value: str | None = None
    source: str = ""
    hosts: tuple[str, ...] = ()

    def may_go_to(self, url: str) -> bool:
        """Whether it may be sent to this http or https address."""
        return not self.hosts or any(_is_host(host.lower(), url) for host in self.hosts)

    def __repr__(self) -> str:
        return f"Secret(name={self.name!r}, source={self.source!r}, set={self.value is not None})"


def _is_host(host: str, url: str) -> bool:
    """Whether an address is at a host as `hosts` of a secret writes it."""
    from urllib.parse import urlsplit

    there = urlsplit(url)
    name = there.hostname or ""
    if ":" in name:
        name = f"[{name}]"  # an address of IPv6, as it is written with a port
    try:
        port = there.port or {"http": 80, "https": 443}.get(there.scheme)
    except ValueError:
        return False
    if host.startswith("*."):
        return name.endswith(host[1:]) or f"{name}:{port}".endswith(host[1:])
    return host in (name, f"{name}:{port}")


class UserBudget(msgspec.Struct, frozen=True):
    """One of the user's own budgets. `flow` and `provider` null: all of them. `paid_only`: not on providers
    whose calls cost nothing."""

    rule: Rule
    flow: str | None = None
    provider: str | None = None
    paid_only: bool = False


class Display(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How things are shown: `colour` and `times` (the zone in which times are written, and read where they
    say none) on the command line, `theme` in the studio until somebody chooses another there."""

    colour: Literal["auto", "always", "never"] = "auto"
    theme: Literal["system", "light", "dark"] = "system"
    times: Literal["utc", "local"] = "utc"


class Chosen(NamedTuple):
    """The provider and model that a run or an agent is to use."""

    provider: Provider
    model: ModelName


class FromEnv(msgspec.Struct, frozen=True):
    """What the environment says: `FARTHING_MODEL`, and whether `FARTHING_BASE_URL` points at an endpoint."""

    model: str | None = None
    endpoint: bool = False


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything set by the user, the environment and the flow's folder. `warnings` are for `doctor`.

    `needs_key` holds the providers that cannot be used without a key. `folder_model` is the default model
    that the folder's `farthing.toml` chose; it comes before the user's own default. `hidden` are further
    values that no record may show (headers with credentials, a key that is set but not used).
    """

    path: Path
    db: Path
    exists: bool = False
    providers: dict[str, Provider] = {}
    needs_key: frozenset[str] = frozenset()
    default_model: str | None = None
    folder_model: str | None = None
    from_env: FromEnv = FromEnv()
    secrets: dict[str, Secret] = {}
    budgets: tuple[UserBudget, ...] = ()
    tool_files: tuple[Path, ...] = ()
    display: Display = Display()
    hidden: dict[str, str] = {}
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Settings(path={str(self.path)!r}, providers={sorted(self.providers)})"

    @property
    def keys(self) -> Path:
        """The file of stored API keys, for `write_key`."""
        return keys_path(self.path)

    @property
    def data(self) -> Path:
        """The folder of the database and the grants."""
        return self.db.parent

    def usable(self, name: str) -> bool:
        """Is this provider known, and has it a key where it needs one?"""
        provider = self.providers.get(name)
        return provider is not None and (provider.key is not None or name not in self.needs_key)

    def resolve_model(self, flag: str | None = None, flow_model: str | None = None) -> Chosen:
        """Order: `--model`, `FARTHING_MODEL`, the flow's model, the folder's default, the user's, `scripted`.

        Raises BadSettings where the named provider is unknown or has no key: a named model is never
        rehearsed without saying so.
        """
        if flag:
            return self._named(flag, "--model")
        if self.from_env.endpoint:
            return self._from_endpoint()
        for name, source in (
            (self.from_env.model, "FARTHING_MODEL"),
            (flow_model, "the flow"),
            (self.folder_model, "farthing.toml in the flow's folder"),
            (self.default_model, f"default_model in {self.path}"),
        ):
            if name:
                return self._named(name, source)
        return self._named(SCRIPTED, "")

    def rules_for(self, flow_id: str, provider: str) -> tuple[Rule, ...]:
        """The user's own limits that govern calls of this flow to this provider."""
        known = self.providers.get(provider)
        free = provider == SCRIPTED or (known is not None and known.free)
        return tuple(
            budget.rule
            for budget in self.budgets
            if budget.flow in (None, flow_id)
            and budget.provider in (None, provider)
            and not (budget.paid_only and free)
        )

    def secrets_values(self) -> dict[str, str]:
        """Every secret's value by the name that replaces it in what is stored: for redaction."""
        values = {f"key {name}": each.key for name, each in self.providers.items() if each.key}
        return values | self.hidden | {name: each.value for name, each in self.secrets.items() if each.value}

    def _from_endpoint(self) -> Chosen:
        name = self.from_env.model
        if not name:
            raise BadSettings(
                "FARTHING_BASE_URL is set, but not FARTHING_MODEL.",
                code="model.not_named",
                remedy="Set FARTHING_MODEL to the model's name at that endpoint, or use `--model scripted`.",
            )
        if name == SCRIPTED:
            return self._named(SCRIPTED, "FARTHING_MODEL")
        prefix, _, rest = name.partition(":")
        if prefix == ENV_PROVIDER and rest:
            name = rest
        elif rest and prefix in self.providers:
            raise BadSettings(
                f"FARTHING_MODEL names the provider {prefix!r}, but FARTHING_BASE_URL points elsewhere.",
                code="model.ambiguous",
                remedy="Set FARTHING_MODEL to the model's name alone, or unset FARTHING_BASE_URL.",
            )
        return Chosen(self.providers[ENV_PROVIDER], ModelName(ENV_PROVIDER, name))

    def _named(self, text: str, source: str) -> Chosen:
        text = text.strip()
        prefix, colon, name = text.partition(":")
        provider = self.providers.get(prefix)
        if provider is None:
            raise self._unknown(text, prefix if colon else None, source)
        if not self.usable(prefix):
            raise BadSettings(
                f"{source} asks for {text!r}, but the provider {prefix!r} has no key.",
                code="model.not_configured",
                remedy=f"Set {provider.key_from}; `--model scripted` rehearses without a model.",
            )
        name = name or provider.default_model or ""
        if not name:
            raise BadSettings(
                f"{source} asks for the provider {prefix!r}, which has no default model.",
                code="model.not_named",
                remedy=f"Write {prefix}:NAME, or set its default_model in {self.path}.",
            )
        return Chosen(provider, ModelName(prefix, name))

    def _unknown(self, text: str, prefix: str | None, source: str) -> BadSettings:
        ready = [name for name in self.providers if name != SCRIPTED and self.usable(name)]
        tries = [f"{name}:{text}" for name in ready]
        if prefix is None:
            problem = f"{source} asks for {text!r}, which names no provider."
        else:
            problem = f"{source} asks for {text!r}, but there is no provider called {prefix!r}."
        return BadSettings(
            problem,
            code="model.unknown_provider",
            remedy=f"Write provider:name, one of {', '.join(tries)}, or add [providers.NAME] to {self.path};"
            " `--model scripted` rehearses.",
        )

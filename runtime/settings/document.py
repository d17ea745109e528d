"""The shape of `config.toml` and of a folder's `farthing.toml`, and what is wrong with one in plain words."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from msgspec import UNSET, Meta, UnsetType, field

from runtime.errors import BadSettings
from runtime.settings.files import parse
from runtime.shape import Misfit, Shape, Wrong, read
from runtime.shape.own import Nanos, percent
from runtime.usage import NANO

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
URL_PATTERN = r"^https?://[^\s]+$"
HOST_PATTERN = r"^(\*\.)?[A-Za-z0-9.:\[\]_-]+$"
Name = Annotated[str, Meta(pattern=NAME_PATTERN, max_length=64)]
"""Names of providers, secrets and budgets."""
SHORTEST_SECRET = 4
"""A shorter secret could not be replaced in records without spoiling them."""
NO_LIMIT = "none"
T = TypeVar("T", bound="Table")


class Table(Shape):
    """A table of a settings file: nothing unknown."""


class SecretName(Table):
    """`{secret = "NAME"}`."""

    secret: Name


class PriceTable(Table):
    """A model's price for a million tokens."""

    input: Nanos
    output: Nanos
    cached: Nanos | None = None
    cache_write: Nanos | None = None


class ProviderTable(Table):
    """`[providers.NAME]`."""

    base_url: Annotated[str, Meta(pattern=URL_PATTERN)] | None = None
    """Where the endpoint answers, up to `/v1`."""
    key_env: str | None = None
    """The environment variable that has the key."""
    key: SecretName | None = None
    """The key as one of `[secrets]`; used before all else."""
    headers: dict[str, str | SecretName] = {}
    default_model: str | None = None
    window: Annotated[int, Meta(gt=0)] | None = None
    """Tokens that fit into one call."""
    max_output: Annotated[int, Meta(gt=0)] | None = None
    free: bool | None = None
    """Calls cost nothing."""
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    prices: dict[str, PriceTable] = {}


class SecretTable(Table):
    """`[secrets.NAME]`: the value itself or the variable that has it, and the hosts that it may go to."""

    value: Annotated[str, Meta(min_length=SHORTEST_SECRET)] | None = None
    env: Annotated[str, Meta(min_length=1)] | None = None
    hosts: list[Annotated[str, Meta(pattern=HOST_PATTERN)]] = []

    def __post_init__(self) -> None:
        if (self.value is None) == (self.env is None):
            raise Wrong("give either value or env, and not both")


class BudgetTable(Table):
    """`[[budget]]`."""

    name: Name
    limit: Any
    """Dollars or tokens, or `none`; see `nanos`."""
    whose: Literal["each_user", "all_users_together"] = field(default="each_user", name="for")
    flow: str | None = None
    provider: str | None = None
    metric: Literal["spend", "tokens"] = "spend"
    period: Literal["run", "session", "daily", "weekly", "monthly", "lifetime"] = "daily"
    threshold_pct: Any = 80
    """A percentage, or `none`; see `threshold`."""
    strict: bool = False
    unknown_cost: Literal["warn", "block"] = "warn"

    def __post_init__(self) -> None:
        for name, amount in (("limit", self.nanos), ("threshold_pct", self.threshold)):
            try:
                amount()
            except ValueError as error:
                raise Wrong(str(error), name) from None
        if self.whose == "all_users_together" and self.period in ("run", "session"):
            raise Wrong('for = "all_users_together" needs a period of daily, weekly, monthly or lifetime')
        if self.metric == "tokens" and (self.nanos() or 0) % NANO:
            raise Wrong("a limit in tokens must be whole")

    def nanos(self) -> int | None:
        """Dollars or tokens, times 10⁹; null: no limit. Raises ValueError."""
        return None if self.limit == NO_LIMIT else int(Nanos.read(self.limit))

    def threshold(self) -> Decimal | None:
        """The percentage; null: no warning. Raises ValueError."""
        return None if self.threshold_pct == NO_LIMIT else percent(self.threshold_pct)


class ToolsTable(Table):
    """`[tools]`: Python files whose functions flows may name, relative to the settings file."""

    files: list[str] = []


class DisplayTable(Table):
    """`[display]`."""

    colour: Literal["auto", "always", "never"] | UnsetType = UNSET
    theme: Literal["system", "light", "dark"] | UnsetType = UNSET
    times: Literal["utc", "local"] | UnsetType = UNSET


class Document(Table):
    """`config.toml`."""

    default_model: str | None = None
    providers: dict[Name, ProviderTable] = {}
    secrets: dict[Name, SecretTable] = {}
    budget: list[BudgetTable] = []
    tools: ToolsTable = ToolsTable()
    display: DisplayTable = DisplayTable()


class FolderDocument(Table):
    """`farthing.toml` beside a flow. It comes from whoever made the flow, so it may choose, never set."""

    default_model: str | None = None
    display: DisplayTable = DisplayTable()


def read_document(text: str, path: Path) -> Document:
    """The user's settings. Raises BadSettings with file, line and what to do."""
    return _checked(Document, text, path, "settings file")


def read_folder_document(text: str, path: Path) -> FolderDocument:
    """The settings beside a flow. Raises BadSettings that names what a folder may not set."""
    return _checked(FolderDocument, text, path, "folder settings")


def _checked(shape: type[T], text: str, path: Path, what: str) -> T:
    raw = parse(text, path, what)
    try:
        return read(shape, raw)
    except Misfit as misfit:
        from runtime.settings.wrong import problems

        remedy = "Correct or remove it."
        if shape is FolderDocument:
            remedy = "A flow's folder may set only default_model and [display]."
        message = f"The {what} {path} cannot be used: {'; '.join(problems(misfit, text))}."
        raise BadSettings(message, remedy=remedy) from None

"""The shape of `config.toml` and of a folder's `farthing.toml`, and what is wrong with one in plain words."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from runtime.errors import BadConfig, BadSettings
from runtime.field_help import add_help
from runtime.settings.files import line_of, parse
from runtime.usage import NANO, parse_money

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=64)]
"""Names of providers, secrets and budgets."""
SHORTEST_SECRET = 4
"""A shorter secret could not be replaced in records without spoiling them."""
SHOWN = 5
"""How many problems of a file one message lists."""
WORDS = {
    "string_type": "must be text",
    "int_": "must be a whole number",
    "float_": "must be a number",
    "decimal_": "must be a number",
    "bool_": "must be true or false",
    "list_": "must be a list",
    "dict_": "must be a table",
    "model_type": 'must be a table; a secret is written {secret = "NAME"}',
    "string_pattern_mismatch": "is not written as it must be",
}
"""Words for the validator's kinds of error, by how their names begin."""
NO_LIMIT = "none"


def _nanos(value: object) -> int:
    """Nano-dollars; a plain ValueError where it is no amount."""
    try:
        return parse_money(value, field="the amount")
    except BadConfig as error:
        raise ValueError(error.message.rstrip(".")) from None


def _limit(value: object) -> int | None:
    return None if value == NO_LIMIT else _nanos(value)


Money = Annotated[int, BeforeValidator(_nanos)]
"""Nano-dollars, written as dollars."""
T = TypeVar("T", bound="Table")


class Table(BaseModel):
    """A table of a settings file: nothing unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=add_help)


class SecretName(Table):
    """`{secret = "NAME"}`."""

    secret: Name


class PriceTable(Table):
    """A model's price for a million tokens."""

    input: Money
    output: Money
    cached: Money | None = None
    cache_write: Money | None = None


class ProviderTable(Table):
    """`[providers.NAME]`."""

    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")] | None = None
    """Where the endpoint answers, up to `/v1`."""
    key_env: str | None = None
    """The environment variable that has the key."""
    key: SecretName | None = None
    """The key as one of `[secrets]`; used before all else."""
    headers: dict[str, str | SecretName] = {}
    default_model: str | None = None
    window: Annotated[int, Field(gt=0)] | None = None
    """Tokens that fit into one call."""
    max_output: Annotated[int, Field(gt=0)] | None = None
    free: bool | None = None
    """Calls cost nothing."""
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] | None = None
    prices: dict[str, PriceTable] = {}


class SecretTable(Table):
    """`[secrets.NAME]`: the value itself or the variable that has it, and where it may go."""

    value: Annotated[str, StringConstraints(min_length=SHORTEST_SECRET)] | None = None
    env: Annotated[str, StringConstraints(min_length=1)] | None = None
    hosts: list[Annotated[str, StringConstraints(pattern=r"^(\*\.)?[A-Za-z0-9.:\[\]_-]+$")]] = []
    tools: list[str] = []

    @model_validator(mode="after")
    def _one_source(self) -> SecretTable:
        if (self.value is None) == (self.env is None):
            raise ValueError("give either value or env, and not both")
        return self


class BudgetTable(Table):
    """`[[budget]]`."""

    name: Name
    limit: Annotated[int | None, BeforeValidator(_limit)]
    """Dollars or tokens, times 10⁹; `none` is null."""
    whose: Annotated[Literal["each_user", "all_users_together"], Field(alias="for")] = "each_user"
    flow: str | None = None
    provider: str | None = None
    metric: Literal["spend", "tokens"] = "spend"
    period: Literal["run", "session", "daily", "weekly", "monthly", "lifetime"] = "daily"
    threshold_pct: Annotated[Decimal, Field(ge=0, le=100)] | Literal["none"] = Decimal(80)
    strict: bool = False
    unknown_cost: Literal["warn", "block"] = "warn"

    @model_validator(mode="after")
    def _fits(self) -> BudgetTable:
        if self.whose == "all_users_together" and self.period in ("run", "session"):
            raise ValueError(
                'for = "all_users_together" needs a period of daily, weekly, monthly or lifetime'
            )
        if self.metric == "tokens" and self.limit is not None and self.limit % NANO:
            raise ValueError("a limit in tokens must be whole")
        return self


class ToolsTable(Table):
    """`[tools]`: Python files whose functions flows may name, relative to the settings file."""

    files: list[str] = []


class DisplayTable(Table):
    """`[display]`."""

    colour: Literal["auto", "always", "never"] = "auto"
    theme: Literal["system", "light", "dark"] = "system"
    times: Literal["utc", "local"] = "utc"


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
        return shape.model_validate(raw)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        problems = [_say(shape, each, text) for each in found[:SHOWN]]
        if len(found) > SHOWN:
            problems.append(f"and {len(found) - SHOWN} more")
        remedy = "Correct or remove it."
        if shape is FolderDocument:
            remedy = "A flow's folder may set only default_model and [display]."
        raise BadSettings(
            f"The {what} {path} cannot be used: {'; '.join(problems)}.", remedy=remedy
        ) from None


def _say(shape: type[Table], found: ErrorDetails, text: str) -> str:
    """One problem: where, which line, what."""
    location = found["loc"] if found["type"] == "missing" else _without_union_tags(found["loc"], text)
    where = ".".join(str(part) for part in location) or "the file"
    number = line_of(text, location)
    line = f"line {number}: " if number else ""
    if found["type"] == "extra_forbidden":
        return f"{line}unknown key {where}{_near(shape, location)}"
    if found["type"] == "missing":
        return f"{line}{where} is missing"
    return f"{line}{where}: {_plain(found)}"


def _plain(found: ErrorDetails) -> str:
    """What is wrong, without the validator's own terms and without the value, which may be a secret."""
    for start, words in WORDS.items():
        if found["type"].startswith(start):
            return words
    message = found["msg"].removeprefix("Value error, ").replace("Input should", "should")
    return f"{message[:1].lower()}{message[1:]}"


def _without_union_tags(location: Sequence[int | str], text: str) -> tuple[int | str, ...]:
    """Pydantic ends the place of a union's error with the name of the member; that is no key of the file."""
    kept = list(location)
    while kept and isinstance(kept[-1], str) and kept[-1] not in text:
        kept.pop()
    return tuple(kept) or tuple(location)


def _near(shape: type[Table], location: Sequence[int | str]) -> str:
    known: Any = {
        "providers": ProviderTable,
        "secrets": SecretTable,
        "budget": BudgetTable,
        "tools": ToolsTable,
        "display": DisplayTable,
    }.get(str(location[0]) if len(location) > 1 else "", shape)
    names = [field.alias or name for name, field in known.model_fields.items()]
    close = difflib.get_close_matches(str(location[-1]), names, n=1)
    return f" (did you mean {close[0]}?)" if close else ""

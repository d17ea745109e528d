"""Say what is configured, problems first."""

from __future__ import annotations

import platform
import struct
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import click

from runtime.cli import options
from runtime.cli.opening import opened, read_settings
from runtime.cli.plain import one_line, visible
from runtime.cli.streams import coloured, paint, result_json, write
from runtime.clock import SystemClock
from runtime.errors import FarthingError
from runtime.ledger import amount_text
from runtime.providers import SCRIPTED
from runtime.settings import Settings

PACKAGES = (
    "click", "msgspec", "pydantic", "openai", "genai-prices", "jinja2", "networkx", "sqlmodel",
    "starlette", "uvicorn",
)  # fmt: skip
EACH = {
    "run": "a run", "session": "a session", "daily": "a day", "weekly": "a week", "monthly": "a month",
    "lifetime": "in all",
}  # fmt: skip
VERSION_AT, APPLICATION_AT, HEADER = 60, 68, 100
"""Where a SQLite file's header has its user version and application id, and how long it is."""


class Section(NamedTuple):
    """A part of the report: lines for people, `data` for programs."""

    name: str
    lines: list[str]
    data: Any


class Problem(NamedTuple):
    """Something to mend; a `note` need not be."""

    message: str
    remedy: str
    note: bool = False


@click.command(
    epilog=options.examples("farthing doctor", "farthing doctor --json", "farthing doctor --model openai")
)
@click.option("--model", metavar="PROVIDER:NAME", help="Ask about this model as `run --model` would.")
@options.as_json
@options.database
@click.pass_context
def command(ctx: click.Context, model: str | None, as_json: bool, db: Path | None) -> None:
    """Say what is configured and where it came from: models and keys, database, limits, versions.

    Keys are never shown. Exit code 1 if there is a problem, not for mere notes.
    """
    problems: list[Problem] = []
    sections = [_versions()]
    settings = _settings(db, problems)
    if settings is not None:
        sections += [
            _model(settings, model, problems),
            _providers(settings),
            _limits(settings),
            _settings_section(settings),
            _database(settings, problems),
        ]
    problems.sort(key=lambda problem: problem.note)
    if as_json:
        result_json(
            {
                "format": "farthing.doctor/1",
                "problems": [problem._asdict() for problem in problems],
                **{section.name: section.data for section in sections},
            }
        )
    else:
        _print(problems, sections)
    ctx.exit(1 if any(not problem.note for problem in problems) else 0)


def _print(problems: list[Problem], sections: list[Section]) -> None:
    on = coloured(sys.stdout)
    if all(problem.note for problem in problems):
        write(paint("No problems found.", "green", on=on))
    for problem in problems:
        word, colour = ("note", "yellow") if problem.note else ("problem", "red")
        write(f"{paint(word, 'bold', colour, on=on)}  {visible(problem.message)}")
        if problem.remedy:
            write(f"  {paint('do:', 'bold', on=on)} {visible(problem.remedy)}")
    for section in sections:
        write("")
        write(paint(section.name, "bold", on=on))
        for line in section.lines:
            write(f"  {line}")


def _settings(db: Path | None, problems: list[Problem]) -> Settings | None:
    try:
        settings = read_settings(db, folder=Path.cwd())
    except FarthingError as error:
        problems.append(Problem(error.message, error.remedy or "Mend the settings."))
        return None
    problems += [_note(warning) for warning in settings.warnings]
    return settings


def _note(warning: str) -> Problem:
    """A warning's first sentence, and what it says to do."""
    message, dot, remedy = warning.partition(". ")
    return Problem(f"{message}." if dot else warning, remedy, note=True)


def _versions() -> Section:
    found = {"farthing": _version("farthing"), "python": platform.python_version()}
    packages = {name: _version(name) for name in PACKAGES}
    lines = [
        f"Farthing {found['farthing']} on Python {found['python']}, {platform.system()} {platform.machine()}",
        ", ".join(f"{name} {number}" for name, number in list(packages.items())[:5]),
        ", ".join(f"{name} {number}" for name, number in list(packages.items())[5:]),
    ]
    return Section("versions", lines, {**found, "platform": platform.platform(), "packages": packages})


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _model(settings: Settings, flag: str | None, problems: list[Problem]) -> Section:
    why = _why(settings, flag)
    try:
        chosen = settings.resolve_model(flag)
    except FarthingError as error:
        problems.append(Problem(error.message, error.remedy or ""))
        return Section("model", [f"none ({why})"], {"model": None, "why": why})
    name = str(chosen.model)
    lines = [f"{one_line(name)}, since {why}"]
    if chosen.provider.name == SCRIPTED:
        lines.append("This rehearses: the scripted model answers, no real one.")
    return Section("model", lines, {"model": name, "why": why, "rehearsal": chosen.provider.name == SCRIPTED})


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


def _providers(settings: Settings) -> Section:
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
        state = (
            "offline" if name == SCRIPTED else "local" if provider.free else "ready" if ready else "no key"
        )
        where = f" · {provider.base_url}" if provider.base_url else ""
        lines.append(f"{one_line(name):<{width}}  {state:<7}  {one_line(key + where)}")
        data.append(
            {
                "name": name,
                "ready": ready,
                "key": provider.key is not None,
                "key_from": provider.key_from or None,
                "base_url": provider.base_url or None,
                "default_model": provider.default_model,
                "free": provider.free,
                "own_prices": sorted(provider.prices),
            }
        )
    return Section("providers", lines, data)


def _limits(settings: Settings) -> Section:
    lines, data = [], []
    for budget in settings.budgets:
        rule = budget.rule
        whose = "all users together" if rule.everyone else "each user"
        on = budget.provider or ("paid providers" if budget.paid_only else "every provider")
        flow = f", flow {budget.flow}" if budget.flow else ""
        lines.append(
            f"{one_line(rule.name)}: {amount_text(rule.metric, rule.limit)} {EACH[rule.period]}"
            f" for {whose} on {one_line(on + flow)}; change it in {rule.field}"
        )
        amount = amount_text(rule.metric, rule.limit)
        data.append(
            {"name": rule.name, "metric": rule.metric, "period": rule.period, "limit": amount, "for": whose,
             "on": on, "flow": budget.flow, "field": rule.field}
        )  # fmt: skip
    return Section("limits", lines or ["none of your own"], data)


def _settings_section(settings: Settings) -> Section:
    state = "read" if settings.exists else "not there, which is fine"
    lines = [f"{settings.path} ({state}; FARTHING_CONFIG names another)"]
    lines += [f"tool file {path}" for path in settings.tool_files]
    lines += [
        f"secret {one_line(s.name)} from {one_line(s.source)}{'' if s.value is not None else ' (not set)'}"
        for s in settings.secrets.values()
    ]
    secrets = [
        {"name": s.name, "source": s.source, "set": s.value is not None} for s in settings.secrets.values()
    ]
    return Section(
        "settings",
        lines,
        {
            "path": str(settings.path),
            "exists": settings.exists,
            "secrets": secrets,
            "tool_files": [str(path) for path in settings.tool_files],
        },
    )


class Header(NamedTuple):
    """What a SQLite file's header says."""

    version: int
    ours: bool


def header_of(path: Path) -> Header | None:
    """The header of a database file, read without opening it; None where there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER)
    except OSError:
        return None
    if len(head) < HEADER or not head.startswith(b"SQLite format 3\0"):
        return None
    (number,) = struct.unpack_from(">I", head, VERSION_AT)
    return Header(number, head[APPLICATION_AT : APPLICATION_AT + 4] == b"FART")


def _database(settings: Settings, problems: list[Problem]) -> Section:
    path = settings.db
    data: dict[str, Any] = {"path": str(path), "exists": path.exists()}
    if not data["exists"]:
        return Section(
            "database", [f"{path} (made at the first run; FARTHING_DB or --db names another)"], data
        )
    head = header_of(path)
    size = sum(p.stat().st_size for p in (path, path.with_name(path.name + "-wal")) if p.is_file())
    data |= {"bytes": size, "version": head.version if head else None}
    lines = [f"{path} · {size / 1_000_000:.1f} MB · version {head.version if head else '?'}"]
    try:
        found = _look(settings)
    except FarthingError as error:
        problems.append(Problem(error.message, error.remedy or "Name another file with --db."))
        return Section("database", lines, data)
    data |= found
    lines.append(
        f"{found['sessions']} real and {found['rehearsals']:,} rehearsal sessions; "
        f"{found['others']} other process(es) working on it"
    )
    return Section("database", lines, data)


def _look(settings: Settings) -> dict[str, Any]:
    """Open the database as a run would; count what is there."""
    import asyncio

    from runtime.record import SessionFilter

    async def main() -> dict[str, Any]:
        async with opened(settings.db, SystemClock()) as record:
            owners = len(list(settings.db.parent.glob(f"{settings.db.name}.*.lock")))
            sessions = await record.sessions(SessionFilter(limit=1000))
            count = f"{len(sessions):,}" if len(sessions) < 1000 else "1,000 or more"
            hidden = await record.hidden_rehearsals()
            return {"sessions": count, "rehearsals": hidden, "others": max(0, owners - 1)}

    return asyncio.run(main())

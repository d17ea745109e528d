"""Say what is configured, problems first."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from runtime.cli import options
from runtime.cli.doctor_call import call_section
from runtime.cli.doctor_database import database_section
from runtime.cli.doctor_models import model_section, providers_section
from runtime.cli.doctor_report import Problem, Section
from runtime.cli.opening import read_settings
from runtime.cli.plain import one_line, visible
from runtime.cli.streams import coloured, paint, result_json, write
from runtime.errors import FarthingError
from runtime.ledger import amount_text
from runtime.settings import Settings

PACKAGES = (
    "click", "msgspec", "pydantic", "openai", "genai-prices", "jinja2", "networkx", "sqlmodel",
    "starlette", "uvicorn",
)  # fmt: skip
EACH = {
    "run": "a run", "session": "a session", "daily": "a day", "weekly": "a week", "monthly": "a month",
    "lifetime": "in all",
}  # fmt: skip


@click.command(
    epilog=options.examples(
        "farthing doctor",
        "farthing doctor --json",
        "farthing doctor --model openai:gpt-4.1-mini --test-model",
    )
)
@click.option("--model", metavar="PROVIDER:NAME", help="Ask about this model as `run --model` would.")
@click.option("--test-model", "test", is_flag=True, help="Make one small call to it, which may cost money.")
@click.option(
    "--user",
    "user_id",
    default=options.LOCAL_USER,
    metavar="ID",
    show_default=True,
    help="Whose budgets the test call counts in.",
)
@options.as_json
@options.database
@click.pass_context
def command(
    ctx: click.Context, model: str | None, test: bool, user_id: str, as_json: bool, db: Path | None
) -> None:
    """Say what is configured and where it came from: models and keys, database, limits, versions.

    Keys are never shown. No model is called but with --test-model: that call is held, priced and recorded
    like any other, with the purpose `test`. Exit code 1 if there is a problem, not for mere notes.
    """
    if not test:
        options.refuse_unused("without --test-model", "user_id")
    problems: list[Problem] = []
    sections = [_versions()]
    settings = _settings(db, problems)
    if settings is not None:
        sections += [
            model_section(settings, model, problems),
            providers_section(settings),
            _limits(settings),
            _settings_section(settings),
            database_section(settings, problems),
        ]
        if test:
            sections.append(call_section(settings, model, user_id, problems))
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
    problems += [
        Problem(f"The tool file {path} is not there.", f"Correct files of [tools] in {settings.path}.")
        for path in settings.tool_files
        if not path.is_file()
    ]
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

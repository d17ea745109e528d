"""The group of commands: what it lists, what it loads, what each command's help shows."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from runtime import plugins
from runtime.cli.group import OWN, summary
from runtime.cli.main import group
from tests.runtime.cli.conftest import Farthing

ROOT = Path(__file__).parents[3]


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command of Farthing's own with those below it."""
    context = click.Context(group, info_name="farthing")
    for name in OWN:
        command = group.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for below, sub in command.commands.items():
                yield f"{name} {below}", sub


@pytest.mark.promise("CLI-8")
@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_every_command_has_help_with_examples(name: str, farthing: Farthing) -> None:
    said = farthing(*name.split(), "--help")
    assert said.code == 0
    assert "Examples:" in said.out
    assert f"farthing {name.split()[0]}" in said.out.split("Examples:")[1]
    assert all(len(line) <= 100 for line in said.out.splitlines())


def test_every_option_is_explained() -> None:
    for name, command in commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.help, f"{name} --{parameter.name}"


def test_own_commands_are_registered_as_entry_points() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    registered = project["entry-points"]["farthing.commands"]
    assert {name: f"runtime.cli.{name}:command" for name in OWN}.items() <= registered.items()


@pytest.mark.parametrize("name", OWN)
def test_help_of_the_group_says_what_each_module_says(name: str) -> None:
    module = importlib.import_module(f"runtime.cli.{name}")
    assert (module.__doc__ or "").splitlines()[0] == OWN[name]
    assert summary(f"runtime.cli.{name}") == OWN[name]


def test_summary_of_what_is_not_there_is_empty() -> None:
    assert summary("runtime.cli.nothing") == ""


@pytest.mark.parametrize("args", [["--help"], ["run", "--help"], ["--version"]])
def test_help_loads_no_more_than_it_shows(args: list[str]) -> None:
    code = (
        "import sys\nfrom runtime.cli.main import call\n"
        f"call({args!r})\n"
        "names = {'openai', 'sqlmodel', 'pydantic', 'starlette', 'networkx', 'jinja2', 'sqlite3'}\n"
        "names |= {'runtime.cli.events', 'runtime.cli.doctor', 'runtime.cli.spend'}\n"
        "print(sorted(names & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert done.stdout


@pytest.mark.parametrize("args", [["sessions"], ["events"], ["context"], ["facts"], ["budget"]])
def test_reading_loads_no_query_builder(args: list[str]) -> None:
    """What is asked for often is prepared SQL; building queries takes longer than running them."""
    code = (
        f"import sys\nfrom runtime.cli.main import call\ncall({args!r})\n"
        "names = {'openai', 'sqlmodel', 'sqlalchemy', 'starlette', 'uvicorn'}\n"
        "print(sorted(names & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_unknown_command_is_refused_with_the_nearest(farthing: Farthing) -> None:
    said = farthing("evnts")
    assert (said.code, said.out) == (2, "")
    assert "Did you mean 'events'?" in said.err


def test_no_command_shows_the_help_on_stderr(farthing: Farthing) -> None:
    said = farthing()
    assert (said.code, said.out) == (2, "")
    assert said.err == farthing("--help").out


def test_unknown_option_is_refused_in_a_sentence(farthing: Farthing) -> None:
    said = farthing("sessions", "--colour")
    assert (said.code, said.out) == (2, "")
    assert "--colour" in said.err
    assert "farthing sessions --help" in said.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str, farthing: Farthing) -> None:
    said = farthing("completion", shell)
    assert said.code == 0
    assert "_FARTHING_COMPLETE" in said.out


def test_completion_offers_commands_without_loading_them(process: Farthing) -> None:
    said = process(_FARTHING_COMPLETE="bash_complete", COMP_WORDS="farthing eve", COMP_CWORD="1")
    assert (said.code, said.out) == (0, "plain,events\n")


PLUGIN = '''"""Greet somebody."""
import click


@click.command(epilog="Examples: farthing greet Ada")
@click.argument("name")
def command(name):
    """Greet NAME."""
    click.echo(f"Hello, {name}.")
'''


@pytest.fixture
def plugin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that brings the command `greet`, and one that wants to be `run`. Packages are
    looked at once a process, which here is the process of many tests."""
    info = folder / "greeting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n", "utf-8")
    points = "[farthing.commands]\ngreet = greeting_command:command\nrun = greeting_command:command\n"
    (info / "entry_points.txt").write_text(points, "utf-8")
    (folder / "greeting_command.py").write_text(PLUGIN, "utf-8")
    monkeypatch.syspath_prepend(str(folder))
    plugins._ours.cache_clear()
    yield
    plugins._ours.cache_clear()


def test_commands_of_other_packages_are_found(plugin: None, farthing: Farthing) -> None:
    more = farthing("--help").out.split("More:")[1]
    assert ["greet", "Greet", "somebody."] in [line.split() for line in more.splitlines()]
    assert "greeting_command" not in sys.modules
    assert farthing("greet", "Ada").out == "Hello, Ada.\n"
    assert "Greet" not in farthing("run", "--help").out  # Farthing's own stay its own

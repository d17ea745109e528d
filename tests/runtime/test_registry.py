"""Where node types come from."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from runtime.errors import BadSettings
from runtime.registry import BUILT_IN, GROUP, Registry, installed

ROOT = Path(__file__).parent.parent.parent


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


@pytest.mark.promise("NOD-1")
def test_built_in_types_are_those_that_the_package_registers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    registered = project["entry-points"][GROUP]
    assert sorted(registered) == sorted(BUILT_IN)
    assert all(value == f"nodes.{name}:node" for name, value in registered.items())
    assert set(BUILT_IN) <= set(installed().names())


def test_a_type_that_two_packages_bring_is_an_error() -> None:
    registry = Registry(lambda: [point("agent", "nodes.agent:node"), point("agent", "other:node")])
    with pytest.raises(BadSettings, match=r"nodes\.agent:node and other:node"):
        registry.get("agent")
    both = Registry(
        lambda: [point("agent", "nodes.agent:node"), point("agent", "other:node")], built_in=["agent"]
    )
    with pytest.raises(BadSettings):
        both.all()


def test_a_plugin_that_cannot_be_loaded_is_told_and_the_others_work() -> None:
    registry = Registry(lambda: [point("bad", "no_such_module:node"), point("odd", "nodes.agent:node")])
    with pytest.raises(BadSettings, match="no_such_module"):
        registry.get("bad")
    with pytest.raises(BadSettings, match="not a node type named 'odd'"):
        registry.get("odd")
    assert registry.get("unknown") is None


def test_built_in_types_need_no_look_at_what_is_installed() -> None:
    def never() -> list[EntryPoint]:
        raise AssertionError("looked")

    found = Registry(never, built_in=BUILT_IN).get("agent")
    assert found is not None
    assert found.name == "agent"


def test_a_run_of_built_in_nodes_loads_nothing_heavy() -> None:
    heavy = ("openai", "sqlmodel", "sqlalchemy", "networkx", "starlette", "numpy", "jinja2", "genai_prices")
    program = (
        "import sys; from runtime.cli.main import main\n"
        "sys.argv = ['farthing', 'run', 'example:support', 'hello']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr

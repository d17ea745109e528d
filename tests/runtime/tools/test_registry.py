"""Where tools come from: packages, files that the user named, and nothing beside a flow."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

from runtime.errors import BadFlow, BadSettings
from runtime.plan import compile_flow
from runtime.registry import installed
from runtime.settings import load_settings
from runtime.spec import load_flow
from runtime.tools.registry import GROUP, ToolRegistry, installed_tools, load_file
from tests.flows import agent_flow, node


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_built_in_tools_register_like_anybodys() -> None:
    found = installed_tools()
    assert {"calculator", "current_time", "read_file"} <= set(found.names())
    made = found.get("calculator")
    assert made is not None
    assert (made.source, made.effect) == ("", "none")
    assert found.get("nothing") is None
    assert found.get("calculator") is made


def test_a_file_gives_its_marked_functions_else_its_own_public_ones(tmp_path: Path) -> None:
    plain = write(
        tmp_path,
        "from os.path import join\nLIMIT = 3\ndef one(a: int) -> int:\n    'One.'\n    return a\n"
        "def _helper(): ...\nclass Thing: ...\n",
    )
    assert [made.name for made in load_file(plain)] == ["one"]
    marked = write(
        tmp_path,
        "from dataclasses import dataclass\nfrom runtime.tools import tool\n@dataclass\nclass Item:\n"
        "    n: int\ndef helper(): ...\n@tool(effect='none')\n"
        "def two(item: 'Item') -> int:\n    'Two.'\n    return item.n\n"
        "three = tool(helper)\nagain = two\n",
        "marked.py",
    )
    assert [made.name for made in load_file(marked)] == ["two", "helper"]
    two = load_file(marked)[0]
    assert two.source == str(marked)
    assert two(**two.signature.read({"item": {"n": 4}})) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def broken(:\n", "line 1: SyntaxError"),
        ("import nowhere_at_all\n", "line 1: ModuleNotFoundError"),
        ("\n\n1 / 0\n", "line 3: ZeroDivisionError"),
        ("raise SystemExit(4)\n", "SystemExit: 4"),
        ("x = 1\n", "has no tools"),
        ("from runtime.tools import tool\n@tool(name='no name')\ndef f(): ...\n", "'no name' is no name"),
    ],
    ids=range(6),
)
def test_a_file_that_cannot_be_used_says_where_and_why(text: str, words: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    before = set(sys.modules)
    with pytest.raises(BadSettings) as refused:
        installed_tools([path]).names()
    assert words in refused.value.message
    assert refused.value.exit_code == 2
    if "has no" not in words:
        assert set(sys.modules) == before


def test_what_is_no_python_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.py", tmp_path, write(tmp_path, "", "tools.txt")):
        with pytest.raises(BadSettings):
            installed_tools([path]).names()


def test_a_file_that_prints_leaves_standard_output_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load_file(write(tmp_path, "print('loading')\ndef f(): ...\n"))
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "loading\n")


def test_one_name_from_two_sources_is_an_error_at_first_use(tmp_path: Path) -> None:
    text = "def shout(): ...\n"
    found = installed_tools([write(tmp_path, text, "a.py"), write(tmp_path, text, "b.py")])
    assert "shout" in found.names()
    with pytest.raises(BadSettings, match=r"a\.py and .*b\.py"):
        found.get("shout")
    ours = write(tmp_path, "def calculator(): ...\n", "c.py")
    with pytest.raises(BadSettings, match="package farthing and"):
        installed_tools([ours]).get("calculator")


def test_entry_points_name_functions_or_tools() -> None:
    def point(name: str, value: str) -> EntryPoint:
        return EntryPoint(name, value, GROUP)

    found = ToolRegistry([point("first_paragraph", "runtime.tools.docstring:first_paragraph")])
    made = found.get("first_paragraph")
    assert made is not None
    assert (made.effect, made.source) == ("once", "runtime.tools.docstring:first_paragraph")
    broken = ToolRegistry(
        [point("sum", "runtime.tools.calculator:calculator"), point("text", "runtime.tools.registry:GROUP"),
         point("gone", "no.such.module:x")]
    )  # fmt: skip
    for name in ("sum", "text", "gone"):
        with pytest.raises(BadSettings) as refused:
            broken.get(name)
        assert refused.value.code == "registry.broken"


def test_settings_name_files_of_tools(tmp_path: Path) -> None:
    write(tmp_path, "def shout(): ...\n")
    config = write(tmp_path, '[tools]\nfiles = ["mine.py"]\n', "config.toml")
    settings = load_settings({"FARTHING_CONFIG": str(config)}, folder=None)
    assert installed_tools(settings.tool_files).get("shout") is not None


@pytest.mark.promise("TOO-6")
def test_files_beside_a_flow_are_never_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = "raise SystemExit('a file beside a flow was run')\n"
    for name in ("shout.py", "tools.py", "farthing_tools.py", "conftest.py"):
        write(tmp_path, trap, name)
    monkeypatch.chdir(tmp_path)
    document = agent_flow()
    document["nodes"].append(node("t", "tool", function="shout"))
    document["edges"].append({"source": "t", "target": "a", "target_port": "tool"})
    with pytest.raises(BadFlow) as refused:
        compile_flow(load_flow(msgspec.json.encode(document)), installed(), installed_tools, tmp_path)
    (problem,) = refused.value.problems
    assert (problem.code, problem.node_id) == ("tool.unknown_function", "t")
    assert "--tools FILE.py" in problem.remedy

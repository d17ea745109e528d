"""The page about tools says what is so: its function works, its table and its script are real ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

from runtime.models.script import parse_script
from runtime.registry import installed
from runtime.shape import read
from runtime.tools.attached import FREE
from runtime.tools.registry import installed_tools, load_file
from tests.repo import ROOT, blocks

PAGE = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
THOSE = PAGE.partition("## Functions of your own")[0]


def test_the_function_of_the_page_is_a_tool(tmp_path: Path) -> None:
    (block,) = [block for block in blocks(PAGE) if block.language == "python"]
    (tmp_path / "mine.py").write_text(block.body, encoding="utf-8")
    (made,) = load_file(tmp_path / "mine.py")
    assert (made.name, made.effect, made.timeout_s) == ("stock", "none", 10)
    assert all("description" in field for field in made.spec.parameters["properties"].values())
    assert made(**made.signature.read({"sku": "B-1042"})) == {"in_stock": 3}


def test_the_table_lists_the_built_in_tools_and_which_need_a_grant() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (no|for the folder) \|$", THOSE, re.MULTILINE)
    registry = installed_tools()
    ours = [made for name in registry.names() if (made := registry.get(name)) is not None and not made.source]
    assert sorted(name for name, _ in rows) == sorted(made.name for made in ours)
    assert {name for name, grant in rows if grant == "no"} == FREE


def test_the_node_and_the_script_of_the_page_are_sound() -> None:
    node, script = [json.loads(block.body) for block in blocks(PAGE) if block.language == "json"]
    kind = installed().get(node["type"])
    assert kind is not None
    assert getattr(read(kind.config, node["config"]), "function", None) == "calculator"
    assert [each.error for each in parse_script(script).tool_results["order"]] == [None, "sold out"]

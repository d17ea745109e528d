"""The page about node types of one's own says what is so: its type is read, checked, described and run."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runtime.errors import BadFlow
from runtime.plan import compile_flow
from runtime.registry import Registry, installed
from runtime.shape.schema import json_schema
from runtime.spec import load_flow
from runtime.testing import Bench
from tests.flows import flow, node
from tests.repo import ROOT, blocks

PAGE = {block.language: block.body for block in blocks((ROOT / "docs" / "node-types.md").read_text("utf-8"))}


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The page's code as the file of a package."""
    file = tmp_path / "shorten_of_the_page.py"
    file.write_text(PAGE["python"], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, file.stem, raising=False)
    return __import__(file.stem)


def registry(module: ModuleType) -> Registry:
    """Farthing's own types and the page's."""
    ours = {each.name: each for each in installed().all()}
    return Registry(list, {**ours, "shorten": module.node})


def document(config: dict[str, Any]) -> bytes:
    nodes = [node("start", "input"), node("short", "shorten", **config), node("end", "output")]
    return json.dumps(flow(nodes, [("start", "short"), ("short", "end")])).encode()


async def test_the_type_of_the_page_runs(module: ModuleType) -> None:
    made = json.loads(PAGE["json"])
    async with Bench(registry=registry(module)) as bench:
        ran = await bench.run(document(made["config"]), input="A sentence of some length, " * 4)
    assert ran.text == "A sentence of some length, A sentence of some length, A…"


def test_its_fields_are_explained_and_its_faults_told(module: ModuleType) -> None:
    schema = json_schema(module.node.config)
    assert schema["properties"]["at"]["enum"] == ["word", "character"]
    assert all(field["description"] for field in schema["properties"].values())
    wrong = {"most": 0, "at": "line", "mark": None}
    with pytest.raises(BadFlow) as caught:
        compile_flow(load_flow(document(wrong)), registry(module))
    assert [problem.message for problem in caught.value.problems] == [
        "$.nodes[1].config.most: 0 is too small: at least 1",
        "$.nodes[1].config.at: 'line' is none of 'word', 'character'",
        "$.nodes[1].config.mark: a text belongs here, not null",
    ]
    with pytest.raises(BadFlow) as caught:
        compile_flow(load_flow(document({"most": 1})), registry(module))
    (problem,) = caught.value.problems
    assert problem.path == "$.nodes[1].config.mark" and "no room" in problem.message


def test_the_entry_point_of_the_page_is_one(module: ModuleType) -> None:
    (points,) = tomllib.loads(PAGE["toml"])["project"]["entry-points"].items()
    assert points == ("farthing.nodes", {module.node.name: "my_package.shorten:node"})

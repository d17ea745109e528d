"""The documents say what the code does: every command that they show is run, every list compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from runtime.settings import load_settings
from runtime.settings.document import (
    BudgetTable,
    DisplayTable,
    Document,
    PriceTable,
    ProviderTable,
    SecretTable,
    Table,
    ToolsTable,
)
from runtime.spec import load_flow
from tests.repo import ROOT, Block, blocks, files, modules

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SHELL = [block for block in blocks(README) if block.language == "sh"]


def exit_code(block: Block) -> int:
    """What a block ends with by its own word `exit=N`; 0 unless it says so."""
    return next((int(word.removeprefix("exit=")) for word in block.words if word.startswith("exit=")), 0)


@pytest.mark.slow
def test_readme_commands_run_as_shown(tmp_path: Path) -> None:
    """In order, in one empty folder, without a key. `.ci/run` runs `setup` blocks; `key` ones need a key."""
    scripts = Path(sys.executable).parent
    assert (scripts / "farthing").exists(), "Farthing is not installed here: pip install --no-deps -e ."
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    shown = [block for block in SHELL if not {"setup", "key"} & set(block.words)]
    assert len(shown) >= 5
    for block in shown:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.body],
            cwd=tmp_path, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        told = f"README.md:{block.line}\n{block.body}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == exit_code(block), told
        assert "Traceback" not in done.stderr, told


def test_readme_sets_up_with_two_lines() -> None:
    lines = [block.body.strip() for block in SHELL if "setup" in block.words]
    assert len(lines) == 2 and not any("\n" in line for line in lines)
    assert "farthing run example:" in lines[0] and "pytest" in lines[1]


SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "block",
    [block for page in (README, SETTINGS) for block in blocks(page) if block.language == "toml"],
    ids=lambda block: block.line,
)
def test_shown_settings_can_be_read(block: Block, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(block.body, encoding="utf-8")
    config.chmod(0o600)
    settings = load_settings({"FARTHING_CONFIG": str(config)}, folder=None)
    assert settings.exists and not settings.warnings


@pytest.mark.parametrize(
    ("table", "title"),
    [
        (ProviderTable, "`[providers.NAME]`"),
        (PriceTable, "`[providers.NAME]`"),
        (BudgetTable, "`[[budget]]`"),
        (SecretTable, "`[secrets.NAME]`"),
        (ToolsTable, "`[tools]`"),
        (DisplayTable, "`[display]`"),
        (Document, "# Settings"),
    ],
)
def test_settings_page_names_every_key(table: type[Table], title: str) -> None:
    part = SETTINGS if title.startswith("#") else SETTINGS.partition(f"## {title}\n")[2].partition("\n## ")[0]
    keys = [field.encode_name for field in msgspec.structs.fields(table)]
    assert [key for key in keys if not re.search(rf"[`\[]{key}[`.\]]|^{key} =", part, re.MULTILINE)] == []


def test_readme_nodes_are_nodes_of_a_flow() -> None:
    nodes = [json.loads(block.body) for block in blocks(README) if block.language == "json"]
    assert nodes
    flow = {"format": "farthing.flow/1", "name": "readme", "nodes": nodes, "edges": []}
    assert [node.id for node in load_flow(json.dumps(flow).encode()).spec.nodes] == [n["id"] for n in nodes]


def test_readme_table_lists_every_command() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", README.partition("## Commands")[2], re.MULTILINE)
    assert sorted(listed) == sorted(PROJECT["entry-points"]["farthing.commands"])


def test_readme_names_every_node_type() -> None:
    status = README.partition("**Status:**")[2].partition("\n\n")[0]
    assert [kind for kind in PROJECT["entry-points"]["farthing.nodes"] if kind not in status] == []


def test_readme_and_contributing_name_every_variable() -> None:
    """An environment variable that changes what Farthing does is written down somewhere."""
    used = {
        name
        for path in modules("runtime", "nodes", "studio")
        for name in re.findall(r"[\"'](FARTHING_[A-Z_]+)[\"']", path.read_text(encoding="utf-8"))
    }
    pages = [path for path in files() if path.suffix == ".md"]
    told = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    assert {name for name in used if name not in told} == set()


@pytest.mark.parametrize(
    "page",
    [path for path in files() if path.suffix == ".md"],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []

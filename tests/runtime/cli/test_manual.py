"""The manual is made from the commands, and the page in docs is the manual."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from runtime.cli.group import OWN
from runtime.cli.manual import as_markdown, as_roff
from runtime.cli.manual_source import pages
from tests.repo import ROOT
from tests.runtime.cli.conftest import Farthing


@pytest.mark.promise("CLI-12")
def test_docs_have_what_the_commands_say(farthing: Farthing) -> None:
    said = farthing("manual", "--markdown")
    written = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert said.out == written, "farthing manual --markdown > docs/commands.md"


@pytest.mark.promise("CLI-12")
def test_manual_has_every_command_with_its_options_and_examples() -> None:
    found = {page.name: page for page in pages()}
    assert {f"farthing {name}" for name in OWN} <= found.keys()
    for name in ("run", "facts erase", "budget reset", "studio", "key set", "eval memory"):
        page = found[f"farthing {name}"]
        assert page.paragraphs and page.examples and page.usage.startswith(page.name), name
    assert any(forms.startswith("--as-of") for forms, _ in found["farthing facts list"].options)
    for page in found.values():
        assert all(text for _, text in page.options), page.name


def test_manual_page_is_sound_roff(farthing: Farthing) -> None:
    lines = list(as_roff(pages()))
    assert lines[0].startswith(".TH FARTHING 1")
    requests = {line.split()[0] for line in lines if line.startswith(".")}
    assert requests <= {
        ".TH", ".SH", ".SS", ".B", ".I", ".PP", ".TP", ".RS", ".RE", ".nf", ".fi",
    }  # fmt: skip
    assert farthing("manual").out == "\n".join(lines) + "\n"
    groff = shutil.which("groff")
    if groff is not None:
        done = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww"], input="\n".join(lines).encode(), capture_output=True, timeout=60
        )
        assert b"BUDGET" in done.stdout.upper()
        assert done.returncode == 0


def test_markdown_closes_what_it_opens() -> None:
    lines = list(as_markdown(pages()))
    assert sum(line.startswith("```") for line in lines) % 2 == 0
    assert all(line.count("|") - line.count("\\|") == 3 for line in lines if line.startswith("| `"))

"""docs/testing.md names what there is: fixtures, fields of a reply, arguments, exported names."""

from __future__ import annotations

import inspect
import re

import msgspec

import runtime.testing
import runtime.testing_pytest
from runtime.models.script import Script, ScriptedReply
from runtime.testing import Bench, assert_spend
from tests.repo import ROOT

PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")


def rows(after: str) -> list[str]:
    """The first cells of the first table after a text."""
    table = PAGE.partition(after)[2].partition("|---")[2].partition("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def test_page_lists_every_field_of_a_reply() -> None:
    fields = [field.encode_name for field in msgspec.structs.fields(ScriptedReply)]
    assert rows("A reply may hold") == fields
    assert all(name in PAGE for name in Script.__struct_fields__)


def test_page_lists_every_fixture() -> None:
    found = [
        name
        for name, value in vars(runtime.testing_pytest).items()
        if type(value).__name__ == "FixtureFunctionDefinition"
    ]
    assert sorted(rows("finds the first one's history")) == sorted(found)


def test_page_names_every_argument() -> None:
    wanted = [*inspect.signature(Bench.run).parameters, *inspect.signature(assert_spend).parameters]
    told = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`|```.*?```", PAGE, re.DOTALL))))
    assert [name for name in wanted if name not in {"self", "flow", "input", "model", *told}] == []


def test_everything_that_is_exported_is_there() -> None:
    assert all(hasattr(runtime.testing, name) for name in runtime.testing.__all__)

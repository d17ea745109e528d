"""The repository keeps its own rules: where things lie, how long they are, what they name and promise."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from runtime.events import Base, event_types
from runtime.node import NodeType
from runtime.registry import installed
from runtime.shape.schema import json_schema
from tests.repo import ROOT, files, modules, name, promises, promises_held, text

TOP_LEVEL = {
    "runtime", "nodes", "studio", "flows", "tests", "docs", ".ci",
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE",
    "pyproject.toml", "requirements.lock", ".gitignore", ".importlinter",
}  # fmt: skip


def test_top_level_is_as_designed() -> None:
    assert {Path(name(path)).parts[0] for path in files()} == TOP_LEVEL


# Length. A file that is longer than the bound is split, or stands here with its own bound and a reason.

LINES = 300
LINES_OF_TESTS = 450


class Long(NamedTuple):
    """A file that may be longer than the rest."""

    lines: int
    why: str


LONG = {
    "runtime/events.py": Long(660, "the closed union, every event on one page"),
    "runtime/record.py": Long(730, "the storage protocol, every verb and read on one page"),
    "runtime/store/tables.py": Long(350, "every table of the database on one page"),
    "nodes/memory.py": Long(340, "every setting of memory, which are its form and its help"),
    "runtime/ledger.py": Long(340, "the whole arithmetic of budgets, pure"),
}


def test_files_are_short() -> None:
    too_long = {}
    for path in modules("runtime", "nodes", "studio", "tests"):
        inside = name(path)
        bound = LINES_OF_TESTS if inside.startswith("tests/") else LINES
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONG.get(inside, Long(bound, "")).lines:
            too_long[inside] = lines
    assert not too_long


@pytest.mark.parametrize("inside", LONG)
def test_exceptions_of_length_are_still_needed(inside: str) -> None:
    bound = LINES_OF_TESTS if inside.startswith("tests/") else LINES
    assert len((ROOT / inside).read_text(encoding="utf-8").splitlines()) > bound


OPENING = re.compile(r'(?:(?:#.*)?\n)*r?"""\s*[^\s"]')
"""A docstring that says something before anything else of a module."""


def test_every_module_says_what_lives_in_it() -> None:
    silent = []
    for path in modules("runtime", "nodes", "studio", "tests"):
        source = path.read_text(encoding="utf-8")
        if source.strip() and not OPENING.match(source):
            silent.append(name(path))
    assert not silent


# What files name: no machine of anybody's, and no host but those that are meant to be read or called.

SOMEBODYS_FOLDER = re.compile(r"(?<![\w.~/}$*-])/(?:home|root|Users|work)/[\w.]+")
URL = re.compile(r"\b(?:https?|file|ssh)://[^\s\"'`<>)\]}|\\]*")
HOSTS = {
    "api.openai.com", "openai.azure.com", "api.anthropic.com", "generativelanguage.googleapis.com",
    "openrouter.ai", "hooks.slack",
    "json-schema.org", "keepachangelog.com", "semver.org", "www.apache.org", "www.w3.org",
}  # fmt: skip
FOR_EXAMPLES = ("example", "example.com", "example.org", "example.net", "test", "invalid")
"""Names that are kept for examples and tests: RFC 2606."""


def host_of(url: str) -> str:
    """The host of an address; empty for a broken one."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def hosts(page: str) -> set[str]:
    """The hosts that a text's addresses name, without placeholders such as `{host}`."""
    return {host for url in URL.findall(page) if re.fullmatch(r"[\w.-]+", host := host_of(url))}


def is_meant(host: str) -> bool:
    """Whether an address may stand in the repository: on no public network, or at a host named above."""
    if "." not in host or any(("." + host).endswith("." + end) for end in (*HOSTS, *FOR_EXAMPLES)):
        return True
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False


def test_no_file_names_somebodys_machine() -> None:
    found = {name(path): SOMEBODYS_FOLDER.findall(text(path) or "") for path in files()}
    assert not {inside: hits for inside, hits in found.items() if hits}


def own_words(path: Path) -> str:
    """A file's text without what others wrote into it: built assets quote the libraries that they are built
    from, a lock of npm where each package asks for money. Where a package lies is ours not to name."""
    page = text(path) or ""
    if name(path).startswith("studio/static/"):
        return ""
    return re.sub(r'"url": "[^"]*"', "", page) if path.name == "package-lock.json" else page


def test_no_file_names_an_unknown_host() -> None:
    found = {name(path): {h for h in hosts(own_words(path)) if not is_meant(h)} for path in files()}
    assert not {inside: hits for inside, hits in found.items() if hits}


def test_lock_names_packages_by_version_and_hash_and_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not hosts(lock) and "--index" not in lock and "--find-links" not in lock and " @ " not in lock
    pinned = re.findall(r"^([\w.-]+)==\S+(?: ;[^\n\\]*)? \\\n    --hash=sha256:", lock, re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^[\w.-]+", lock, re.MULTILINE)) > 50


def test_lock_covers_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *(need for extra in project["project"]["optional-dependencies"].values() for need in extra),
        *project["dependency-groups"]["dev"],
    ]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    names = {re.split(r"[\[<>=!~ ;]", need)[0].lower() for need in wanted}
    assert not names - locked


# The contract


def test_event_union_is_closed() -> None:
    """A new event is a decision: it needs its code, its test and its line in the documents."""
    assert len(event_types()) == 40


NODE_MAY_IMPORT = {"node", "shape", "spec", "events", "errors", "ledger", "usage", "facts", "messages"}


@pytest.mark.promise("EVT-1")
@pytest.mark.parametrize("cls", event_types().values(), ids=lambda cls: cls.__name__)
def test_every_event_has_the_common_fields(cls: type[Base]) -> None:
    """The session and `seq` come with the commit: they are spliced into the stored body."""
    assert {"at", "run_id", "node_id", "step", "v"} <= set(cls.__struct_fields__)
    assert cls.__struct_config__.frozen and cls.__struct_config__.tag_field == "type"


@pytest.mark.promise("NOD-2")
@pytest.mark.parametrize("kind", installed().all(), ids=lambda kind: kind.name)
def test_every_field_of_a_node_has_a_help_text_and_no_other_is_taken(kind: NodeType) -> None:
    schema = json_schema(kind.config)
    for title, model in {kind.name: schema, **schema.get("$defs", {})}.items():
        if model.get("type") != "object":
            continue
        assert model.get("additionalProperties") is False, title
        silent = [name for name, field in model["properties"].items() if not field.get("description")]
        assert [name for name in silent if "const" not in model["properties"][name]] == [], title


@pytest.mark.promise("NOD-3")
def test_node_files_import_nothing_of_the_machinery() -> None:
    """import-linter says it too; this one also sees `import runtime` and `from runtime import x`."""
    wrong = []
    for path in modules("nodes"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in names:
                top, _, rest = module.partition(".")
                if top == "runtime" and rest.partition(".")[0] not in NODE_MAY_IMPORT:
                    wrong.append((name(path), module))
    assert not wrong


@cache
def held() -> dict[str, set[str]]:
    """Which test files hold which promise."""
    found: dict[str, set[str]] = {}
    for path in modules("tests"):
        source = path.read_text(encoding="utf-8")
        for promise in promises_held(source) if "promise" in source else ():
            found.setdefault(promise, set()).add(name(path))
    return found


def test_every_promise_has_a_test() -> None:
    by_test = held()
    assert [promise for promise in promises() if promise not in by_test] == []


def test_every_promise_that_a_test_names_is_written_down() -> None:
    written = promises()
    assert {promise: where for promise, where in held().items() if promise not in written} == {}


def test_promise_ids_are_used_once_and_in_order() -> None:
    by_part: dict[str, list[int]] = {}
    for promise in promises():
        part, _, number = promise.partition("-")
        by_part.setdefault(part, []).append(int(number))
    assert by_part and all(numbers == sorted(set(numbers)) for numbers in by_part.values())

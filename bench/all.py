"""Every benchmark, one after the other; one page of figures.

    python bench/all.py [NAME ...]

Writes docs/benchmarks.md and build/benchmarks.json: the benchmarks named, or all of them; those not
named keep the figures they had. A benchmark that needs a package which is not installed is left out,
and said to be. A new file beside this one that publishes figures is taken in.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from figures import Figure, text

HERE = Path(__file__).parent
FIRST = (
    "commands",
    "accounting",
    "engine",
    "composition",
    "gaussian",
    "personalized",
    "tradeoff",
    "allocation",
    "sampling",
    "training",
    "web",
    "service",
    "pipeline",
)
"""In this order; others after them."""
INTRODUCTION = """# Benchmarks

Written by `make bench`; each table measured side by side in one run. Trust ratios and growth, not times: these are from a 2-core machine
that other work shared, and a quiet one takes less.
Every question is asked once: *warm* figures are medians over distinct questions in one process, *cold*
ones are the first question of a fresh process. Times are processor seconds, but by the clock over HTTP and in training.
A ratio says how many times longer the other way takes.
"""


def benchmarks() -> list[str]:
    """Files that publish figures."""
    found = {
        path.stem for path in HERE.glob("*.py") if "import Figure" in path.read_text("utf-8")
    } - {Path(__file__).stem}
    return [*FIRST, *sorted(found - set(FIRST))]


def figures_of(name: str) -> dict[str, Any]:
    """What a benchmark measures, or what it lacks."""
    command = [sys.executable, str(HERE / f"{name}.py"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.returncode:
        measured: dict[str, Any] = json.loads(done.stdout)
        return measured
    missing = re.search(r"ModuleNotFoundError: No module named '([^']+)'", done.stderr)
    if missing is None:
        raise SystemExit(f"bench/{name}.py failed:\n{done.stderr}")
    return {"title": name.capitalize(), "figures": [], "missing": missing[1]}


def page(found: dict[str, dict[str, Any]]) -> str:
    """All figures in one place."""
    parts = [INTRODUCTION, f"Python {platform.python_version()}, {os.cpu_count()} cores.\n"]
    for each in found.values():
        if "missing" in each:
            parts.append(f"## {each['title']}\n\nLeft out: {each['missing']} is not installed.\n")
        else:
            parts.append(text(each["title"], [Figure(**figure) for figure in each["figures"]]))
    return "\n".join(parts)


def main() -> None:
    known, written = benchmarks(), HERE.parent / "build" / "benchmarks.json"
    chosen = sys.argv[1:] or known
    if unknown := set(chosen) - set(known):
        raise SystemExit(f"no such benchmark: {', '.join(sorted(unknown))}")
    before = json.loads(written.read_text("utf-8")) if sys.argv[1:] and written.exists() else {}
    written.parent.mkdir(exist_ok=True)
    for name in known:
        if name in chosen:
            start, used = time.perf_counter(), sum(os.times()[2:4])
            print(f"{name} …", end=" ", file=sys.stderr, flush=True)
            before[name] = figures_of(name)
            took, used = time.perf_counter() - start, sum(os.times()[2:4]) - used
            print(f"{took:.0f} s, {used:.0f} of them computing", file=sys.stderr)
            found = {each: before[each] for each in known if each in before}
            written.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
            (HERE.parent / "docs" / "benchmarks.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()

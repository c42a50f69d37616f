"""python -m tests.mutants: the share of faults that a test sees, per folder.

First says which test passes through which function (once; delete the file to do it anew), then plants
a seeded sample of faults. What is judged already is not judged again, so it can be stopped and goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.mutants.mutate import Mutant, mutants
from tests.mutants.run import PACKAGE, ROOT, Calls, judge, package

FOLDERS: dict[str, tuple[list[str], list[str]]] = {
    "numerics": (["numerics/*.py"], ["tests/numerics", "tests/accounting/bounds"]),
    "bounds": (
        ["accounting/bounds/*.py"],
        ["tests/accounting", "tests/numerics/test_gaussian_moments.py"],
    ),
    "swap": (
        [
            *("accounting/bounds/swap*.py", "accounting/randomizers/swaps.py"),
            "numerics/several_laws.py",
        ],
        [
            *sorted(str(p) for p in (ROOT / "tests/accounting/bounds").glob("test_swap*.py")),
            *(
                "tests/accounting/bounds/test_random_crowds.py",
                "tests/numerics/test_several_laws.py",
            ),
        ],
    ),
    "ledger": (
        ["ledger/*.py"],
        ["tests/ledger", "tests/interfaces/cli/test_ledger.py", "-k", "not postgres and not crowd"],
    ),
    "pipeline": (["collection/pipeline/*.py"], ["tests/collection/pipeline"]),
}
"""Which files are changed, and which tests are asked."""
EXACT = ("ledger", "pipeline")
"""Where a number on the boundary is a case of its own."""
APART = ("collection/pipeline/spark.py", "ledger/postgres.py")
"""Need a cluster or a server, which takes too long to start for every fault."""


def _mutants(folder: str) -> list[Mutant]:
    paths = {path for pattern in FOLDERS[folder][0] for path in PACKAGE.glob(pattern)}
    found: list[Mutant] = []
    for path in sorted(paths):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in APART:
            found += mutants(name, path.read_bytes(), boundaries=folder in EXACT)
    return found


def _calls(folder: str, kept: Path) -> Calls:
    file = kept / f"{folder}.calls"
    if not file.exists():
        part = file.with_suffix(".part")
        part.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.calls"]
        command += ["-p", "no:cacheprovider", "--calls", str(part), *FOLDERS[folder][1]]
        subprocess.run(command, cwd=ROOT, check=True)
        part.rename(file)
    return Calls.read(file)


def _folder(folder: str, kept: Path, sample: int, seed: int, seconds: float) -> None:
    drawn = _mutants(folder)
    everything = len(drawn)
    random.Random(seed).shuffle(drawn)
    calls, results = _calls(folder, kept), kept / f"{folder}.jsonl"
    known: dict[str, str] = {}
    if results.exists():
        known = dict(map(json.loads, results.read_text(encoding="utf-8").splitlines()))
    counted: Counter[str] = Counter()
    with package() as where, results.open("a", encoding="utf-8") as file:
        for mutant in drawn[:sample]:
            tests = calls.of(mutant, seconds)
            if tests and not known and judge(None, where, tests, seconds) != "survived":
                raise RuntimeError(f"tests of {folder} fail without a fault")
            if mutant.id not in known:
                known[mutant.id] = judge(mutant, where, tests, seconds) if tests else "not reached"
                print(json.dumps([mutant.id, known[mutant.id]]), file=file, flush=True)
            seen = known[mutant.id]
            counted["killed" if seen.startswith("killed") else seen] += 1
            if not seen.startswith("killed"):
                print(f"{seen}: {mutant.path}:{mutant.line} {mutant.id}", flush=True)
    killed = counted["killed"]
    print(f"{folder}: {killed} of {sample} killed ({everything} possible), {dict(counted)}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("folders", nargs="*", default=list(FOLDERS), choices=[*FOLDERS, []])
    parser.add_argument("--sample", type=int, default=60, help="faults per folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests per fault, at most")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "mutants", help="results")
    asked = parser.parse_args()
    asked.kept.mkdir(parents=True, exist_ok=True)
    for module in ("mpmath", "numpy", "scipy.stats", "flint", "pyarrow"):
        __import__(module)  # once, not for every fault
    for folder in asked.folders or FOLDERS:
        _folder(folder, asked.kept, asked.sample, asked.seed, asked.seconds)


if __name__ == "__main__":
    main()

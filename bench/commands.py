"""Commands as a person types them, each in a fresh process: processor seconds, imports included.

    python bench/commands.py [--json]

Ordinary parameters, and some at the edge of what is accepted.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from figures import Figure, publish

COMMANDS = (
    "account --eps0 2 --n 100000 --delta 1e-6",
    "account --eps0 2 --n 1000000000000 --delta 1e-15",
    "account --mechanism krr --k 16 --eps0 4 --n 1000000 --delta 1e-9 --rounds 365",
    "account --mechanism laplace --eps0 4 --n 1000000 --delta 1e-9",
    "account --mechanism laplace --eps0 10 --n 10000000000 --delta 1e-9 --rounds 100000",
    "account --mechanism truncated-laplace --eps0 3 --n 1000 --delta 1e-12 --rounds 100000",
    "account --mechanism gaussian --sigma 1 --n 10000 --delta 1e-6",
    "account --mechanism gaussian --sigma 1 --n 1000 --delta 1e-15 --check-in 0.1",
    "account --mechanism gaussian --sigma 1e-3 --n 10 --delta 1e-6",
    "account --mechanism laplace --eps0 60 --n 10 --delta 1e-6",
    "account --mechanism rr --eps0 30 --n 1 --rounds 1000 --delta 1e-6",
    "account --eps0 30 --n 1 --rounds 100000 --delta 1e-6",
    "compare --eps0 1 --n 100000 --delta 1e-6",
    "compare --eps0 1 --n 1000000000000 --delta 1e-295",
    "calibrate --n 100000 --epsilon 0.5 --delta 1e-6",
    "calibrate --n 2000000 --epsilon 1 --delta 1e-9 --rounds 90",
    "calibrate --mechanism truncated-laplace --n 10000 --epsilon 3 --delta 1e-9 --rounds 1000",
    "calibrate --mechanism gaussian --n 100000 --epsilon 1 --delta 1e-6",
    "refute --mechanism krr --k 16 --eps0 2 --n 10000 --epsilon 0.05 --delta 1e-6",
    "check --mechanism laplace --eps0 2 --n 10000 --epsilon 0.05 --delta 1e-6",
    "plan --task histogram --k 50 --n 2000000 --epsilon 1 --delta 1e-9",
    "plan --task histogram --k 50 --n 2000000 --epsilon 1 --delta 1e-9 --rounds 90",
    "plan --task mean --n 100000 --epsilon 1 --delta 1e-6",
    "plan --task vector --dimensions 10 --n 100000 --epsilon 1 --delta 1e-6",
)


def used(command: list[str]) -> float:
    """Processor seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # a linear-algebra library as it comes, whatever this process was told
    plain = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    done = subprocess.run(command, capture_output=True, env=plain)
    if done.returncode not in (0, 1, 3):  # a claim may be refuted or open
        raise SystemExit(f"{command} failed: {done.stderr.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(getattr(after, x) - getattr(before, x) for x in ("ru_utime", "ru_stime"))


def main() -> None:
    python = sys.executable
    figures = [Figure("import shuffledp", None, used([python, "-c", "import shuffledp"]))]
    figures += [
        Figure(f"`{line}`", None, used([python, "-m", "shuffledp", *line.split()]))
        for line in COMMANDS
    ]
    publish("Commands, cold", figures)


if __name__ == "__main__":
    main()

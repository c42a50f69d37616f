"""python -m tests.adversary --seconds 3600 --seed 7"""

from __future__ import annotations

import argparse
import sys
import time

from tests.adversary.hunt import hunt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.adversary", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument(
        "--seed", type=int, default=0, help="another seed, other cases (default: 0)"
    )
    parser.add_argument("--patience", type=float, default=0.5, help="share of slow cases, 0 to 1")
    options = parser.parse_args()
    start = time.monotonic()

    def report(line: str) -> None:
        print(f"[{time.monotonic() - start:6.0f} s] {line}", flush=True)

    faults, tally = hunt(
        options.seed, seconds=options.seconds, patience=options.patience, report=report
    )
    report(f"{dict(tally)}; {len(faults)} faults")
    if faults:
        print("\nTo repeat: from shuffledp import *; import math\nthen any line above.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

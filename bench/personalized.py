"""Speed of the accountant for a budget per user: every user a budget of its own.

    python bench/personalized.py [--json]

Wants: all classes in 5 s at n = 1e5 and in 30 s at n = 1e6 distinct budgets.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from shuffledp.accounting.protocols import Personalized
from shuffledp.accounting.randomizers.families import KRRFamily, LaplaceFamily


def main() -> None:
    rows = []
    for exponent, limit in ((4, 5.0), (5, 5.0), (6, 30.0)):
        n = 10**exponent
        budgets = np.random.default_rng(exponent).uniform(0.05, 1.0, n)
        for family in (LaplaceFamily(), KRRFamily(8)):
            start, cpu = time.perf_counter(), time.process_time()
            protocol = Personalized(family, budgets, budgets_visible=False)
            answer = protocol.guarantees(delta=1e-5)
            seconds = time.perf_counter() - start
            busy = time.process_time() - cpu
            worst = answer.worst.interval
            rows.append(
                {
                    "n": n,
                    "mechanism": family.name,
                    "classes": len(answer.classes),
                    "seconds": seconds,
                    "cpu_seconds": busy,
                    "limit": limit,
                    "lower": worst.lower,
                    "upper": worst.upper,
                }
            )
            print(
                f"n = {n:8,} {family.name:28} {len(answer.classes):3} classes {seconds:7.2f} s (cpu {busy:.2f} s)"
                f" (limit {limit:g})  worst class [{worst.lower:.4g}, {worst.upper:.4g}]",
                file=sys.stderr,
            )
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()

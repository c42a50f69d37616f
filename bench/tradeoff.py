"""Speed of the trade-off toolkit, as ratios measured side by side in one run.

    python bench/tradeoff.py [--json]

Exact Neyman-Pearson over the number of atoms (beside one sort of as many numbers), certified composition
over the number of copies (beside one convolution of its lattice), Theorem 5.1 over the number of cells.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from clock import seconds

from shuffledp.accounting.bounds.initialisation import clipped_linear
from shuffledp.accounting.curves.tradeoff import Gaussian, TradeoffFunction, compose


def main() -> None:
    """Rows of (what, size, seconds, seconds of the yardstick, ratio)."""
    rows = []
    generator = np.random.default_rng(1)
    for exponent in range(3, 7):
        p, q = generator.random((2, 10**exponent))
        p, q = p / p.sum(), q / q.sum()
        ratio = q / p
        rows.append(
            (
                "from_pair, atoms",
                10**exponent,
                seconds(lambda p=p, q=q: TradeoffFunction.from_pair(p, q)),
                seconds(lambda ratio=ratio: np.argsort(ratio)),
            )
        )
    f = Gaussian(0.1).below(1024)
    lattice = generator.random(4096)
    yardstick = seconds(lambda: np.convolve(lattice, lattice))
    for copies in (10, 100, 1000, 10_000, 1_000_000):
        rows.append(
            (
                "compose, copies",
                copies,
                seconds(lambda copies=copies: compose(f, copies)),
                yardstick,
            )
        )
    for cells in (1024, 4096, 16384):
        rows.append(
            (
                "Theorem 5.1, cells",
                cells,
                seconds(lambda cells=cells: clipped_linear(1.0, 2.0, cells=cells).claim()),
                yardstick,
            )
        )
    if "--json" in sys.argv:
        print(
            json.dumps([dict(zip(("what", "size", "s", "unit"), row, strict=True)) for row in rows])
        )
        return
    print(f"{'what':20} {'size':>9} {'ms':>9} {'yardstick':>10} {'ratio':>7}")
    for what, size, taken, unit in rows:
        print(f"{what:20} {size:9d} {taken * 1e3:9.2f} {unit * 1e3:10.2f} {taken / unit:7.1f}")


if __name__ == "__main__":
    main()

"""The trade-off toolkit: growth with atoms, copies and cells, beside a sort or one convolution.

python bench/tradeoff.py [--json]
"""

from __future__ import annotations

import numpy as np
from figures import Figure, publish, warm

from shuffledp.accounting.bounds.random_start import clipped_linear
from shuffledp.accounting.curves.tradeoff import Gaussian, TradeoffFunction, compose


def main() -> None:
    figures = []
    generator = np.random.default_rng(1)
    for exponent in range(3, 7):
        p, q = generator.random((2, 10**exponent))
        p, q = p / p.sum(), q / q.sum()
        figures.append(
            Figure(
                "from_pair, atoms",
                10**exponent,
                warm(lambda i, p=p, q=q: TradeoffFunction.from_pair(np.roll(p, i), q)),
                "one sort",
                warm(lambda i, ratio=q / p: np.argsort(np.roll(ratio, i))),
            )
        )
    lattice = generator.random(4096)
    once = warm(lambda i: np.convolve(lattice, np.roll(lattice, i)))
    for copies in (10, 100, 1000, 10_000, 1_000_000):
        figures.append(
            Figure(
                "compose, copies",
                copies,
                warm(lambda i, k=copies: compose(Gaussian(0.1 + 1e-3 * i).below(1024), k), 3),
                "one convolution",
                once,
            )
        )
    for cells in (1024, 4096, 16384):
        figures.append(
            Figure(
                "Wang et al. 2023, Theorem 5.1, cells",
                cells,
                warm(lambda i, c=cells: clipped_linear(1.0 + 1e-3 * i, 2.0, cells=c).claim(), 3),
                "one convolution",
                once,
            )
        )
    publish("Trade-off functions", figures)


if __name__ == "__main__":
    main()

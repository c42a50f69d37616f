"""Shuffled Gaussian reports: all orders at once against the sum over integer partitions.

python bench/gaussian.py [--json]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from figures import Figure, publish, warm

from shuffledp.numerics.lognormal_mean import LognormalMean

SIGMA, N = 9.48, 60_000


def partitions(total: int) -> Iterator[list[int]]:
    """Kelleher and O'Sullivan's ascending partitions, the generator the paper cites."""
    parts = [0] * (total + 1)
    k, y = 1, total - 1
    while k:
        x = parts[k - 1] + 1
        k -= 1
        while 2 * x <= y:
            parts[k] = x
            y -= x
            k += 1
        last = k + 1
        while x <= y:
            parts[k], parts[last] = x, y
            yield parts[: k + 2]
            x += 1
            y -= 1
        parts[k] = x + y
        y = x + y - 1
        yield parts[: k + 1]


def by_partitions(order: int, sigma: float) -> float:
    """Algorithm 1 of Liew and Takahashi, in logarithms: one order."""
    log_factorial = [math.lgamma(k + 1.0) for k in range(order + 1)]
    terms = []
    for parts in partitions(order):
        counts = Counter(parts)
        term = log_factorial[order] - sum(log_factorial[k] for k in parts)
        term += math.lgamma(N + 1.0) - math.lgamma(N - len(parts) + 1.0)
        term -= sum(log_factorial[c] for c in counts.values())
        terms.append(term + sum(k * (k - 1) for k in parts) / (2.0 * sigma**2))
    top = max(terms)
    total = top + math.log(math.fsum(math.exp(t - top) for t in terms)) - order * math.log(N)
    return total / (order - 1)


def all_orders(sigma: float, n: int, top: int) -> None:
    """All orders up to top; a sigma not seen before, so nothing is remembered."""
    LognormalMean(sigma**-2, n).log_excess_moments(top)


def main() -> None:
    orders, large = [], []
    for order in (20, 30, 40, 50):
        ours = warm(lambda i, order=order: all_orders(SIGMA + 0.01 * i, N, order), 3)
        theirs = warm(lambda i, order=order: by_partitions(order, SIGMA + 0.01 * i), 1)
        orders.append(Figure("all orders up to", order, ours, "partitions, one order", theirs))
    for n in (1000, 60_000, 10**9):
        for top in (1000, 10_000):
            took = warm(lambda i, n=n, top=top: all_orders(SIGMA + 0.01 * i, n, top), 3)
            large.append(Figure(f"orders 2 to {top:,}, users", n, took))
    publish("Rényi divergences of shuffled Gaussian reports", [*orders, *large])


if __name__ == "__main__":
    main()

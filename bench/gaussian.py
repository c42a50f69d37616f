"""Shuffled Gaussian reports: all orders at once against the sum over integer partitions.

Run: python bench/gaussian.py [--json].
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from clock import seconds

from shuffledp.numerics.central_moments import log_central_moments
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


def by_partitions(order: int) -> float:
    """Algorithm 1 of Liew and Takahashi, in logarithms: one order."""
    log_factorial = [math.lgamma(k + 1.0) for k in range(order + 1)]
    terms = []
    for parts in partitions(order):
        counts = Counter(parts)
        term = log_factorial[order] - sum(log_factorial[k] for k in parts)
        term += math.lgamma(N + 1.0) - math.lgamma(N - len(parts) + 1.0)
        term -= sum(log_factorial[c] for c in counts.values())
        terms.append(term + sum(k * (k - 1) for k in parts) / (2.0 * SIGMA**2))
    top = max(terms)
    total = top + math.log(math.fsum(math.exp(t - top) for t in terms)) - order * math.log(N)
    return total / (order - 1)


def fresh(ratio: LognormalMean, top: int) -> None:
    """All orders up to top, nothing remembered from before."""
    log_central_moments.cache_clear()
    ratio.log_excess_moments(top)


def main() -> None:
    ratio = LognormalMean(SIGMA**-2, N)
    rows = []
    print(
        "order   ours ms (all orders up to it)   partitions ms (one order)   ratio", file=sys.stderr
    )
    for order in (20, 30, 40, 50):
        ours = seconds(lambda order=order: fresh(ratio, order))
        theirs = seconds(lambda order=order: by_partitions(order))
        rows.append({"order": order, "ours": ours, "partitions": theirs, "ratio": theirs / ours})
        print(
            f"{order:5d} {ours * 1e3:14.2f} {theirs * 1e3:32.1f} {theirs / ours:19.0f}",
            file=sys.stderr,
        )
    large = []
    for n in (1000, 60_000, 10**9):
        for top in (1000, 10_000):
            used = seconds(lambda n=n, top=top: fresh(LognormalMean(SIGMA**-2, n), top))
            large.append({"n": n, "orders": top, "seconds": used})
            print(f"orders 2..{top} at n = {n:g}: {used * 1e3:.0f} ms", file=sys.stderr)
    growth = [b["partitions"] / a["partitions"] for a, b in pairwise(rows)]
    ours_growth = [b["ours"] / a["ours"] for a, b in pairwise(rows)]
    print(
        f"growth per 10 orders: partitions {growth[-1]:.1f}, ours {ours_growth[-1]:.1f}",
        file=sys.stderr,
    )
    if "--json" in sys.argv:
        print(json.dumps({"orders": rows, "large": large}, indent=2))


if __name__ == "__main__":
    main()

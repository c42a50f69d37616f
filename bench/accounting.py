"""Speed of the generic accountant, as ratios measured side by side in one run.

    python bench/accounting.py [--json]

Compares one certified delta(eps) with the plain sum over every possible number of clones, shows
how the cost grows with n, and how wide the enclosure is.
"""

from __future__ import annotations

import json
import math
import sys

import numpy as np
from clock import seconds
from scipy.special import betainc
from scipy.stats import binom

from shuffledp import LDP, Shuffled
from shuffledp.accounting.bounds.clones import stronger_clones


def plain_sum(eps0: float, n: int, epsilon: float) -> float:
    """The textbook sum over all 0 <= c < n, vectorised with SciPy."""
    big, e = math.exp(eps0), math.exp(epsilon)
    w = 1.0 / (big + 1.0)
    k = 1.0 - w - w * e
    g = (e * (1.0 - w) - w) / k
    c = np.arange(n)
    t = np.floor(g * (c + 1) / (1 + g))
    mass = binom.pmf(c, n - 1, 2 * w)
    tail = np.where(t < c, betainc(t + 1, np.maximum(c - t, 1e-9), 0.5), 0.0)
    at = binom.pmf(t, c, 0.5)
    return float(k * np.sum(mass * (at + (1 - g) * tail)))


def main() -> None:
    rows = []
    eps0 = 2.0
    print(
        f"{'n':>8} {'delta ms':>9} {'width':>9} {'epsilon ms':>11} {'plain ms':>9} {'ratio':>8}",
        file=sys.stderr,
    )
    for exponent in range(2, 13):
        n = 10**exponent
        protocol = Shuffled(LDP(eps0), n)
        curve = stronger_clones(LDP(eps0), n)
        epsilon = protocol.epsilon(1e-6).upper
        if epsilon == 0.0:
            epsilon = protocol.epsilon(1e-12).upper
        ours = seconds(lambda c=curve, e=epsilon: c.enclose(e))
        full = seconds(lambda p=protocol: p.epsilon(1e-6))
        plain = seconds(lambda n=n, e=epsilon: plain_sum(eps0, n, e)) if n <= 10**7 else None
        row = {
            "n": n,
            "delta_seconds": ours,
            "relative_width": curve.enclose(epsilon).width,
            "epsilon_seconds": full,
            "plain_sum_seconds": plain,
            "plain_over_ours": plain / ours if plain else None,
        }
        rows.append(row)
        shown = f"{plain * 1e3:9.1f} {plain / ours:8.1f}" if plain else f"{'-':>9} {'-':>8}"
        print(
            f"{n:8.0e} {ours * 1e3:9.2f} {row['relative_width']:9.1e} {full * 1e3:11.1f} {shown}",
            file=sys.stderr,
        )
    by_n = {row["n"]: row["epsilon_seconds"] for row in rows}
    growth = by_n[10**12] / by_n[10**5]
    print(f"epsilon(delta): time at n = 1e12 over time at n = 1e5: {growth:.2f}", file=sys.stderr)
    if "--json" in sys.argv:
        print(json.dumps({"rows": rows, "epsilon_growth_1e12_over_1e5": growth}, indent=2))


if __name__ == "__main__":
    main()

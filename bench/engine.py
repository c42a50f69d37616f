"""Speed of the engine for randomizers with a known law, as ratios measured in one run.

    python bench/engine.py [--json]

One certified delta(eps) against a plain n-fold FFT convolution of the same law on a lattice fine
enough for the same accuracy, and growth with n.
"""

from __future__ import annotations

import json
import math
import sys

import numpy as np

from accounting import seconds
from shuffledp import KRR, Laplace, Shuffled
from shuffledp.accounting.bounds.identity import delta_lower, delta_upper
from shuffledp.accounting.randomizers import Randomizer


def plain_fft(
    randomizer: Randomizer, n: int, epsilon: float, points_per_sd: float = 200.0
) -> float:
    """(1/n) E[(V_1 + ... + V_n)+] by one long FFT: round V to a lattice, raise to the power n."""
    outcomes = randomizer.blankets()[0].outcomes
    e = math.exp(epsilon)
    values = np.append((outcomes.first - e * outcomes.second) / outcomes.base, 0.0)
    weights = np.append(outcomes.base, 1.0 - outcomes.base.sum())
    mean = float(weights @ values)
    sd = math.sqrt(float(weights @ (values - mean) ** 2))
    step = sd / points_per_sd
    size = 1 << math.ceil(math.log2(24.0 * sd * math.sqrt(n) / step))
    law = np.zeros(size)
    np.add.at(law, np.rint(values / step).astype(np.int64) % size, weights)
    power = np.fft.irfft(np.fft.rfft(law) ** n, size)
    support = (np.arange(size) + size // 2) % size - size // 2
    total = n * mean / step  # the window is centred on the mean of the sum
    shifted = support + size * np.rint((total - support) / size)
    return float(step * np.sum(np.maximum(shifted, 0.0) * power) / n)


def main() -> None:
    rows = []
    print(
        f"{'randomizer':>12} {'n':>7} {'delta ms':>9} {'width':>8} {'epsilon ms':>11} {'FFT ms':>9} {'ratio':>7}",
        file=sys.stderr,
    )
    for name, randomizer in (("k-RR 1000", KRR(1000, eps0=4.0)), ("Laplace", Laplace(eps0=4.0))):
        scene = randomizer.blankets()[0].outcomes
        for n in (10**4, 10**6, 10**9):
            protocol = Shuffled(randomizer, n)
            epsilon = protocol.epsilon(1e-6).upper or 1e-6
            ours = seconds(lambda s=scene, n=n, e=epsilon: delta_upper(s, n, e, 2e-3))
            whole = seconds(lambda p=protocol: p.epsilon(1e-6))
            width = 1.0 - delta_lower(scene, n, epsilon, 2e-3) / delta_upper(
                scene, n, epsilon, 2e-3
            )
            plain = (
                seconds(lambda r=randomizer, n=n, e=epsilon: plain_fft(r, n, e))
                if n <= 10**6
                else None
            )
            rows.append(
                {
                    "randomizer": name,
                    "n": n,
                    "delta_seconds": ours,
                    "relative_width": width,
                    "epsilon_seconds": whole,
                    "fft_seconds": plain,
                }
            )
            shown = f"{plain * 1e3:9.1f} {plain / ours:7.1f}" if plain else f"{'-':>9} {'-':>7}"
            print(
                f"{name:>12} {n:7.0e} {ours * 1e3:9.1f} {width:8.1e} {whole * 1e3:11.1f} {shown}",
                file=sys.stderr,
            )
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()

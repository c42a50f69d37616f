"""Randomizers with a known law: one delta beside a long FFT of the same law; growth with n.

    python bench/engine.py [--json]

The FFT rounds the law to a lattice fine enough for the same accuracy and raises its transform to
the power n; it certifies nothing.
"""

from __future__ import annotations

import math

import numpy as np
from figures import Figure, cold, publish, warm

from shuffledp import KRR, Laplace, Shuffled
from shuffledp.accounting.bounds.identity import delta_lower, delta_upper
from shuffledp.accounting.randomizers import Randomizer

_WIDTH = 2e-3


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
    deltas, epsilons = [], []
    made = {"k-RR, k = 1000": "KRR(1000, eps0={})", "Laplace": "Laplace(eps0={})"}
    for name, text in made.items():
        randomizer = KRR(1000, eps0=4.0) if "KRR" in text else Laplace(eps0=4.0)
        outcomes = randomizer.blankets()[0].outcomes
        for n in (10**4, 10**6, 10**9):
            epsilon = Shuffled(randomizer, n).epsilon(1e-6).upper or 1e-6
            lower, upper = (f(outcomes, n, epsilon, _WIDTH) for f in (delta_lower, delta_upper))
            plain = None
            if n <= 10**6:
                plain = warm(
                    lambda i, r=randomizer, n=n, e=epsilon: plain_fft(r, n, e * (1 + 1e-3 * i)), 3
                )
            deltas.append(
                Figure(
                    f"delta of {name}, one end, warm",
                    n,
                    warm(
                        lambda i, o=outcomes, n=n, e=epsilon: delta_upper(
                            o, n, e * (1.0 + 1e-3 * i), _WIDTH
                        )
                    ),
                    "FFT" if plain else "",
                    plain,
                    f"width {1.0 - lower / upper:.0e}",
                )
            )
            other = type(randomizer)
            more = {"k": 1000} if other is KRR else {}
            epsilons.append(
                Figure(
                    f"epsilon of {name}, both ends, warm",
                    n,
                    warm(
                        lambda i, n=n, other=other, more=more: Shuffled(
                            other(eps0=4.0 + 0.01 * i, **more), n
                        ).epsilon(1e-6),
                        3,
                    ),
                )
            )
        epsilons.append(
            Figure(
                f"epsilon of {name}, both ends, cold",
                10**6,
                cold(f"Shuffled({text.format(4.0)}, 10**6).epsilon(1e-6)"),
            )
        )
    publish("Randomizers with a known law (eps0 = 4, delta = 1e-6)", [*deltas, *epsilons])


if __name__ == "__main__":
    main()

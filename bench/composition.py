"""Many rounds: time and tightness beside the other routes and beside dp-accounting.

    python bench/composition.py [--json]

dp-accounting (extra ``interop``) gets our pair's certified profile and composes it on its own lattice.
"""

from __future__ import annotations

from figures import Figure, publish, warm

from shuffledp import LDP, Rounds, Shuffled
from shuffledp.accounting.bounds.clones import stronger_clones
from shuffledp.accounting.curves.losses import Samples
from shuffledp.numerics.composed_losses import composed_delta

DELTA = 1e-6


def pair_gap(eps0: float, n: int, rounds: int) -> tuple[float, float]:
    """Certified ends of the composed clone pair's own epsilon."""
    curve = stronger_clones.curve(LDP(eps0), n)
    samples = Samples.take(curve.sampled, curve.end)
    ends = []
    for losses, upper in ((samples.above(), True), (samples.below(), False)):
        low, high = 0.0, rounds * eps0
        for _ in range(40):
            middle = 0.5 * (low + high)
            found = composed_delta([(losses, rounds)], middle, 2e-4)
            above = (found.upper if upper else found.lower) > DELTA
            low, high = (middle, high) if above else (low, middle)
        ends.append(high if upper else low)
    return ends[0], ends[1]


def peer(eps0: float, n: int, rounds: int) -> tuple[float, float] | None:
    """Seconds and epsilon of dp-accounting, given our profile on a lattice it can use."""
    try:
        import numpy as np
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution
    except ImportError:
        return None

    def run(i: int) -> float:
        curve = stronger_clones.curve(LDP(eps0 + 1e-3 * i), n)
        step = 0.25 * curve.delta(0.0)
        last = int(np.ceil(eps0 / step))
        rounded = np.arange(-last, last + 1)
        epsilons = (step * rounded[rounded >= 0]).tolist()
        positive = curve.sampled(epsilons)[0][1]
        t = np.exp(-step * rounded[rounded > 0])
        negative = (1.0 - t + t * positive[1:])[::-1]
        pmf = pld_pmf.create_pmf_pessimistic_connect_dots(
            step, rounded, np.concatenate([negative, positive])
        )
        pld = privacy_loss_distribution.PrivacyLossDistribution(pmf)
        return float(pld.self_compose(rounds).get_epsilon_for_delta(DELTA))

    return warm(run, 1), run(0)


def main() -> None:
    figures = []
    for eps0, n, rounds in (
        (1.0, 10**4, 10),
        (1.0, 10**5, 1000),
        (1.0, 10**5, 10**5),
        (2.0, 10**6, 10**5),
        (4.0, 10**6, 10**4),
    ):

        def ask(i: int, eps0: float = eps0, n: int = n, rounds: int = rounds) -> None:
            Rounds([(Shuffled(LDP(eps0 + 1e-3 * i), n), rounds)]).epsilon(DELTA)

        together = Rounds([(Shuffled(LDP(eps0), n), rounds)])
        best = together.epsilon(DELTA).upper
        upper, lower = pair_gap(eps0, n, rounds)
        routes = ", ".join(
            f"{route} {together.bound(f'composition-{route}', delta=DELTA).value / best:.2f} × epsilon"
            for route in ("rdp", "strong")
        )
        figures.append(
            Figure(
                f"epsilon, both ends, eps0 = {eps0:g}, n = {n:,}; rounds",
                rounds,
                warm(ask, 3),
                note=f"pair known to {1 - lower / upper:.1%}; {routes}",
            )
        )

    def ask_many(i: int) -> None:
        start = 0.5 + 1e-3 * i
        Rounds([(Shuffled(LDP(start + 0.05 * j), 10**5 + j), 200) for j in range(50)]).epsilon(
            DELTA
        )

    figures.append(Figure("epsilon of 50 protocols together; rounds", 10_000, warm(ask_many, 1)))
    for eps0, n, rounds in ((1.0, 10**4, 1000), (1.0, 10**5, 1000)):
        found = peer(eps0, n, rounds)
        if found is None:
            break

        def ask_one_end(i: int, eps0: float = eps0, n: int = n, rounds: int = rounds) -> float:
            together = Rounds([(Shuffled(LDP(eps0 + 1e-3 * i), n), rounds)])
            return together.bound("composition", delta=DELTA).value

        figures.append(
            Figure(
                f"epsilon, one end, eps0 = {eps0:g}, n = {n:,}; rounds",
                rounds,
                warm(ask_one_end, 3),
                "dp-accounting",
                found[0],
                f"its epsilon from the clones' profile {found[1] / ask_one_end(0):.3f} of ours",
            )
        )
    publish("Many rounds (delta = 1e-6)", figures)


if __name__ == "__main__":
    main()

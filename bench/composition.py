"""Many rounds: time and tightness beside the other routes and beside dp-accounting.

    python bench/composition.py

dp-accounting (extra ``interop``) gets our pair's certified profile and composes it on its own lattice.
"""

from __future__ import annotations

from clock import seconds

from shuffledp import LDP, Rounds, Shuffled
from shuffledp.accounting.bounds import composition
from shuffledp.accounting.bounds.clones import stronger_clones
from shuffledp.accounting.curves.losses import Samples
from shuffledp.numerics.composed_losses import composed_delta

DELTA = 1e-6


def fresh() -> None:
    """Forget what earlier questions computed."""
    for cached in (composition._upper_losses, composition._lower_losses, composition._guarantees):
        cached.cache_clear()


def pair_gap(eps0: float, n: int, rounds: int) -> tuple[float, float]:
    """Certified ends of the composed clone pair's own epsilon."""
    curve = stronger_clones(LDP(eps0), n)
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
    curve = stronger_clones(LDP(eps0), n)
    step = 0.1 * 2.5 * curve.delta(0.0)

    def run() -> float:
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

    return seconds(run), run()


def main() -> None:
    print("One protocol, any eps0-LDP randomizer, delta = 1e-6")
    print(
        f"{'eps0':>5} {'n':>9} {'rounds':>8} {'seconds':>8} {'pair gap':>9} {'rdp':>7} {'strong':>7} {'gdp':>7}"
    )
    for eps0, n, rounds in (
        (1.0, 10**4, 10),
        (1.0, 10**5, 1000),
        (1.0, 10**5, 10**5),
        (2.0, 10**6, 10**5),
        (4.0, 10**6, 10**4),
    ):
        together = Rounds([(Shuffled(LDP(eps0), n), rounds)])

        def ask(together: Rounds = together) -> None:
            fresh()
            together.epsilon(DELTA)

        took = seconds(ask)
        best = together.epsilon(DELTA).upper
        upper, lower = pair_gap(eps0, n, rounds)
        ratios = [
            together.bound(f"composition-{route}", delta=DELTA).value / best
            for route in ("rdp", "strong", "gdp")
        ]
        print(
            f"{eps0:5g} {n:9,} {rounds:8,} {took:8.2f} {1 - lower / upper:9.2%} "
            + " ".join(f"{ratio:7.2f}" for ratio in ratios)
        )
    many = Rounds([(Shuffled(LDP(0.5 + 0.05 * i), 10**5 + i), 200) for i in range(50)])

    def ask_many() -> None:
        fresh()
        many.epsilon(DELTA)

    print(f"50 protocols, 10,000 rounds: {seconds(ask_many):.2f} s")
    for eps0, n, rounds in ((1.0, 10**4, 1000), (1.0, 10**5, 1000)):
        found = peer(eps0, n, rounds)
        if found is None:
            print("dp-accounting is not installed (extra interop): no comparison")
            break
        together = Rounds([(Shuffled(LDP(eps0), n), rounds)])

        def ask_one_end(together: Rounds = together) -> None:
            fresh()
            together.bound("composition", delta=DELTA)

        ours = seconds(ask_one_end)
        value = together.bound("composition", delta=DELTA).value
        print(
            f"dp-accounting, eps0 = {eps0:g}, n = {n:,}, {rounds:,} rounds: epsilon {found[1] / value:.3f}"
            f" of ours, time {found[0] / ours:.1f} times ours"
        )


if __name__ == "__main__":
    main()

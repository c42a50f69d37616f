"""Speed of devices and analyst, as ratios measured in one run.

    python bench/sampling.py [--json] [--users 1000000] [--peer-users 20000]

Our exact reports from cryptographic randomness beside NumPy's floating-point ones and OpenDP's, and
encode + estimate beside multi-freq-ldpy where it is installed (extra 'peers'; pure-ldp does not import: it
needs packages it does not declare). The peer works user by user, so its time is taken for fewer
users and counted per user; --peer-users 1000000 takes it whole. All times are CPU seconds of one
core.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from figures import Figure, publish

from shuffledp import (
    KRR,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    Piecewise,
    SubsetSelection,
    optimised_unary,
)
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.analysis import Frequencies
from shuffledp.collection.devices import device, secure

EPS0, K = 2.0, 100


def seconds(task: Callable[[], object]) -> float:
    """CPU seconds of one call, fresh randomness in each: the median of five."""
    task()
    times = []
    for _ in range(5):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return sorted(times)[2]


def float_krr(values: np.ndarray[Any, Any], generator: np.random.Generator) -> object:
    """k-RR as one would write it with NumPy: floating point, not for people's data."""
    keep = math.exp(EPS0) / (math.exp(EPS0) + K - 1)
    other = generator.integers(0, K - 1, values.size)
    other += other >= values
    return np.where(generator.random(values.size) < keep, values, other)


def peers() -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]:
    """Encode one user, estimate from all: by mechanism."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
    except ImportError:
        return {}
    return {
        "k-RR": (lambda x: GRR_Client(x, K, EPS0), lambda r: GRR_Aggregator_MI(r, K, EPS0)),
        "OUE": (lambda x: UE_Client(x, K, EPS0, True), lambda r: UE_Aggregator_MI(r, EPS0, True)),
        "OLH": (lambda x: LH_Client(x, K, EPS0, True), lambda r: LH_Aggregator_MI(r, K, EPS0)),
    }


def opendp_laplace(numbers: list[float]) -> Callable[[], object] | None:
    """Laplace noise on many numbers by OpenDP, which is exact too."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    noise = dp.m.make_laplace(*space, scale=1.0 / EPS0)
    return lambda: noise(numbers)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--peer-users", type=int, default=20_000)
    options = parser.parse_args()
    n = options.users
    stream, generator = secure(), np.random.default_rng(1)
    values, numbers = generator.integers(0, K, n), generator.random(n)
    figures: list[Figure] = []

    def show(name: str, ours: float, beside: str = "", theirs: float | None = None) -> None:
        speed = f"{n / ours / 1e6:.1f} million reports per second"
        figures.append(Figure(f"{name}; users", n, ours, beside if theirs else "", theirs, speed))

    float_time = seconds(lambda: float_krr(values, generator))
    machine = device(KRR(K, eps0=EPS0))
    show("encode k-RR", seconds(lambda: machine.encode(values, stream)), "NumPy float", float_time)
    noise = device(Laplace(eps0=EPS0))
    float_noise = seconds(lambda: generator.laplace(size=n))
    show(
        "encode discrete Laplace",
        seconds(lambda: noise.encode(numbers, stream)),
        "NumPy float",
        float_noise,
    )
    few = numbers[: options.peer_users].tolist()
    if (peer := opendp_laplace(few)) is not None:
        show(
            "encode discrete Laplace",
            seconds(lambda: noise.encode(numbers, stream)),
            "OpenDP",
            seconds(peer) * n / len(few),
        )
    for randomizer in (OneBitMean(eps0=EPS0), Piecewise(eps0=EPS0)):
        one = device(randomizer)
        show(
            f"encode {type(randomizer).__name__}", seconds(lambda m=one: m.encode(numbers, stream))
        )
    known = peers()
    both: dict[str, Randomizer] = {
        "k-RR": KRR(K, eps0=EPS0),
        "OUE": optimised_unary(K, EPS0),
        "OLH": LocalHashing(eps0=EPS0, k=K),
        "Hadamard": HadamardResponse(eps0=EPS0, k=K),
        "subset": SubsetSelection(K, eps0=EPS0),
    }
    for name, randomizer in both.items():
        one = device(randomizer)

        def whole(machine: Any = one) -> object:
            tally = Frequencies(machine)
            tally.add(machine.encode(values, stream))
            return tally.estimate()

        theirs = None
        if name in known:
            encode, estimate = known[name]
            few = values[: options.peer_users].tolist()
            estimate([encode(x) for x in few[:50]])  # compiles what it compiles
            start = time.process_time()
            estimate([encode(x) for x in few])
            theirs = (time.process_time() - start) * n / len(few)
        show(f"encode + estimate {name}", seconds(whole), "multi-freq-ldpy", theirs)
    publish("Devices and analyst, one core (k = 100, eps0 = 2)", figures)


if __name__ == "__main__":
    main()

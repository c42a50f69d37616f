"""Random deployments of every kind, as plain trees that print as Python.

Numbers come from mixtures: half of them ordinary, the others from the ends of what is accepted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Spec:
    """A call of something in ``shuffledp``, not yet made."""

    name: str
    given: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={written(value)}' for key, value in self.given)})"

    def __getitem__(self, key: str) -> Any:
        return dict(self.given)[key]

    def get(self, key: str, default: Any = None) -> Any:
        return dict(self.given).get(key, default)

    def but(self, **changed: Any) -> Spec:
        """The same with other values."""
        return Spec(self.name, tuple({**dict(self.given), **changed}.items()))


@dataclass(frozen=True)
class Design:
    """A finite family: report z is e^eps times likelier for x where the table says 1."""

    table: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return (
            f"lambda eps: [[math.exp(eps * (b - 1)) / sum(math.exp(eps * (c - 1))"
            f" for c in row) for b in row] for row in {self.table!r}]"
        )


@dataclass(frozen=True)
class Case:
    """A deployment and a question: delta=, epsilon=, order= or alpha=."""

    deployment: Spec
    given: str
    value: float

    def __str__(self) -> str:
        ask = "guarantees" if self.deployment.name == "Personalized" else "ask"
        return f"{self.deployment}.{ask}({self.given}={self.value!r})"


def call(name: str, **given: Any) -> Spec:
    return Spec(name, tuple(given.items()))


def written(value: Any) -> str:
    if isinstance(value, tuple):
        inside = ", ".join(written(each) for each in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value) if isinstance(value, float | int | str | bool | None) else str(value)


def some(rng: random.Random, ordinary: Callable[[], float], extreme: Callable[[], float]) -> float:
    return ordinary() if rng.random() < 0.5 else extreme()


def _log(rng: random.Random, low: float, high: float) -> float:
    """Any size between the two is as likely as any other."""
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    return min(max(value, low), high)


def eps0(rng: random.Random, most: float = 299.0) -> float:
    """A local budget below ``most``."""
    return some(
        rng,
        lambda: round(rng.uniform(0.1, 4.0), 3),
        lambda: min(
            rng.choice(
                [_log(rng, 1e-12, most), rng.uniform(4.0, 40.0), 1e-12, 1e-8, 0.5, 60.0, 61.0, most]
            ),
            most,
        ),
    )


def rate(rng: random.Random) -> float:
    """A probability of checking in."""
    return some(
        rng,
        lambda: round(rng.uniform(0.05, 0.95), 3),
        lambda: rng.choice(
            [
                _log(rng, 1e-300, 1.0),
                _log(rng, 1e-20, 1e-3),
                1.0,
                1.0 - 2.0**-53,
                1e-17,
                3.6e-6,
                5e-324,
            ]
        ),
    )


def _matrix(rng: random.Random) -> tuple[tuple[float, ...], ...]:
    """2 or 3 inputs and outputs; columns of few levels, hence near extreme; zeros at times."""
    inputs, outputs = rng.randint(2, 3), rng.randint(2, 3)
    steep = some(rng, lambda: rng.uniform(1.1, 20.0), lambda: _log(rng, 1.0 + 1e-9, 1e100))
    rows = []
    for _ in range(inputs):
        zero = rng.random() < 0.15
        row = [rng.choice([1.0, steep, rng.uniform(1.0, steep)]) for _ in range(outputs)]
        if zero and outputs > 1:
            row[rng.randrange(outputs)] = 0.0
        total = math.fsum(row)
        rows.append(tuple(mass / total for mass in row))
    return tuple(rows)


def _unary(rng: random.Random) -> Spec:
    flip = some(rng, lambda: rng.uniform(0.05, 0.45), lambda: _log(rng, 1e-30, 0.4))
    return call(
        "UnaryEncoding",
        k=rng.choice([2, 3, 4, 100]),
        keep=rng.uniform(flip + 0.01, 0.99),
        flip=flip,
    )


def _subset(rng: random.Random) -> Spec:
    k = rng.choice([2, 3, 4, 7, 50])
    d = rng.choice([None, rng.randint(1, k - 1)])
    return call("SubsetSelection", k=k, d=d, eps0=eps0(rng))


def _windows(rng: random.Random) -> Spec:
    levels = rng.choice([1, 2, 3, 4, 7])
    return call("DiscretePiecewise", levels=levels, window=rng.randint(1, levels), eps0=eps0(rng))


def _width(rng: random.Random) -> float:
    return some(rng, lambda: rng.choice([0.125, 0.3, 0.5, 0.7, 1.0]), lambda: _log(rng, 1e-9, 1.0))


def _gaussian(rng: random.Random, scalar: bool | None = None) -> Spec:
    scalar = rng.random() < 0.5 if scalar is None else scalar
    sensitivity = rng.choice([1.0, 2.0, 1e-3])
    sigma = some(rng, lambda: rng.uniform(0.3, 5.0), lambda: _log(rng, 2e-4, 9e5)) * sensitivity
    return call("Gaussian", sigma=sigma, sensitivity=sensitivity, scalar=scalar)


def _prefix(rng: random.Random) -> Spec:
    bits, step = rng.choice([(1, 1), (2, 1), (2, 2), (4, 2), (62, 31)])
    return call(
        "OnePrefix", bits=bits, step=step, g=rng.choice([None, 2, 3, 5]), eps0=eps0(rng, 60.0)
    )


def _coordinate(rng: random.Random) -> Spec:
    inner = rng.choice(
        [
            MECHANISMS[name]
            for name in ("OneBitMean", "RoundedResponse", "DiscreteLaplace", "Piecewise", "Plateau")
        ]
    )
    return call("OneCoordinate", randomizer=inner(rng), dimensions=rng.choice([1, 2, 5]))


MECHANISMS: dict[str, Callable[[random.Random], Spec]] = {
    "LDP": lambda rng: call(
        "LDP",
        eps0=eps0(rng, rng.choice([299.0, 800.0])),
        delta0=rng.choice([0.0, 0.0, 0.0, _log(rng, 1e-30, 0.5)]),
    ),
    "BinaryRR": lambda rng: call("BinaryRR", eps0=eps0(rng)),
    "KRR": lambda rng: call("KRR", k=rng.choice([2, 3, 4, 5, 16, 10**6]), eps0=eps0(rng)),
    "OneBitMean": lambda rng: call("OneBitMean", eps0=eps0(rng)),
    "LocalHashing": lambda rng: call(
        "LocalHashing", g=rng.choice([None, 2, 3, 4, 100]), k=rng.choice([2, 3]), eps0=eps0(rng)
    ),
    "HadamardResponse": lambda rng: call(
        "HadamardResponse", k=rng.choice([2, 3, 4]), eps0=eps0(rng)
    ),
    "SubsetSelection": _subset,
    "Piecewise": lambda rng: call("Piecewise", eps0=eps0(rng)),
    "DiscretePiecewise": _windows,
    "Plateau": lambda rng: call("Plateau", width=_width(rng), eps0=eps0(rng)),
    "RoundedResponse": lambda rng: call(
        "RoundedResponse", k=rng.choice([2, 3, 4, 10]), eps0=eps0(rng)
    ),
    "UnaryEncoding": _unary,
    "rappor": lambda rng: call("rappor", k=rng.choice([2, 3, 4, 100]), eps0=eps0(rng)),
    "optimised_unary": lambda rng: call(
        "optimised_unary", k=rng.choice([2, 3, 4, 100]), eps0=eps0(rng)
    ),
    "Channel": lambda rng: call("Channel", matrix=_matrix(rng)),
    "Laplace": lambda rng: call("Laplace", eps0=eps0(rng, 99.0)),
    "TruncatedLaplace": lambda rng: call("TruncatedLaplace", eps0=eps0(rng, 99.0)),
    "DiscreteLaplace": lambda rng: call(
        "DiscreteLaplace", levels=rng.choice([1, 2, 3, 8]), eps0=eps0(rng, 99.0)
    ),
    "Gaussian": _gaussian,
    "GaussianVector": lambda rng: call(
        "GaussianVector", sigma=rng.uniform(0.5, 5.0), sensitivity=2.0, dimensions=3
    ),
    "DiscreteGaussian": lambda rng: call(
        "DiscreteGaussian", levels=rng.choice([1, 2, 4]), variance=_log(rng, 0.3, 20.0)
    ),
    "OneCoordinate": _coordinate,
    "OnePrefix": _prefix,
}
"""Every class and every builder of a randomizer."""

SLOW = {"Gaussian", "GaussianVector", "DiscreteGaussian", "Laplace", "TruncatedLaplace"}
"""Many cells each: drawn less often where there is little time."""


def mechanism(rng: random.Random, patience: float) -> Spec:
    """What one user runs, checked in at times."""
    names = [name for name in MECHANISMS if name not in SLOW or rng.random() < patience]
    spec = MECHANISMS[rng.choice(names)](rng)
    if rng.random() < 0.3:
        spec = call("CheckIn", randomizer=spec, rate=rate(rng))
    return spec


def users(rng: random.Random) -> int:
    return rng.choice([1, 1, 2, 2, 3, 3, 4, 5])


def shuffled(rng: random.Random, patience: float = 1.0) -> Spec:
    """One protocol, with colluders, drop-outs, draws and repetitions."""
    spec, n = mechanism(rng, patience), users(rng)
    kind = rng.random()
    if kind < 0.1:
        m = rng.randint(1, n)
        spec = call("Subsampled", randomizer=spec, m=m)
        return call("Shuffled", randomizer=spec, n=n)
    if kind < 0.2:
        spec = call("Repeated", randomizer=spec, rounds=rng.choice([1, 2, 3]))
        return call("Shuffled", randomizer=spec, n=min(n, 2))
    if kind < 0.35:
        batch = rng.choice([None, n, n + 1])
        colluders = rng.randint(0, 2)
        return call("Shuffled", randomizer=spec, n=n + 2, colluders=colluders, minimum_batch=batch)
    return call("Shuffled", randomizer=spec, n=n)


def rounds(rng: random.Random, patience: float = 1.0) -> Spec:
    """A few different releases, stated ones among them."""
    entries: list[tuple[Spec, int]] = []
    for _ in range(rng.choice([1, 2, 2])):
        if rng.random() < 0.4:
            epsilon = some(
                rng, lambda: rng.uniform(0.0, 2.0), lambda: rng.choice([0.0, 1e-9, 60.0, 800.0])
            )
            failing = rng.choice([0.0, 0.0, 1e-9, rng.random(), 1e-300])
            entries.append((call("Stated", epsilon=epsilon, delta=failing), rng.choice([1, 2])))
        else:
            small = call("Shuffled", randomizer=mechanism(rng, patience), n=rng.choice([1, 2]))
            entries.append((small, rng.choice([1, 1, 2])))
    return call("Rounds", entries=tuple(entries))


def personalized(rng: random.Random, patience: float = 1.0) -> Spec:
    """A budget per user, seen or not."""
    kind = rng.random() * (1.0 if rng.random() < patience else 0.6)  # the last two take long
    most = 99.0
    extra: dict[str, Any] = {}
    if kind < 0.35:
        family, most = call("KRRFamily", k=rng.choice([2, 3, 4, 16])), 299.0
    elif kind < 0.6:
        inputs, outputs = rng.randint(2, 3), rng.randint(2, 3)
        table = tuple(tuple(rng.randint(0, 1) for _ in range(outputs)) for _ in range(inputs))
        # as many likely outcomes in every row, or the family would need more than its budget
        table = tuple(tuple(sorted(table[0], key=lambda _: rng.random())) for _ in table)
        family = call("ChannelFamily", matrix=Design(table))
    elif kind < 0.8:
        family, most = call("GaussianFamily"), 40.0
        extra["deltas"] = rng.choice([1e-5, 0.1])
    else:
        family = call("LaplaceFamily")
    pool = [eps0(rng, most) for _ in range(rng.choice([1, 2, 2, 3]))]
    n = rng.choice([1, 2, 3, 3, 4])
    budgets = tuple(rng.choice(pool) for _ in range(n))
    if n > 1 and rng.random() < 0.25:
        extra["colluders"] = rng.randint(0, n - 1)
    return call(
        "Personalized", family=family, budgets=budgets, budgets_visible=rng.random() < 0.3, **extra
    )


def budget_of(spec: Any) -> float:
    """About the pure budget of a deployment, to aim questions at; 1 if there is none."""
    if isinstance(spec, tuple):
        return max((budget_of(each) for each in spec), default=1.0)
    if not isinstance(spec, Spec):
        return float(spec) if isinstance(spec, float) else 1.0
    if "eps0" in dict(spec.given):
        return float(spec["eps0"])
    inside = [
        value for key, value in spec.given if key in ("randomizer", "entries", "budgets", "epsilon")
    ]
    return max((budget_of(each) for each in inside), default=1.0)


def question(rng: random.Random, deployment: Spec, patience: float = 1.0) -> tuple[str, float]:
    """delta and epsilon mostly: they are quick."""
    top = budget_of(deployment)
    kinds = ["delta", "epsilon"]
    if deployment.name != "Personalized" and rng.random() < 0.3 * patience:
        kinds = ["order", "alpha"]
    given = rng.choice(kinds)
    if given == "delta":
        return given, some(
            rng,
            lambda: _log(rng, 1e-12, 0.5),
            lambda: rng.choice([_log(rng, 1e-300, 0.99), 0.99, 1e-300, 1e-30, 5e-324]),
        )
    if given == "epsilon":
        return given, some(
            rng,
            lambda: rng.uniform(0.0, 1.0) * top,
            lambda: rng.choice(
                [
                    0.0,
                    top * (1.0 - 1e-9),
                    top,
                    1.01 * top,
                    2.0 * top,
                    60.0,
                    700.0,
                    1e-9,
                    0.9 * top,
                    1e5,
                ]
            ),
        )
    if given == "order":
        return given, some(
            rng,
            lambda: rng.choice([2.0, 3.0, rng.uniform(1.1, 10.0)]),
            lambda: rng.choice([1.0 + 1e-9, 1.0 + _log(rng, 1e-9, 1e6), 1e6]),
        )
    return given, some(
        rng,
        lambda: round(rng.random(), 3),
        lambda: rng.choice([0.0, 1.0, 1e-9, 1.0 - 1e-9, 1e-300, 0.5]),
    )


def draw(rng: random.Random, patience: float = 1.0) -> Spec:
    """Any deployment."""
    kind = rng.random()
    if kind < 0.7:
        return shuffled(rng, patience)
    return rounds(rng, patience) if kind < 0.82 else personalized(rng, patience)

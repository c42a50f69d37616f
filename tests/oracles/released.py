"""Small deployments of every shape, drawn at random, extreme ones too, and every outcome of theirs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator

import numpy as np

from shuffledp import (
    KRR,
    Aggregated,
    BinaryRR,
    BinomialNoise,
    DiscreteGaussianNoise,
    NegativeBinomialNoise,
    NoiseShare,
    PoissonNoise,
    PolyaNoise,
    SampleThreshold,
    SkellamNoise,
    SplitAndMix,
    TruncatedLaplaceNoise,
    UnaryEncoding,
    WithDummies,
)
from shuffledp.accounting.protocols import Counted
from shuffledp.accounting.randomizers.noise import Noise

Law = dict[tuple[int, ...], float]
Held = tuple[int | None, ...]
CUT = 1e-40
"""Masses of noise below this are left out: the truth may be larger by as much, times t."""


def masses(noise: Noise) -> dict[int, float]:
    """By a formula of its own for each kind, on as many numbers as matter."""
    if isinstance(noise, PoissonNoise):
        found = {k: _poisson(noise.rate, k) for k in range(_far(noise))}
    elif isinstance(noise, BinomialNoise):
        p = noise.chance
        found = {
            k: math.comb(noise.trials, k) * p**k * (1 - p) ** (noise.trials - k)
            for k in range(noise.trials + 1)
        }
    elif isinstance(noise, NegativeBinomialNoise):
        found = {k: _negative(noise.shape, noise.ratio, k) for k in range(_far(noise))}
    elif isinstance(noise, SkellamNoise):
        found = _apart({k: _poisson(noise.rate, k) for k in range(_far(PoissonNoise(noise.rate)))})
    elif isinstance(noise, PolyaNoise):
        one = NegativeBinomialNoise(noise.shape, noise.ratio)
        found = _apart({k: _negative(one.shape, one.ratio, k) for k in range(_far(one))})
    elif isinstance(noise, TruncatedLaplaceNoise):
        raw = {
            k: math.exp(-abs(k - noise.centre) / noise.scale) for k in range(2 * noise.centre + 1)
        }
        found = _repeated({k: m / math.fsum(raw.values()) for k, m in raw.items()}, noise.copies)
    else:
        assert isinstance(noise, DiscreteGaussianNoise)
        wide = math.ceil(14 * math.sqrt(noise.spread)) + 2
        raw = {k: math.exp(-(k**2) / (2 * noise.spread)) for k in range(-wide, wide + 1)}
        found = _repeated({k: m / math.fsum(raw.values()) for k, m in raw.items()}, noise.copies)
    return {k: mass for k, mass in found.items() if mass > CUT}


def _far(noise: Noise) -> int:
    heavy = 40.0 / -math.log(noise.ratio) if isinstance(noise, NegativeBinomialNoise) else 0.0
    return math.ceil(noise.mean + 12 * math.sqrt(noise.variance) + 2 * heavy) + 16


def _poisson(rate: float, k: int) -> float:
    return math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))


def _negative(shape: float, ratio: float, k: int) -> float:
    logs = math.lgamma(k + shape) - math.lgamma(shape) - math.lgamma(k + 1)
    return math.exp(logs + k * math.log(ratio) + shape * math.log1p(-ratio))


def _apart(one: dict[int, float]) -> dict[int, float]:
    return _sum(one, {-k: mass for k, mass in one.items()})


def _sum(one: dict[int, float], two: dict[int, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for (x, p), (y, q) in itertools.product(one.items(), two.items()):
        found[x + y] = found.get(x + y, 0.0) + p * q
    return found


def _repeated(one: dict[int, float], times: int) -> dict[int, float]:
    found = {0: 1.0}
    for _ in range(times):
        found = _sum(found, one)
    return found


def _independent(laws: list[dict[int, float]]) -> Law:
    return {
        values: math.prod(law[v] for law, v in zip(laws, values, strict=True))
        for values in itertools.product(*laws)
    }


def stick(p: Law, q: Law, t: float) -> float:
    """sum of (p - t q)+."""
    return math.fsum(max(mass - t * q.get(key, 0.0), 0.0) for key, mass in p.items())


class Case:
    """A protocol, and the law of what is seen for any data set."""

    def __init__(
        self, protocol: Counted, k: int, n: int, law: Callable[[Held], Law], removed: bool
    ) -> None:
        self.protocol, self.k, self.n, self.law, self.removed = protocol, k, n, law, removed

    def pairs(self) -> Iterator[tuple[Law, Law]]:
        """All neighbouring data sets, one order each."""
        for others in itertools.combinations_with_replacement(range(self.k), self.n - 1):
            held = [self.law((x, *others)) for x in range(self.k)]
            if self.removed:
                none = self.law((None, *others))
                yield from ((one, none) for one in held)
            else:
                yield from itertools.combinations(held, 2)

    def worst(self, epsilons: list[float]) -> list[float]:
        """The largest divergence at each epsilon, both directions."""
        most = np.zeros(len(epsilons))
        for p, q in self.pairs():
            most = np.maximum(
                most,
                [max(stick(p, q, math.exp(e)), stick(q, p, math.exp(e))) for e in epsilons],
            )
        return [float(x) for x in most]


def draw(rng: random.Random) -> Case:
    """Any shape."""
    return rng.choice([_unary, _binary, _shares, _number, _threshold, _dummies, _mixed, _split])(
        rng
    )


def _rate(rng: random.Random) -> float:
    return rng.choice([rng.uniform(0.02, 0.98), 10.0 ** rng.uniform(-6, -1)])


def _noise(rng: random.Random, one_sided: bool = False) -> Noise:
    kinds: list[Callable[[], Noise]] = [
        lambda: PoissonNoise(10.0 ** rng.uniform(-6, 1)),
        lambda: BinomialNoise(rng.randint(1, 12), _rate(rng)),
        lambda: NegativeBinomialNoise(10.0 ** rng.uniform(-4, 1), rng.uniform(0.01, 0.8)),
        lambda: TruncatedLaplaceNoise(rng.randint(1, 6), 10.0 ** rng.uniform(-1, 2)),
    ]
    if not one_sided:
        kinds += [
            lambda: SkellamNoise(10.0 ** rng.uniform(-5, 0.7)),
            lambda: PolyaNoise(10.0 ** rng.uniform(-4, 0.5), 10.0 ** rng.uniform(-1, 0.6)),
            lambda: DiscreteGaussianNoise(10.0 ** rng.uniform(-1.5, 1.0)),
        ]
    return rng.choice(kinds)()


def _neighbours(rng: random.Random) -> str:
    return rng.choice(["replace", "remove"])


def _unary(rng: random.Random) -> Case:
    k, n, neighbours = rng.randint(2, 3), rng.randint(1, 3), _neighbours(rng)
    keep, share = 1.0 - _rate(rng), rng.uniform(0.001, 0.95)
    flip = keep * share

    def law(held: Held) -> Law:
        counts = []
        for value in range(k):
            one = {0: 1.0}
            for x in held:
                p = keep if x == value else flip
                one = _sum(one, {0: 1.0 - p, 1: p})
            counts.append(one)
        return _independent(counts)

    protocol = Aggregated(UnaryEncoding(k, keep, flip), n, neighbours)
    return Case(protocol, k, n, law, neighbours == "remove")


def _binary(rng: random.Random) -> Case:
    n, eps0 = rng.randint(1, 6), 10.0 ** rng.uniform(-3, 1.5)
    keep = 1.0 / (1.0 + math.exp(-eps0))

    def law(held: Held) -> Law:
        one = {0: 1.0}
        for x in held:
            p = keep if x else math.exp(-eps0) * keep
            one = _sum(one, {0: 1.0 - p, 1: p})
        return {(c,): mass for c, mass in one.items()}

    return Case(Aggregated(BinaryRR(eps0=eps0), n), 2, n, law, False)


def _counts(k: int, total: dict[int, float]) -> Callable[[Held], Law]:
    def law(held: Held) -> Law:
        counts = [sum(x == value for x in held) for value in range(k)]
        return _independent([{c + z: mass for z, mass in total.items()} for c in counts])

    return law


def _shares(rng: random.Random) -> Case:
    n, neighbours, noise = rng.randint(1, 3), _neighbours(rng), _noise(rng)
    total = masses(noise.total(n))
    protocol = Aggregated(NoiseShare(noise, k=2), n, neighbours)
    return Case(protocol, 2, n, _counts(2, total), neighbours == "remove")


def _number(rng: random.Random) -> Case:
    n, levels, noise = rng.randint(1, 3), rng.randint(1, 5), _noise(rng)
    total = masses(noise.total(n))

    def law(held: Held) -> Law:
        at = sum(x or 0 for x in held)
        return {(at + z,): mass for z, mass in total.items()}

    neighbours = _neighbours(rng)
    protocol = Aggregated(NoiseShare(noise, levels=levels), n, neighbours)
    return Case(protocol, levels + 1, n, law, neighbours == "remove")


def _threshold(rng: random.Random) -> Case:
    k, n, rate, neighbours = 3, rng.randint(1, 5), _rate(rng), _neighbours(rng)
    threshold, spread = rng.randint(1, 4), rng.randint(0, 2)

    def law(held: Held) -> Law:
        shown = []
        for value in range(k):
            users, one = sum(x == value for x in held), dict[int, float]()
            for count in range(users + 1):
                mass = math.comb(users, count) * rate**count * (1 - rate) ** (users - count)
                for limit in range(threshold, threshold + spread + 1):
                    seen = count if count >= limit else 0
                    one[seen] = one.get(seen, 0.0) + mass / (spread + 1)
            shown.append(one)
        return _independent(shown)

    protocol = SampleThreshold(rate, threshold, spread, n, neighbours)
    return Case(protocol, k, n, law, neighbours == "remove")


def _dummies(rng: random.Random) -> Case:
    n, neighbours, by_users = rng.randint(1, 3), _neighbours(rng), rng.random() < 0.5
    noise = _noise(rng, one_sided=True)
    total = masses(noise.total(n) if by_users else noise)
    protocol = WithDummies(noise, n, neighbours, by_users)
    return Case(protocol, 2, n, _counts(2, total), neighbours == "remove")


def _mixed(rng: random.Random) -> Case:
    k, n, rate = rng.randint(2, 3), rng.randint(1, 3), 10.0 ** rng.uniform(-6, 0.6)
    eps0 = 10.0 ** rng.uniform(-2, 1.5)
    flip = 1.0 / (math.exp(eps0) + k - 1.0)
    fake = _independent([masses(PoissonNoise(rate))] * k)

    def law(held: Held) -> Law:
        found = fake
        for x in held:
            grown: Law = {}
            for value in range(k):
                p = flip * (math.exp(eps0) if value == x else 1.0)
                for key, mass in found.items():
                    moved = tuple(c + (axis == value) for axis, c in enumerate(key))
                    grown[moved] = grown.get(moved, 0.0) + p * mass
            found = grown
        return found

    protocol = WithDummies(PoissonNoise(rate), n, randomizer=KRR(k, eps0=eps0))
    return Case(protocol, k, n, law, False)


def _split(rng: random.Random) -> Case:
    n, messages, levels = rng.randint(1, 2), 3, rng.randint(1, 2)
    modulus = rng.randint(n * levels + 1, 7)
    noise = BinomialNoise(rng.randint(1, 4), _rate(rng))
    added = masses(noise)

    def sent(x: int) -> Law:
        found: Law = {}
        for z, mass in added.items():
            for first in itertools.product(range(modulus), repeat=messages - 1):
                bag = [0] * modulus
                for share in (*first, (x + z - sum(first)) % modulus):
                    bag[share] += 1
                key = tuple(bag)
                found[key] = found.get(key, 0.0) + mass / modulus ** (messages - 1)
        return found

    each = [sent(x) for x in range(levels + 1)]

    def law(held: Held) -> Law:
        total: Law = {(0,) * modulus: 1.0}
        for x in held:
            grown: Law = {}
            for (a, p), (b, q) in itertools.product(total.items(), each[x or 0].items()):
                key = tuple(i + j for i, j in zip(a, b, strict=True))
                grown[key] = grown.get(key, 0.0) + p * q
            total = grown
        return total

    protocol = SplitAndMix(NoiseShare(noise, levels=levels), n, messages, modulus)
    return Case(protocol, levels + 1, n, law, False)

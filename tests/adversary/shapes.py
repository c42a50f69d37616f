"""Shapes whose analyst sees numbers: drawn at random, and what all their data sets leak."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

from flint import arb

from tests.adversary.deployments import Spec, _log, call, eps0, some
from tests.oracles import counted
from tests.oracles.counted import Law
from tests.oracles.truth import World

COUNTED = ("Aggregated", "SampleThreshold", "WithDummies", "PairedDummies", "SplitAndMix")
_CELLS = 30_000
"""Outcomes of one world that we care to visit."""


class TooManyOutcomes(Exception):
    """More than that."""


def _rate(rng: random.Random) -> float:
    return some(rng, lambda: round(rng.uniform(0.05, 0.95), 3), lambda: _log(rng, 1e-6, 0.999))


NOISES: dict[str, Callable[[random.Random], Spec]] = {
    "PoissonNoise": lambda rng: call("PoissonNoise", rate=_log(rng, 1e-6, 6.0)),
    "BinomialNoise": lambda rng: call(
        "BinomialNoise", trials=rng.choice([1, 2, 5, 12]), chance=_rate(rng)
    ),
    "NegativeBinomialNoise": lambda rng: call(
        "NegativeBinomialNoise", shape=_log(rng, 1e-6, 5.0), ratio=rng.uniform(0.01, 0.6)
    ),
    "TruncatedLaplaceNoise": lambda rng: call(
        "TruncatedLaplaceNoise", centre=rng.choice([1, 2, 6]), scale=_log(rng, 0.02, 100.0)
    ),
    "SkellamNoise": lambda rng: call("SkellamNoise", rate=_log(rng, 1e-6, 3.0)),
    "PolyaNoise": lambda rng: call(
        "PolyaNoise", shape=rng.choice([_log(rng, 1e-6, 3.0), 1.0, 0.5]), scale=_log(rng, 0.05, 2.0)
    ),
    "DiscreteGaussianNoise": lambda rng: call("DiscreteGaussianNoise", spread=_log(rng, 0.02, 4.0)),
}
"""Every law of noise; the first four are never negative."""


def _noise(rng: random.Random, one_sided: bool = False) -> Spec:
    names = list(NOISES)[: 4 if one_sided else None]
    return NOISES[rng.choice(names)](rng)


def _crowd(rng: random.Random, most: int = 3) -> dict[str, Any]:
    """Users of whom up to ``most`` hide each other."""
    n, given = rng.randint(1, most), {}
    if rng.random() < 0.3:
        colluders, gone = rng.randint(0, 2), rng.randint(0, 2)
        given = {"colluders": colluders, "minimum_batch": n + colluders}
        n += colluders + gone
    return {"n": n, **given}


def _neighbours(rng: random.Random) -> dict[str, str]:
    return rng.choice([{}, {"neighbours": "replace"}, {"neighbours": "remove"}])


def _bits(rng: random.Random) -> Spec:
    kind = rng.choice(["UnaryEncoding", "rappor", "optimised_unary", "BinaryRR"])
    if kind == "BinaryRR":
        randomizer = call("BinaryRR", eps0=eps0(rng))
    elif kind == "UnaryEncoding":
        keep = rng.uniform(0.05, 0.999)
        flip = keep * rng.uniform(0.001, 0.95)
        randomizer = call(kind, k=rng.choice([2, 3, 50]), keep=keep, flip=flip)
    else:
        randomizer = call(kind, k=rng.choice([2, 3, 50]), eps0=eps0(rng))
    return call("Aggregated", randomizer=randomizer, **_crowd(rng, 5), **_neighbours(rng))


def _share(rng: random.Random) -> Spec:
    kept = rng.choice([{"k": rng.choice([2, 7])}, {"levels": rng.choice([1, 2, 5])}])
    return call("NoiseShare", noise=_noise(rng), **kept)


def _sums(rng: random.Random) -> Spec:
    return call("Aggregated", randomizer=_share(rng), **_crowd(rng), **_neighbours(rng))


def _numbers(rng: random.Random) -> Spec:
    levels = rng.choice([1, 2, 4])
    what = rng.choice(
        [
            call("DiscreteLaplace", levels=levels, eps0=some(rng, lambda: 1.0, lambda: eps0(rng))),
            call("DiscreteGaussian", levels=levels, variance=_log(rng, 0.3, 4.0)),
        ]
    )
    return call("Aggregated", randomizer=what, **_crowd(rng, 2), **_neighbours(rng))


def _samples(rng: random.Random) -> Spec:
    return call(
        "SampleThreshold",
        rate=_rate(rng),
        threshold=rng.randint(1, 4),
        spread=rng.choice([0, 0, 1, 3]),
        n=rng.choice([None, 1, 2, 3, 5]),
        **_neighbours(rng),
    )


def _dummies(rng: random.Random) -> Spec:
    return call(
        "WithDummies",
        dummies=_noise(rng, one_sided=True),
        by_users=rng.random() < 0.5,
        **_crowd(rng),
        **_neighbours(rng),
    )


def _mixed(rng: random.Random) -> Spec:
    k, most = rng.choice([(2, 2.0), (3, 1e-3)])
    return call(
        "WithDummies",
        dummies=call("PoissonNoise", rate=_log(rng, 1e-6, most)),
        by_users=rng.random() < 0.3,
        randomizer=call("KRR", k=k, eps0=eps0(rng, 60.0)),
        **_crowd(rng),
    )


def _split(rng: random.Random) -> Spec:
    levels, n = rng.choice([1, 2]), rng.choice([1, 2])
    noise = call("BinomialNoise", trials=rng.randint(1, 4), chance=_rate(rng))
    return call(
        "SplitAndMix",
        share=call("NoiseShare", noise=noise, levels=levels),
        n=n,
        messages=3,
        modulus=rng.randint(n * levels + 1, 6),
        **_neighbours(rng),
    )


def _paired(rng: random.Random) -> Spec:
    """Few messages, so that both numbers of both values can be visited."""

    def law() -> Spec:
        ratio = _log(rng, 1e-30, 1e-6)
        return call("NegativeBinomialNoise", shape=_log(rng, 1e-3, 5.0), ratio=ratio)

    crowd = _crowd(rng, 2)
    if rng.random() < 0.5:
        return call("PairedDummies", noise=law(), pairs=law(), **crowd, neighbours="replace")
    noise, pairs = (
        call("NegativeBinomialNoise", shape=_log(rng, 1e-3, 2.0), ratio=rng.uniform(1e-6, 0.1))
        for _ in range(2)
    )
    return call("PairedDummies", noise=noise, pairs=pairs, **crowd, neighbours="remove")


KINDS = (
    *(_bits, _bits, _sums, _sums, _numbers, _samples, _samples),
    *(_dummies, _dummies, _mixed, _paired),
)


def shape(rng: random.Random, patience: float = 1.0) -> Spec:
    """Any of them; split messages take long."""
    if rng.random() < 0.05 + 0.05 * patience:
        return _split(rng)
    return rng.choice(KINDS)(rng)


def rounds(rng: random.Random) -> Spec:
    """A few releases of small shapes about the same change, stated ones among them."""
    relation = rng.choice(["replace", "remove"])
    entries: list[tuple[Spec, int]] = []
    while not entries or rng.random() < 0.4:
        small = rng.choice([_bits, _samples, _coins, _coins])(rng)
        entries.append((small.but(neighbours=relation), rng.choice([1, 1, 2, 3])))
    if rng.random() < 0.3:
        entries.append((call("Stated", epsilon=rng.uniform(0.0, 2.0), delta=1e-9), 1))
    return call("Rounds", entries=tuple(entries))


def _coins(rng: random.Random) -> Spec:
    """Few outcomes, so that rounds can be visited."""
    noise = call("BinomialNoise", trials=rng.randint(1, 3), chance=_rate(rng))
    if rng.random() < 0.5:
        return call("WithDummies", dummies=noise, by_users=False, n=rng.randint(1, 3))
    share = call("NoiseShare", noise=noise, levels=rng.choice([1, 2]))
    return call("Aggregated", randomizer=share, n=1)


# --- the truth ------------------------------------------------------------------------------------


def crowd_of(spec: Spec) -> int:
    """Users who hide each other."""
    if spec.name == "SampleThreshold":
        return 1
    return (spec.get("minimum_batch") or spec["n"]) - spec.get("colluders", 0)


def _law(noise: Spec, users: int) -> Law:
    law = counted.times(counted.noise(noise.name, dict(noise.given)), users)
    if len(law) > math.isqrt(_CELLS):
        raise TooManyOutcomes
    return law


def endless(spec: Any) -> bool:
    """Whether the law of something in it has no end: what is cut off has no ratio."""
    if isinstance(spec, tuple):
        return any(map(endless, spec))
    if not isinstance(spec, Spec):
        return False
    if spec.name in NOISES or spec.name in ("DiscreteLaplace", "DiscreteGaussian"):
        return spec.name not in ("BinomialNoise", "TruncatedLaplaceNoise")
    return any(endless(value) for _, value in spec.given)


def removed(spec: Spec) -> bool:
    """Whether one of two neighbours holds no value."""
    default = "remove" if spec.name == "SampleThreshold" else "replace"
    return bool(spec.get("neighbours", default) == "remove")


def with_the_victim(spec: Spec, build: Callable[[Spec], Any]) -> tuple[list[World], bool]:
    """Worlds in one order, the victim's value first; and whether no attack is left out."""
    remove = removed(spec)
    if spec.name == "SampleThreshold":
        most = 6 if spec["n"] is None else spec["n"] - 1
        pairs = counted.thresholded(arb(spec["rate"]), spec["threshold"], spec["spread"], most)
        return list(counted.samples(pairs, remove)), spec["n"] is not None
    crowd = crowd_of(spec)
    if spec.name == "WithDummies":
        total = _law(spec["dummies"], crowd if spec["by_users"] else 1)
        randomizer = spec.get("randomizer")
        if randomizer is None:
            return list(counted.counts(total, remove)), True
        k = randomizer["k"]
        if len(total) ** k * math.comb(crowd + k, k) > _CELLS:
            raise TooManyOutcomes
        return list(counted.among_dummies(k, randomizer["eps0"], total, crowd - 1)), True
    if spec.name == "PairedDummies":
        laws = [_law(spec[each], crowd) for each in ("noise", "pairs")]
        if (len(laws[0]) ** 2 * len(laws[1])) ** (1 if remove else 2) > 10 * _CELLS:
            raise TooManyOutcomes
        return list(counted.paired(laws[0], laws[1], remove)), True
    if spec.name == "SplitAndMix":
        share = spec["share"]
        law = counted.noise(share["noise"].name, dict(share["noise"].given))
        given = share["levels"], crowd, spec["messages"], spec["modulus"]
        return list(counted.split(law, *given)), True
    return list(_summed(spec["randomizer"], crowd, remove, build)), True


def _summed(what: Spec, crowd: int, remove: bool, build: Callable[[Spec], Any]) -> Any:
    if what.name == "BinaryRR":
        return counted.responses(1 / (1 + (-arb(what["eps0"])).exp()), crowd - 1)
    if what.name in ("DiscreteLaplace", "DiscreteGaussian"):
        levels = what["levels"]
        if what.name == "DiscreteGaussian":
            noise = call("DiscreteGaussianNoise", spread=what["variance"])
            return counted.numbers(_law(noise, crowd), levels)
        one = counted.noise("PolyaNoise", {"shape": 1.0, "scale": arb(levels) / arb(what["eps0"])})
        if len(one) ** crowd > 50 * _CELLS:
            raise TooManyOutcomes
        return counted.numbers(counted.times(one, crowd), levels)
    if what.name == "NoiseShare":
        total = _law(what["noise"], crowd)
        if what.get("k") is None:
            return counted.numbers(total, what["levels"])
        return counted.counts(total, remove)
    built = build(what)
    return counted.bits(1 - arb(built.lose), arb(built.flip), crowd - 1, built.k, remove)

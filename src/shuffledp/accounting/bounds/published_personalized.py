"""Personalized budgets as published: HPS (Liu et al. 2024) and the baselines it compares with.

Nothing here is a guarantee. HPS takes the probability that a report is mistaken for the victim's
as the weight of the victim's law inside the report: that is no mixture, and concrete data sets
leak more (docs/proofs/personalized.md, section 6). Symbols: e = exp(epsilon), w = p_1.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from shuffledp.accounting.bounds.published import _hoeffding
from shuffledp.accounting.bounds.scopes import known_law, ldp, pure_ldp
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve, GDPCurve, ProfileCurve, PureEnd
from shuffledp.accounting.randomizers import LDP, Laplace, Randomizer
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Refutation, Status, Theorem
from shuffledp.numerics.binomial import half_excess
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.lattice_sum import sum_law
from shuffledp.numerics.rounding import Array
from shuffledp.numerics.trinomial import TwoSided

PROGRAM_RANGE = 0.1
"""The clipping bound C in the authors' program; their result depends on this unit."""
_LARGEST = 300.0
"""Budgets beyond this underflow in the published formulas."""


class Picture(ABC):
    """What is published: C = sum of Bern(2 p_i), the victim confounded with probability w."""

    w: float
    delta1: float

    @abstractmethod
    def _hockey(self, g: float) -> float:
        """The mean over C of H_g(P0||Q0) = 2(1+g)/(C+1) E(Bin(C+1,1/2) - g(C+1)/(1+g))+."""

    def delta(self, epsilon: float) -> float:
        """Theorem 2 with the exact law of C: (1 - 2w') H_g'(P0||Q0),
        2w' = (1-delta1) 2w + delta1."""
        twice = (1.0 - self.delta1) * 2.0 * self.w + self.delta1
        return (1.0 - twice) * self._hockey((math.exp(epsilon) - twice) / (1.0 - twice))

    def pair_delta(self, epsilon: float) -> float:
        """H_e of the pair itself, without the joint-concavity step."""
        e = math.exp(epsilon)
        k = 1.0 - self.w - self.w * e
        if k <= 0.0:
            return 0.0
        return k * self._hockey((e * (1.0 - self.w) - self.w) / k)

    def tradeoff(self, alpha: float) -> float:
        """Theorem 1: the trade-off function, as the envelope of Theorem 2."""
        best = 0.0
        for step in range(240):
            epsilon = 1e-4 * 1.045**step
            e, delta = math.exp(epsilon), self.delta(epsilon)
            best = max(best, 1.0 - delta - e * alpha, (1.0 - delta - alpha) / e)
        return best


@dataclass(frozen=True, eq=False)
class Clones(Picture):
    """By the law of C, value by value."""

    counts: Array
    """Possible values of C."""
    mass: Array
    w: float
    delta1: float = 0.0

    def _hockey(self, g: float) -> float:
        trials = self.counts + 1.0
        low, high, scale = half_excess(
            trials, 0.5 * trials * (g - 1.0) / (g + 1.0), trials / (1.0 + g)
        )
        with np.errstate(under="ignore"):
            value = 0.5 * (low + high) * np.exp(scale)
        return float((2.0 * (1.0 + g) / trials * value) @ self.mass)


@dataclass(frozen=True)
class EqualClones(Picture):
    """Users of one budget: C is binomial, and nothing grows with their number."""

    n: int
    p: float
    w: float
    delta1: float = 0.0

    def _hockey(self, g: float) -> float:
        twice, slope = min(2.0 * self.p, 1.0), 0.5 * (g - 1.0) / (g + 1.0)
        log_scale = math.log(2.0 * (1.0 + g))
        return (
            TwoSided(self.n, twice, 1.0 - twice, log_scale, slope, 1.0 / (1.0 + g)).delta().middle
        )


def laplace_confusion(eps: Array, eps1: float) -> Array:
    """p_i for Laplace noise on [0, 1]: smaller chance to be taken for the victim at 0 or at 1.

    The other user sits at 0, their worst case; an empty region counts as certain, as in the
    authors' program.
    """
    gap = eps1 - eps
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(gap > 0.0, np.log(eps1 / eps) / gap, 0.0)
    # U_0: z < 1/2 and |z| < reach (the two densities cross there)
    right = np.minimum(reach, 0.5)
    at_zero = 0.5 * -np.expm1(-eps * reach) + 0.5 * -np.expm1(-eps * right)
    at_zero = np.where(reach > 0.0, at_zero, 1.0)
    # U_1: z > 1/2 and eps e^(-eps z) < eps1 e^(-eps1 |1-z|)
    log_ratio = np.log(eps1 / eps)
    start = np.maximum((eps1 - log_ratio) / (eps1 + eps), 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        stop = np.where(gap > 0.0, (log_ratio + eps1) / gap, np.inf)
    at_one = np.where(stop > start, 0.5 * np.exp(-eps * start) - 0.5 * np.exp(-eps * stop), 1.0)
    return np.minimum(np.minimum(at_zero, at_one), 0.5)


def gaussian_confusion(sigma: Array, sigma1: float, delta: Array, length: float = 1.0) -> Array:
    """p_i for normal noise on an interval of this length; delta_i/2 is removed once,
    as published."""
    normal = NormalDist()
    grid = np.arange(1, 4000) / 4000.0
    quantiles = np.array([normal.inv_cdf(float(u)) for u in grid])
    result = np.empty_like(sigma)
    for i, s in enumerate(sigma.tolist()):
        # the region in the other user's own quantiles: p is its share
        z = s * quantiles
        own = -0.5 * (z / s) ** 2 - math.log(s)
        zero = -0.5 * (z / sigma1) ** 2 - math.log(sigma1)
        one = -0.5 * ((z - length) / sigma1) ** 2 - math.log(sigma1)
        in_zero, in_one = (zero > own) & (zero > one), (one > own) & (one > zero)
        shares = [float(r.mean()) if r.any() else 1.0 for r in (in_zero, in_one)]
        result[i] = max(min(shares) - 0.5 * float(delta[i]), 0.0)
    return np.minimum(result, 0.5)


def poisson_clones(p: Array, counts: NDArray[np.int64], w: float, delta1: float = 0.0) -> Clones:
    """C as the exact Poisson binomial."""
    twice = np.clip(2.0 * p, 0.0, 1.0)
    law = sum_law(np.stack([1.0 - twice, twice], axis=1), counts)
    places = law.start + np.arange(law.values.size, dtype=np.float64)
    return Clones(places, np.maximum(law.values, 0.0), w, delta1)


def _binomial_clones(p: Array, counts: NDArray[np.int64], w: float, delta1: float = 0.0) -> Clones:
    """C as Bin(n, mean/n), as the authors' program has it; ``counts`` without the victim."""
    n = int(counts.sum()) + 1
    mean = float(np.minimum(2.0 * p, 1.0) @ counts) / n
    return poisson_clones(np.array([0.5 * mean]), np.array([n]), w, delta1)


def _others(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    left = counts.copy()
    left[-1] -= 1
    return left


def laplace_hps(eps: Array, counts: NDArray[np.int64], program: bool = False) -> Clones:
    """HPS for Laplace noise; ``eps`` in ascending order, the victim is one of the last."""
    eps1 = float(eps[-1])
    clones = _binomial_clones if program else poisson_clones
    return clones(laplace_confusion(eps, eps1), _others(counts), 0.5 * math.exp(-0.5 * eps1))


def gaussian_hps(
    eps: Array, counts: NDArray[np.int64], delta: Array | float, program: bool
) -> Clones:
    """HPS for Gaussian noise by the formulas, or as the authors' program computes it.

    ``delta`` is that of each budget, or of all. The program passes the variance where a standard
    deviation is wanted, on an interval of length 0.1, replaces the Poisson binomial by
    Bin(n, mean/n), and takes the victim's delta for everybody's failure.
    """
    deltas = np.broadcast_to(np.asarray(delta, dtype=np.float64), eps.shape)
    delta1 = float(deltas[-1])
    spread = 2.0 * np.log(1.25 / deltas)
    length = PROGRAM_RANGE if program else 1.0
    sigma = spread * length**2 / eps**2 if program else np.sqrt(spread) / eps
    sigma1 = float(sigma[-1])
    p = gaussian_confusion(sigma, sigma1, np.full_like(eps, delta1) if program else deltas, length)
    w = 0.5 * math.erfc(0.5 * length / sigma1 / math.sqrt(2.0)) - 0.5 * delta1
    clones = _binomial_clones if program else poisson_clones
    return clones(p, _others(counts), w, delta1)


def channel_hps(
    channels: Sequence[Array], counts: NDArray[np.int64], deltas: Array
) -> Callable[[float], float]:
    """HPS for any finite randomizers, rows of inputs: delta of the victim's worst two inputs.

    The victim is one of the first. Each other user sits at the input with the least chance to be
    mistaken; as in the authors' program an empty region counts as certain.
    """
    victim = channels[0]
    left = counts.copy()
    left[0] -= 1
    pairs = []
    for a, b in itertools.combinations(range(len(victim)), 2):
        zero, one = victim[a], victim[b]
        w = min(float(zero[zero < one].sum()), float(one[one < zero].sum())) - 0.5 * float(
            deltas[0]
        )
        p = np.array([_channel_confusion(channel, zero, one) for channel in channels])
        p = np.clip(p - 0.5 * deltas, 0.0, 0.5)
        pairs.append(poisson_clones(p, left, max(w, 0.0), float(deltas[0])))
    return lambda epsilon: max(pair.delta(epsilon) for pair in pairs)


def _channel_confusion(channel: Array, zero: Array, one: Array) -> float:
    """Smallest chance, over inputs, of an outcome likelier under either of the victim's values."""
    least = 1.0
    for own in channel:
        for mine, other in ((zero, one), (one, zero)):
            region = (own < mine) & (other < mine)
            least = min(least, float(own[region].sum()) if region.any() else 1.0)
    return least


def gdp_ccc(
    eps: Array, counts: NDArray[np.int64], delta0: Array | float = 0.0, program: bool = False
) -> GDPCurve:
    """CCC: mu = sqrt(2 / (sum (1-delta_i)/(1+e^eps_i) - max)), asymptotic.

    The HPS authors' program counts every user twice.
    """
    terms = (1.0 - delta0) / (1.0 + np.exp(np.minimum(eps, 700.0)))
    total = float(terms @ counts) - float(terms.max())
    if total <= 0.0:
        raise RegimeError("at least two users", f"n = {int(counts.sum())}")
    return GDPCurve(math.sqrt((1.0 if program else 2.0) / total))


def laplace_blanket_hoeffding(eps0: float, n: int) -> Curve:
    """Balle et al. 2019 by Hoeffding, with the blanket of Laplace noise: gamma = e^(-eps0/2)."""
    return _hoeffding(eps0, n, math.exp(-0.5 * eps0), 2.0 * math.sinh(0.5 * eps0))


def lzx_clones(eps: Array, counts: NDArray[np.int64]) -> Clones:
    """LZX (Echo of Neighbors): p_i averaged over the neighbours j, clipped Laplace noise."""
    share = counts / counts.sum()
    ratio = eps / -np.expm1(-eps)
    kernel = np.multiply.outer(ratio, 1.0 / ratio) * np.exp(-np.maximum.outer(eps, eps))
    p = 0.5 * (kernel @ share)
    return poisson_clones(
        p, _others(counts), math.exp(-float(eps[-1])) / (1.0 + math.exp(-float(eps[-1])))
    )


def clones_curve(delta: Callable[[float], float], end: PureEnd) -> ProfileCurve:
    """A published profile as a curve."""
    cached = lru_cache(maxsize=512)(delta)

    def profile(epsilon: float, _width: float) -> Enclosure:
        value = min(max(cached(epsilon), 0.0), 1.0)
        return Enclosure(value, value)

    return ProfileCurve(profile, end)


@bound(
    Theorem(
        id="hps-2024",
        citation="Liu, Liu, Xiong, Gu, Chen 2024 (CIKM), Theorems 1 and 2, exact Poisson binomial",
        statement="clone pair with C = sum Bern(2 p_i), w = p_1,"
        " p_i the chance to be mistaken for the victim",
        validity="Laplace noise here; a budget and a delta per user in published_budgets,"
        " any finite randomizers in published_hps",
        status=Status.REFUTED,
        direction=Direction.UPPER,
        refutation=Refutation(
            dataset="Laplace noise, equal budgets, all other users at 0, the victim at 0 or 1",
            witness="dataset",
            parameters={"eps0": 4.0, "n": 10_000, "epsilon": 0.2},
            claimed=1.7278e-7,
            leaked=1.364e-5,
            mechanism="laplace",
        ),
        note="an overlap probability is not a mixture weight; also refuted for eps_1 = 1,"
        " others 0.05, n = 1000",
    ),
    known_law,
)
def hps(randomizer: Randomizer, n: int) -> Curve:
    """Equal budgets."""
    if not isinstance(randomizer, Laplace):
        raise RegimeError("Laplace noise", str(randomizer))
    eps0 = randomizer.eps0
    p = float(laplace_confusion(np.array([eps0]), eps0)[0])
    clones = EqualClones(n, p, 0.5 * math.exp(-0.5 * eps0))
    return clones_curve(clones.delta, PureEnd(randomizer.eps0))


@bound(
    Theorem(
        id="ccc-2024-personal",
        citation="Chen, Cao, Ge 2023 (arXiv 2312.14388; AAAI 2024), a budget per user",
        statement="mu-GDP with mu = sqrt(2 / (sum_i (1-delta_i)/(1+e^eps_i) - max_i))",
        validity="approximately, as n grows; any (eps_i, delta_i)-LDP randomizers",
        status=Status.REFUTED,
        direction=Direction.UPPER,
        refutation=Refutation(
            dataset="3-RR, equal budgets, all other users on the third symbol",
            witness="dataset-3rr",
            parameters={"eps0": 6.0, "n": 10_000, "delta": 1e-6},
            claimed=1.219,
            leaked=1.468,
        ),
        note="no limit either: with delta_i > 0 it falls to 0 as n grows,"
        " while a randomizer that reveals"
        " its value with probability delta_i leaks that for every n;"
        " the HPS authors' program counts"
        " every user twice",
    ),
    ldp,
)
def ccc(randomizer: LDP, n: int) -> Curve:
    """Equal budgets."""
    return gdp_ccc(np.array([randomizer.eps0]), np.array([n]), randomizer.delta0)


@bound(
    Theorem(
        id="lzx-2023",
        citation="Liu, Zhao, Xiong, Liu, Chen 2023 (AAAI), Echo of Neighbors;"
        " exact Poisson binomial",
        statement="clone pair with C = sum Bern(p_i), p_i the mean over j of eps_i (1-e^-eps_j)"
        " / (eps_j (1-e^-eps_i)) e^-max(eps_i, eps_j)",
        validity="clipped Laplace noise",
        status=Status.HEURISTIC,
        direction=Direction.UPPER,
        note="written for clipped Laplace noise; used as a bound for any mechanism by its"
        " comparisons",
    ),
    pure_ldp,
)
def lzx(randomizer: LDP, n: int) -> Curve:
    """Equal budgets."""
    if not randomizer.eps0 <= _LARGEST:
        raise RegimeError(f"eps0 <= {_LARGEST:g}", f"eps0 = {randomizer.eps0:g}")
    clones = EqualClones(
        n, 0.5 * math.exp(-randomizer.eps0), 1.0 / (1.0 + math.exp(randomizer.eps0))
    )
    return clones_curve(clones.pair_delta, PureEnd(randomizer.eps0))

"""What a training run has given away so far: proven, and as the papers would claim.

Neighbouring data sets replace one sample, or all samples of one client. A *release* is one epoch of
shuffled SGD or one round of check-in.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from shuffledp import checks
from shuffledp.accounting.bounds.training import (
    CHEN_THEOREM_3,
    LAPLACE_UNSHUFFLED,
    NO_NOISE,
    NOTHING_RELEASED,
)
from shuffledp.accounting.curves.ends import PureEnd
from shuffledp.accounting.curves.gdp import GDPCurve
from shuffledp.accounting.curves.renyi import RenyiCurve
from shuffledp.accounting.protocols import Rounds, Shuffled
from shuffledp.accounting.randomizers import LDP, CheckIn, Gaussian, Randomizer, Repeated
from shuffledp.errors import ConversionError, RegimeError
from shuffledp.labels import Interval, Status, Value
from shuffledp.ledger import Guarantee
from shuffledp.numerics.composition import composed_epsilon
from shuffledp.numerics.rounding import FORMULA, up
from shuffledp.numerics.search import bisect_whole


@dataclass(frozen=True)
class Spent:
    """epsilon after some releases."""

    releases: int
    delta: float
    guarantee: Value
    """Holds for every pair of neighbouring data sets."""
    claims: tuple[Value, ...]
    """What published formulas, or one pair of data sets, say of the same run."""

    @property
    def epsilon(self) -> float:
        """The guaranteed one."""
        return self.guarantee.value

    def to_dict(self, uncovered: str = "") -> dict[str, Any]:
        """JSON-ready form; of a run that is not covered, what would hold otherwise."""
        known = self.guarantee.to_dict()
        otherwise = {"value": known["value"], "theorem": known["theorem"], "note": known["note"]}
        return {
            "releases": self.releases,
            "delta": self.delta,
            "epsilon": None if uncovered else known,
            **({"otherwise": otherwise} if uncovered else {}),
            "claims": [claim.to_dict() for claim in self.claims],
        }


class Account(ABC):
    """epsilon(delta) as a function of the number of releases."""

    delta: float

    @property
    @abstractmethod
    def protects(self) -> str:
        """Whose data the guarantee protects, in words."""

    @property
    @abstractmethod
    def spendable(self) -> Shuffled | Guarantee:
        """One release, as a ledger books it."""

    @abstractmethod
    def guarantee(self, releases: int, delta: float) -> Value:
        """The best proven epsilon."""

    @abstractmethod
    def claims(self, releases: int) -> tuple[Value, ...]:
        """Other numbers for the same run, labelled."""

    def after(self, releases: int) -> Spent:
        """Everything known after this many releases."""
        if releases == 0:
            return Spent(0, self.delta, NOTHING_RELEASED.value(0.0), ())
        return Spent(releases, self.delta, self._best(releases), self.claims(releases))

    def most(self, budget: float, limit: int) -> int:
        """How many releases, up to ``limit``, stay within epsilon <= budget."""
        checks.positive("budget", budget)
        return bisect_whole(lambda k: self._best(k).value <= budget, 0, limit + 1).good

    @cache  # noqa: B019  # an account lives as long as its run
    def _best(self, releases: int) -> Value:
        return self.guarantee(releases, self.delta)


def laplace_divergence(eps0: float, order: float) -> float:
    """Rényi divergence of one-dimensional Laplace noise,
    the worst for vectors (docs/proofs/training.md)."""
    less, both = order - 1.0, 2.0 * order - 1.0
    if less * eps0 > 1.0:
        tail = order / both + less / both * math.exp(-both * eps0)
        return eps0 + math.log(tail) / less
    # the terms of first order cancel: only what is left of them is summed, all positive
    moment = (order * _beyond_linear(less * eps0) + less * _beyond_linear(-order * eps0)) / both
    return math.log1p(moment) / less


def _beyond_linear(x: float) -> float:
    """exp(x) - 1 - x, to a few units in the last place."""
    if abs(x) > 0.5:
        return math.expm1(x) - x
    total, term, k = 0.0, 0.5 * x * x, 2
    while total + term != total:
        total, k = total + term, k + 1
        term *= x / k
    return total


def _laplace_unshuffled(eps0: float, rounds: int, delta: float) -> Value:
    """The better of Rényi and optimal pure composition."""
    curve = RenyiCurve(
        lambda order: up(rounds * laplace_divergence(eps0, order), FORMULA), PureEnd(rounds * eps0)
    )
    pure = composed_epsilon(eps0, rounds, delta)
    return LAPLACE_UNSHUFFLED.value(min(curve.epsilon(delta), pure))


@cache
def _composition(protocol: Shuffled, rounds: int, delta: float) -> Interval:
    return Rounds([(protocol, rounds)]).epsilon(delta)


def _leaked(protocol: Shuffled, rounds: int, delta: float) -> Value:
    """What one data set is known to leak: no analysis can show less."""
    return _composition(protocol, rounds, delta).lower_end


@dataclass(frozen=True, eq=False)
class Epochs(Account):
    """T epochs of Algorithm 1 of Chen, Cao, Ge: each block reports once per epoch."""

    eps0: float
    blocks: int
    unit: str
    delta: float

    @property
    def protects(self) -> str:
        return "one sample" if self.unit == "sample" else "all samples of one client"

    def guarantee(self, releases: int, delta: float) -> Value:
        if not math.isfinite(self.eps0):
            return NO_NOISE.value(math.inf)
        if self.unit == "sample":
            return _laplace_unshuffled(self.eps0, releases, delta)
        return _composition(self.protocol, releases, delta).upper_end

    @property
    def spendable(self) -> Shuffled | Guarantee:
        return self.protocol if self.unit == "client" else Guarantee(repr(self.eps0))

    @property
    def protocol(self) -> Shuffled:
        """One epoch, the blocks being clients."""
        return Shuffled(LDP(self.eps0, sequential=True), self.blocks)

    def claims(self, releases: int) -> tuple[Value, ...]:
        if self.blocks < 2 or not math.isfinite(self.eps0):
            return ()
        found = []
        if self.unit == "client":
            found.append(_leaked(self.protocol, releases, self.delta))
        mu = 2.0 * math.sqrt(releases / (self.blocks - 1.0)) * math.exp(self.eps0 / 2.0)
        note = f"Theorem 3 of Chen, Cao, Ge 2024; {mu:.4g}-GDP, (L, {0.5 * mu * mu:.4g} L)-RDP"
        theorem = CHEN_THEOREM_3
        if self.unit == "sample":  # however many blocks there are
            note += "; a block is not eps0-LDP, so nothing is amplified"
            theorem = theorem.weakened(note, Status.REFUTED)
        return (*found, theorem.value(GDPCurve(mu).epsilon(self.delta), note))


@dataclass(frozen=True, eq=False)
class CheckInRounds(Account):
    """Rounds of shuffled check-in with Gaussian reports; sigma in units of the clipping norm."""

    sigma: float
    clients: int
    rate: float
    delta: float

    @property
    def protects(self) -> str:
        return "one client"

    @property
    def spendable(self) -> Shuffled | Guarantee:
        return self.protocol

    @property
    def protocol(self) -> Shuffled:
        """One round; two clipped gradients are up to two clipping norms apart."""
        return Shuffled(self._report(2.0), self.clients)

    def _report(self, sensitivity: float) -> Randomizer:
        report = Gaussian(self.sigma, sensitivity, ball=True)
        return report if self.rate == 1.0 else CheckIn(report, self.rate)

    def guarantee(self, releases: int, delta: float) -> Value:
        return Rounds([(self.protocol, releases)]).guaranteed(delta=delta)

    def leaked(self, releases: int) -> Value:
        """What one data set is known to leak; takes some seconds."""
        return _leaked(self.protocol, releases, self.delta)

    def claims(self, releases: int) -> tuple[Value, ...]:
        found = []
        for sensitivity, theorem in (
            (2.0, "shuffle-gaussian-rdp"),
            (1.0, "shuffle-gaussian-rdp"),
            (1.0, "liew-2023-theorem-3"),
        ):
            try:
                report = Repeated(self._report(sensitivity), releases)
                value = Shuffled(report, self.clients).bound(theorem, delta=self.delta)
            except (RegimeError, ConversionError):
                continue
            note = f"sensitivity {sensitivity:g}; {value.note}".rstrip("; ")
            found.append(replace(value, note=note))
        return tuple(found)

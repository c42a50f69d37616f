"""What concrete data sets leak, exactly: lower bounds on the worst case.

Symbols: E = exp(eps0), e = exp(epsilon), w = 1/(E+1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from shuffledp.accounting.bounds.clones import gaussian_guess
from shuffledp.accounting.bounds.scopes import whole_class
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import Curve, ProfileCurve, PureEnd
from shuffledp.accounting.randomizers import LDP
from shuffledp.errors import ConversionError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.binary import binary_delta, binary_renyi_lower
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.logs import log1p_exp
from shuffledp.numerics.renyi import TwoSidedRenyi
from shuffledp.numerics.rounding import down, roundings
from shuffledp.numerics.trinomial import TwoSided, deltas

_LARGEST = 600.0
"""A randomizer with a smaller eps0 is in the class too: beyond this we use that one."""


@bound(
    Theorem(
        id="dataset-2rr",
        citation="exact computation; Girgis et al. 2021 use the same data set",
        statement="binary randomized response, all others on one symbol, the victim on it or not",
        validity="n >= 1; a lower bound for the class of all eps0-LDP randomizers",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/identity.md",
    ),
    whole_class,
    turn=1,
)
def dataset_2rr(randomizer: LDP, n: int) -> Curve:
    """Both directions of the binary data set."""
    eps0 = min(randomizer.eps0, _LARGEST)
    decay = math.exp(-eps0)
    rare, common = decay / (1.0 + decay), 1.0 / (1.0 + decay)
    span = 2.0 * math.sinh(eps0)  # E - 1/E

    def leaves(epsilon: float, _width: float) -> Enclosure:
        # the victim held the other symbol: its report is rare among the others'
        shift = math.expm1(epsilon) / span
        room = -math.expm1(epsilon - eps0) / -math.expm1(-2.0 * eps0)
        return binary_delta(n, rare, common, math.log(span), n * shift, n * room)

    def joins(epsilon: float, _width: float) -> Enclosure:
        shift = -math.expm1(-epsilon) / span
        room = -math.expm1(epsilon - eps0) * math.exp(-epsilon) / span
        return binary_delta(n, common, rare, math.log(span) + epsilon, n * shift, n * room)

    def renyi(order: float) -> float:
        return binary_renyi_lower(n, rare, common, eps0, order)

    return ProfileCurve(
        leaves,
        end=PureEnd(eps0),
        direction=Direction.LOWER,
        reverse=joins,
        exact_renyi=renyi,
        guess=gaussian_guess(eps0, n, 4.0 * rare * common),
    )


@bound(
    Theorem(
        id="dataset-3rr",
        citation="exact computation",
        statement="3-ary randomized response, all others on the third symbol,"
        " the victim on the first or second",
        validity="n >= 1; a lower bound for the class of all eps0-LDP randomizers",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/identity.md",
    ),
    whole_class,
    turn=2,
)
def dataset_3rr(randomizer: LDP, n: int) -> Curve:
    """The ternary data set; both directions are alike by symmetry."""
    eps0 = min(randomizer.eps0, _LARGEST)
    decay = math.exp(-eps0)
    p, q = 2.0 * decay / (1.0 + 2.0 * decay), 1.0 / (1.0 + 2.0 * decay)
    rise = -math.expm1(-eps0)  # (E-1)/E

    def sums(epsilon: float) -> TwoSided:
        epsilon = min(epsilon, eps0)
        e_decay = math.exp(-epsilon)
        slope = 0.5 * math.tanh(0.5 * epsilon) / math.tanh(0.5 * eps0)
        coslope = -math.expm1(epsilon - eps0) * e_decay / (rise * (1.0 + e_decay))
        fixed = math.tanh(0.5 * epsilon) * decay * decay / rise
        log_scale = math.log(2.0 * rise / (1.0 + 2.0 * decay)) + log1p_exp(epsilon)
        return TwoSided(n, p, q, log_scale, slope, coslope, fixed)

    moments = TwoSidedRenyi(
        n,
        p,
        q,
        base=(1.0 + decay) / (1.0 + 2.0 * decay),
        slope=rise / (1.0 + 2.0 * decay),
        gap=2.0 * decay / (1.0 + 2.0 * decay),
        eps0=eps0,
        base_fixed=p * decay,
    )
    return ProfileCurve(
        lambda epsilon, width: sums(epsilon).delta(width),
        end=PureEnd(eps0),
        enclose_many=lambda epsilons: deltas([sums(epsilon) for epsilon in epsilons]),
        direction=Direction.LOWER,
        exact_renyi=lambda order: moments.divergence(order).lower,
        guess=gaussian_guess(eps0, n, 2.0 * decay * (1.0 + 2.0 * decay) / (1.0 + decay) ** 2),
    )


@dataclass(frozen=True)
class LowerRenyiCurve(Curve):
    """Lower bounds on the Rényi divergence at integer orders; nothing else follows from them."""

    eps0: float
    n: int
    kind: ClassVar[str] = "lower Rényi"

    def renyi(self, order: float) -> float:
        if order != math.floor(order) or order < 2.0:
            raise ConversionError(f"This Rényi bound holds for integer orders >= 2. Got {order:g}.")
        # (E-1)^2 / E = (2 sinh(eps0/2))^2
        variance = (2.0 * math.sinh(0.5 * min(self.eps0, _LARGEST))) ** 2 / self.n
        value = math.log1p(0.5 * order * (order - 1.0) * variance) / (order - 1.0)
        return down(value, roundings(901))


@bound(
    Theorem(
        id="girgis-2021-lower",
        citation="Girgis et al. 2021 (CCS), Theorem 3, its first term; eq. (9) of Chen, Cao, Ge",
        statement="Rényi divergence >= 1/(L-1) ln(1 + L(L-1)/2 (E-1)^2/(n E))",
        validity="integer order L >= 2",
        status=Status.FIXED_PAIR,
        direction=Direction.LOWER,
        proof="proofs/published.md",
        note="the data set of dataset-2rr, without the higher moments",
    ),
    whole_class,
    asked_of=False,
)
def girgis_lower(randomizer: LDP, n: int) -> Curve:
    """Second moment of the binary data set."""
    return LowerRenyiCurve(randomizer.eps0, n)

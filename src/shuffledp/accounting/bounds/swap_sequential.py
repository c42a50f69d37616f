"""The swap bound for data shuffled, then visited in order (docs/proofs/swap.md, section 9).

Each randomizer may depend on all earlier reports, so a product over users is no longer there. One
step raises E[(s + ...)+ e^(-lam ...)] to at most what a single law makes of it, the dominating
law, as long as that is a mixture of translates of E(s + N)+, N Laplace noise of rate omega. The
dominating law takes such mixtures to such mixtures: all steps together are a sum of independent
reports.

Symbols as in ``swap``; a law is a set of atoms (mass, W, g).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from shuffledp.accounting.bounds.scopes import pure_ldp
from shuffledp.accounting.bounds.swap import (
    SwapCurve,
    charge_aimed,
    deviation,
    expected_charge,
    exponentials,
    gain,
    in_regime,
    limit_power,
    moved,
)
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.curves import PureEnd
from shuffledp.accounting.curves.gdp import gaussian_start
from shuffledp.accounting.randomizers import LDP, Randomizer
from shuffledp.accounting.randomizers.swaps import OtherLaw, Swap, any_randomizer
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem
from shuffledp.numerics.enclosure import QUICK, Enclosure
from shuffledp.numerics.rounding import FORMULA, SUMS, Array, down, roundings, up
from shuffledp.numerics.several_laws import SeveralLaws

_CELLS = 240
_RATES = (1.8, 2.5, 3.5, 5.0, 7.0, 10.0, 16.0, 25.0)
"""Of omega, in units of theta: the smaller, the more is smoothed."""
_ATTEMPTS = 3
_FINE, _COARSE = 2e-3, 1e-2
_LEAST_USERS = 10
_STEEPEST = 100.0
"""omega |W| is kept below: nothing is gained beyond."""
_BLUR = 2e-14
"""Relative: more than the roundings of masses and of short sums."""


@dataclass(frozen=True, eq=False)
class _Steps:
    """Atoms of several laws, one row each; missing ones have mass 0."""

    mass: Array
    value: Array
    swap: Array

    def log_mean(self, theta: float, lam: float, mix: Array) -> float:
        """log E e^(theta W - lam g) of a mixture of the rows."""
        rise = self.mass * np.expm1(theta * self.value - lam * self.swap)
        return math.log1p(float(mix @ rise.sum(axis=1)))


def _steps(pair: Swap, e: float, low: float, high: float) -> _Steps:
    """The six laws of any randomizer, then one that is wider than all: a clone or nothing."""
    big = float(pair.laws[3].first.max())
    half, share = 0.5 * (big + 1.0), 1.0 / (big + 1.0)
    clone = OtherLaw(
        np.array([share, share, (big - 1.0) * share]),
        np.array([big, 1.0, 0.0]),
        np.array([1.0, big, 0.0]),
        np.array([half, half, 0.0]),
    )
    rows = (*pair.laws, clone)
    least, most = (f(float(f(x.swap)) for x in pair.laws) for f in (min, max))
    mass, value, swap = np.zeros((3, len(rows), 3))
    for i, x in enumerate(rows):
        k = len(x.mass)
        mass[i, :k] = x.mass
        value[i, :k] = moved(
            gain(x.first, x.second, e, pair.precision),
            x.swap,
            (least, most),
            (low, high),
            pair.precision,
        )
        swap[i, :k] = down(x.swap, pair.precision + roundings(4.0))
    return _Steps(mass, value, swap)


def _bend(u: Array, omega: float) -> Array:
    """E(u + N)+ - 1 / (2 omega) - u / 2: about omega u^2 / 4 near 0."""
    y = omega * np.abs(u)
    series = y * y * (0.5 - y / 6.0 * (1.0 - y / 4.0 * (1.0 - y / 5.0 * (1.0 - y / 6.0))))
    found: Array = np.where(y < 0.01, series, y + np.expm1(-y))
    return found / (2.0 * omega)


@dataclass(frozen=True, eq=False)
class _Dominating:
    """A mixture of the rows, W moved by ``shift``, all times 1 + ``factor``."""

    mix: Array
    shift: float
    factor: float


_RANDOMIZERS, _NARROW, _WIDE = slice(0, 6), 4, 6
"""Rows: the six laws; of these, the one of most spread; the one that is wider than all."""


class _Smoothed:
    """F(s) = E[e^(-lam g) f(s + W)] for each row, f(s) = E(s + N)+, N of rate ``omega``.

    Between -reach and reach F is computed at some places. Left of them it is
    C e^(omega s) / (2 omega), right of them A s + B + C' e^(-omega s) / (2 omega).
    """

    def __init__(self, steps: _Steps, lam: float, omega: float) -> None:
        self.lam, self.omega = lam, omega
        weight = steps.mass * np.exp(-lam * steps.swap)
        self.lost = (steps.mass * np.expm1(-lam * steps.swap)).sum(axis=1)  # A - 1
        self.mean = (weight * steps.value).sum(axis=1)  # B
        self.reach = float(np.abs(steps.value).max()) * (1.0 + FORMULA)
        self.places = np.linspace(-self.reach, self.reach, _CELLS + 1)[:, None]
        u = self.places[:, :, None] + steps.value
        bend = (weight * _bend(u, omega)).sum(axis=2)
        # F less 1 / (2 omega) + s / 2, and the slope of F
        self.level = self.lost / (2.0 * omega) + 0.5 * (self.lost * self.places + self.mean) + bend
        turn = 0.5 * np.sign(u) * -np.expm1(-omega * np.abs(u))
        self.slope = 0.5 * (1.0 + self.lost) + (weight * turn).sum(axis=2)
        tails = [
            steps.mass * np.expm1(sign * omega * steps.value - lam * steps.swap)
            for sign in (1.0, -1.0)
        ]
        self.left, self.right = (tail.sum(axis=1) for tail in tails)  # C - 1, C' - 1
        self.blur = _BLUR * max(float(np.abs(tail).sum(axis=1).max()) for tail in tails)
        # between two places F of the dominating law, F'' <= omega / 2, may lie below its chord
        step = 2.0 * self.reach / _CELLS
        self.slack = up(omega * step * step / 16.0, SUMS)
        self.slack += _BLUR * (self.reach + 1.0) + FORMULA * float(bend.max())

    def dominating(self) -> _Dominating | None:
        """With the least part of the wide law, if there is one; no row is above it anywhere."""
        ends = [_NARROW, _WIDE]
        lost, mean = (float(x[ends].min()) for x in (self.lost, self.mean))
        most_lost, most_mean = float(self.lost.max()), float(self.mean.max())
        factor = (up(most_lost - lost, FORMULA) + 4.0 * _BLUR * self.lam) / (1.0 + lost)
        shift = up(max(most_mean - mean, 0.0) + factor * abs(mean), SUMS) / (1.0 + lost)
        shift += 4.0 * _BLUR * self.reach
        middle = (1.0 + factor) * (self.level + shift * self.slope)[:, ends]
        middle += factor * (1.0 / (2.0 * self.omega) + 0.5 * self.places)
        needed = self.level[:, _RANDOMIZERS].max(axis=1) + up(self.slack, factor)
        left = self.left[ends] + (self.omega * shift + factor) * (1.0 + self.left[ends])
        have = np.concatenate([middle, left[None, :]])
        needed = np.append(needed, float(self.left[_RANDOMIZERS].max()) + self.blur)
        lack, more = needed - have[:, 0], have[:, 1] - have[:, 0]
        with np.errstate(divide="ignore"):
            part = float(np.where(lack > 0.0, lack / np.maximum(more, 0.0), 0.0).max())
        if not part < 1.0:
            return None
        mix = np.zeros(len(self.lost))
        mix[_WIDE] = min(up(part, SUMS), 1.0)
        mix[_NARROW] = 1.0 - mix[_WIDE]
        made = _Dominating(mix, shift, factor)
        above = bool((have @ mix[ends] >= needed).all())
        return made if above and self._above_on_the_right(made) else None

    def _above_on_the_right(self, made: _Dominating) -> bool:
        """A s + B grows at least as fast there, and a fall of C' counts most at the last place."""
        a, b, c = (float(made.mix @ x) for x in (self.lost, self.mean, self.right))
        a += made.factor * (1.0 + a)
        b = (1.0 + made.factor) * b + (1.0 + a) * made.shift
        c += math.expm1(math.log1p(made.factor) - self.omega * made.shift) * (1.0 + c)
        slopes = a - self.lost[_RANDOMIZERS] - _BLUR * self.lam
        heights = b - self.mean[_RANDOMIZERS] - _BLUR * self.reach
        falls = np.minimum(c - self.right[_RANDOMIZERS] - self.blur, 0.0)
        falls = falls * math.exp(-self.omega * self.reach) / (2.0 * self.omega)
        return bool((slopes >= 0.0).all() and (slopes * self.reach + heights + falls >= 0.0).all())


def sequential_delta(eps0: float, n: int, epsilon: float, width: float) -> float:
    """Upper bound on delta(epsilon), however randomizers depend on earlier reports."""
    pair, e, m = any_randomizer(eps0), math.exp(epsilon), n - 1
    least, most = (f(float(f(x.swap)) for x in pair.laws) for f in (min, max))
    spread = up(most - least, FORMULA)
    log_charge, best = expected_charge(limit_power(pair, (n,)), epsilon), 1.0
    for _ in range(_ATTEMPTS):
        half = log_charge - math.log(2.0)
        below, above = (deviation([(m, pair.laws)], half, sign) for sign in (-1.0, 1.0))
        low = down(max(n - below - spread, 1.0 + m * least), FORMULA)
        high = up(n + above + spread, FORMULA)
        if not low > spread:
            break
        value = _inside_window(pair, m, e, low, high, width)
        best = min(best, up(value + math.exp(log_charge), FORMULA))
        aim = charge_aimed(value)
        if value >= 1.0 or aim - 10.0 <= log_charge <= aim + 3.0:
            break
        log_charge = aim
    return best


def _inside_window(pair: Swap, m: int, e: float, low: float, high: float, width: float) -> float:
    """E[(sum of W)+ / T] for T in [low, high], by the dominating law."""
    steps = _steps(pair, e, low, high)
    apart = pair.arrivals[0][0]
    first = gain(apart.first, apart.second, e, pair.precision)
    total = 0.0
    for factor, lam in zip(*(x.tolist() for x in exponentials(low, high)), strict=True):
        log = _log_excess(steps, m, lam, first, apart.mass, width)
        total += math.exp(min(log - down(lam, FORMULA) + math.log(factor), 600.0))
    return up(total, SUMS)


def _log_excess(
    steps: _Steps, m: int, lam: float, first: Array, chance: Array, width: float
) -> float:
    """log of a bound on E[(V_1 + sum of W)+ e^(-lam (T - 1))], whatever the order does."""
    widest = SeveralLaws(steps.mass[:6], steps.value[:6], steps.swap[:6], 1e-14)
    theta = widest.best_theta((m,), lam, first, chance)
    found: tuple[float, _Dominating, float] | None = None
    for ratio in _RATES:
        omega = ratio * theta
        if omega * float(np.abs(steps.value).max()) > _STEEPEST:
            break
        made = _Smoothed(steps, lam, omega).dominating()
        if made is None:
            continue
        cost = m * (steps.log_mean(theta, lam, made.mix) + theta * made.shift + made.factor)
        cost -= math.log1p(-1.0 / ratio**2)
        if found is None or cost < found[0]:
            found = cost, made, omega
    if found is None:
        return math.inf
    _, made, omega = found
    used = made.mix > 0.0
    laws = SeveralLaws(
        (made.mix[used, None] * steps.mass[used]).reshape(1, -1),
        (steps.value[used] + made.shift + roundings(4.0) * np.abs(steps.value[used])).reshape(
            1, -1
        ),
        steps.swap[used].reshape(1, -1),
        roundings(128.0),
    )
    log, theta = laws.log_excess((m,), lam, first, chance, width, theta)
    if not theta < omega:
        return math.inf
    smoothing = -math.log1p(-((theta / omega) ** 2))
    return log + up(smoothing + m * math.log1p(made.factor), SUMS)


def _in_order(randomizer: Randomizer) -> LDP:
    """Any pure randomizers of that budget, applied in order, or each for itself."""
    return pure_ldp(in_regime(randomizer))


def _told_in_order(randomizer: Randomizer) -> LDP:
    """Where nothing tighter speaks of it."""
    found = pure_ldp(randomizer)
    if not found.sequential:
        raise RegimeError("randomizers that depend on earlier reports", str(randomizer))
    return found


@bound(
    Theorem(
        id="swap-sequential",
        citation="our own, in the model of Feldman, McMillan, Talwar 2021",
        statement="the swap bound where labels change places; one law dominates each step on"
        " mixtures of translates of E(s + N)+, N Laplace noise",
        validity="data shuffled, then eps0-LDP randomizers applied in order, each may depend on all"
        " earlier reports; 1e-4 <= eps0 <= 30, n >= 10",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _in_order,
    asked_of=_told_in_order,
)
def swap_sequential(randomizer: LDP, n: int) -> SwapCurve:
    """For every data set and every rule by which randomizers depend on what came before."""
    if n < _LEAST_USERS:
        raise RegimeError(f"n >= {_LEAST_USERS}", str(n))
    eps0 = randomizer.eps0

    @lru_cache(maxsize=256)
    def delta(epsilon: float, width: float) -> float:
        return sequential_delta(eps0, n, epsilon, width)

    def profile(epsilon: float, width: float) -> Enclosure:
        value = delta(epsilon, _COARSE)
        if width < QUICK:
            value = min(value, delta(epsilon, _FINE))
        return Enclosure(value, value)

    power = limit_power(any_randomizer(eps0), (n,))
    guess = partial(gaussian_start, math.sqrt(min(power, 1e4)))
    return SwapCurve(profile, PureEnd(eps0), guess=guess)

"""delta(eps) of the pair: integration, simulation, composition, and the proven bounds above it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from shuffledp import (
    CheckIn,
    Gaussian,
    Repeated,
    Shuffled,
    SigmaCalibration,
    Status,
    Subsampled,
    calibrate_sigma,
)
from shuffledp.accounting.bounds.gaussian_proven import _checked_in
from shuffledp.accounting.bounds.shuffle_gaussian import gaussian_pair, pair_profile
from shuffledp.accounting.curves import GDPCurve
from shuffledp.accounting.protocols.gaussian import smallest_noise
from shuffledp.errors import ParameterError
from shuffledp.numerics.composition import binomial_window, composed_epsilon

RANDOMIZERS = [
    Gaussian(1.0, 1.0),
    CheckIn(Gaussian(1.0, 1.0), 0.3),
    Subsampled(Gaussian(1.0, 1.0), 2),
]


def _integrated(randomizer: object, n: int, epsilon: float, forward: bool) -> float:
    """E(R - e)+ or E(1 - e R)+ by adaptive integration, one variable after the other.

    For n = 2 the last variable is integrated up to the kink, for n = 3 by Black and Scholes.
    """
    ratio = gaussian_pair(randomizer, n).ratio  # type: ignore[arg-type]
    root, sign = math.sqrt(ratio.h), 1.0 if forward else -1.0
    strike = ratio.count * math.exp(sign * epsilon)

    def last(need: float) -> float:
        """E(sign (Y - need))+."""
        x = (need - (1.0 - ratio.share)) / ratio.share
        silent = (1.0 - ratio.thin) * max(sign * (1.0 - need), 0.0)
        if x <= 0.0:
            return silent + ratio.thin * max(sign * (1.0 - need), 0.0)
        kink = (math.log(x) + 0.5 * ratio.h) / root
        if ratio.count == 2:

            def gain(v: float) -> float:
                density = math.exp(-0.5 * v * v) / math.sqrt(2.0 * math.pi)
                return density * sign * (math.exp(root * v - 0.5 * ratio.h) - x)

            ends = (max(kink, -12.0), 13.0) if forward else (-12.0, min(kink, 13.0))
            value = quad(gain, *ends, epsabs=1e-14, epsrel=1e-11)[0] if ends[0] < ends[1] else 0.0
        else:
            value = sign * (ndtr(sign * (root - kink)) - x * ndtr(-sign * kink))
        return silent + ratio.thin * ratio.share * float(value)

    def earlier(need: float, left: int) -> float:
        if left == 1:
            return last(need)

        def inner(v: float) -> float:
            y = 1.0 - ratio.share + ratio.share * math.exp(root * v - 0.5 * ratio.h)
            return math.exp(-0.5 * v * v) / math.sqrt(2.0 * math.pi) * earlier(need - y, left - 1)

        # the integrand turns where the rest has to be about what it is on average
        x = (need - (left - 1) - (1.0 - ratio.share)) / ratio.share
        kinks = [(math.log(x) + 0.5 * ratio.h) / root] if x > 1e-4 else []
        value = quad(inner, -9.0, 10.0, points=kinks, epsabs=1e-12, epsrel=1e-9, limit=200)[0]
        return (1.0 - ratio.thin) * earlier(need - 1.0, left - 1) + ratio.thin * float(value)

    scale = 1.0 if forward else math.exp(epsilon)
    return scale * earlier(strike, ratio.count) / ratio.count


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=["shuffled", "check-in", "drawn"])
@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_against_integration(randomizer: object, n: int, epsilon: float) -> None:
    curve = pair_profile(gaussian_pair(randomizer, n))  # type: ignore[arg-type]
    assert curve.reverse is not None
    for profile, forward in ((curve.forward, True), (curve.reverse, False)):
        truth = _integrated(randomizer, n, epsilon, forward)
        found = profile(epsilon, 0.0)
        assert found.lower == pytest.approx(truth, rel=1e-6, abs=0.0)
        assert found.upper == pytest.approx(truth, rel=1e-6, abs=0.0)


@pytest.mark.slow
def test_against_simulation() -> None:
    n, epsilon, samples = 50, 0.1, 10**7
    rng = np.random.default_rng(4)
    total, square = 0.0, 0.0
    for _ in range(samples // 10**5):
        ratio = np.exp(rng.standard_normal((10**5, n)) - 0.5).mean(axis=1)
        value = np.maximum(ratio - math.exp(epsilon), 0.0)
        total, square = total + float(value.sum()), square + float((value**2).sum())
    mean = total / samples
    error = 5.0 * math.sqrt((square / samples - mean**2) / samples)  # false alarm: 6e-7
    found = pair_profile(gaussian_pair(Gaussian(1.0, 1.0), n)).forward(epsilon, 0.0)
    assert found.lower <= mean + error
    assert found.upper >= mean - error
    assert error < 5e-3 * mean  # what 1e7 samples can tell


@pytest.mark.parametrize(
    "randomizer",
    [
        Gaussian(3.0, 2.0, ball=True),
        CheckIn(Gaussian(3.0, 2.0, ball=True), 0.2),
        Subsampled(Gaussian(3.0, 2.0, ball=True), 100),
        Repeated(Gaussian(3.0, 2.0, ball=True), 8),
        Repeated(CheckIn(Gaussian(3.0, 2.0, ball=True), 0.2), 8),
    ],
    ids=str,
)
def test_every_upper_bound_is_above_what_the_pair_leaks(randomizer: object) -> None:
    protocol = Shuffled(randomizer, 1000)  # type: ignore[arg-type]
    interval = protocol.epsilon(1e-6)
    assert interval.status is Status.PROVEN
    above = ["shuffle-gaussian-rdp"]
    above += ["shuffle-gaussian-composed"] * isinstance(randomizer, Repeated)
    above += [candidate.theorem.id for candidate in protocol.candidates()[0]]
    values = {interval.theorem: interval.upper}
    for theorem in above:
        if theorem not in ("blanket", interval.theorem):  # the first for numbers on a line only
            values[theorem] = protocol.bound(theorem, delta=1e-6).value
            assert values[theorem] >= interval.lower
    assert len(values) >= 3
    if isinstance(randomizer, Repeated):
        composed = values["shuffle-gaussian-composed"]
        assert composed <= values["shuffle-gaussian-rdp"]
        assert composed <= values["composition"] * 1.001
        # the CLT limit: T rounds of variance chi^2 each
        pair = gaussian_pair(randomizer, 1000)
        mu = math.sqrt(pair.rounds * math.expm1(pair.forward(2.0).upper / pair.rounds))
        assert composed == pytest.approx(GDPCurve(mu).epsilon(1e-6), rel=0.1, abs=0.0)


def test_one_user_composed_is_gdp() -> None:
    randomizer = Repeated(Gaussian(2.0, 1.0), 10)
    exact = GDPCurve(math.sqrt(10.0) / 2.0).epsilon(1e-5)
    found = Shuffled(randomizer, 1).bound("shuffle-gaussian-composed", delta=1e-5).value
    assert exact <= found <= 1.01 * exact
    assert Shuffled(randomizer, 1).bound("gaussian-unshuffled", delta=1e-5).value == pytest.approx(
        exact
    )


@pytest.mark.parametrize(("epsilon", "rounds"), [(0.3, 1), (0.3, 7), (0.01, 500)])
def test_composed_epsilon_against_the_plain_sum(epsilon: float, rounds: int) -> None:
    total = composed_epsilon(epsilon, rounds, 1e-4)
    p = 1.0 / (1.0 + math.exp(-epsilon))
    spent = sum(
        math.comb(rounds, k)
        * p**k
        * (1 - p) ** (rounds - k)
        * max(1 - math.exp(total - (2 * k - rounds) * epsilon), 0.0)
        for k in range(rounds + 1)
    )
    assert spent == pytest.approx(1e-4, rel=1e-6, abs=0.0)


def test_binomial_window_keeps_the_mass() -> None:
    for n, p in ((5, 0.3), (10**5, 1e-3), (10**6, 0.5)):
        assert float(binomial_window(n, p, 1.0 - p)[1].sum()) == pytest.approx(1.0, abs=1e-8)


def test_revealed_rounds_by_hand() -> None:
    found = Shuffled(Repeated(CheckIn(Gaussian(1.0, 1.0), 0.25), 2), 10).bound(
        "gaussian-unshuffled", epsilon=0.5
    )
    by_hand = 2 * 0.25 * 0.75 * GDPCurve(1.0).delta(0.5) + 0.25**2 * GDPCurve(math.sqrt(2)).delta(
        0.5
    )
    assert found.value == pytest.approx(by_hand, rel=1e-6, abs=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("status", [Status.PROVEN, Status.FIXED_PAIR])
def test_calibration_is_tight(status: Status) -> None:
    found = calibrate_sigma(epsilon=1.0, delta=1e-6, n=2000, rounds=3, rate=0.5, status=status)
    less = Shuffled(Repeated(CheckIn(Gaussian(0.99 * found.sigma, 2.0), 0.5), 3), 2000)
    pair = status is Status.FIXED_PAIR
    value = less.bound(found.achieved.theorem, delta=1e-6) if pair else less.guaranteed(delta=1e-6)
    assert found.achieved.value <= 1.0 < value.value
    assert found.achieved.status is status
    assert found.protocol.bound(found.achieved.theorem, delta=1e-6).value <= 1.0


def test_a_floor_below_delta_does_not_hide_a_bound_that_goes_on_falling() -> None:
    """Of one round, swap-gaussian begins lower and stops at 3.5e-4; gaussian-approximate falls on."""
    rounds = Shuffled(Repeated(CheckIn(Gaussian(1.6, 2.0), 0.5), 3), 2000)
    assert rounds.guaranteed(delta=1e-6).value < 3.0  # unshuffled: 11.1


def test_a_huge_local_budget_with_check_in_is_no_guarantee_and_no_crash() -> None:
    profile = _checked_in(60.0, 1e-30, 100, 0.1)
    assert profile(40.0, 1e-3).upper == 1.0


def _with_less_noise(found: SigmaCalibration) -> Shuffled:
    """A hundredth less: where a theorem's range begins epsilon falls at once."""
    wrapper = found.protocol.randomizer
    inner = replace(wrapper.randomizer, sigma=0.99 * found.sigma)
    return found.protocol.using(replace(wrapper, randomizer=inner))


@pytest.mark.slow
def test_calibration_over_rounds_uses_the_shuffler() -> None:
    found = calibrate_sigma(epsilon=2.0, delta=1e-5, n=2000, rounds=2)
    assert found.achieved.theorem == "composition"
    assert found.achieved.value <= 2.0 < _with_less_noise(found).guaranteed(delta=1e-5).value
    assert found.achieved.status is Status.PROVEN
    assert "2 rounds" in str(found.protocol)


def test_calibration_of_drawn_users_uses_the_draw() -> None:
    found = calibrate_sigma(epsilon=1.0, delta=1e-5, n=2000, drawn=200)
    assert found.achieved.theorem in ("subsampled", "swap-gaussian")
    assert found.achieved.value <= 1.0 < _with_less_noise(found).guaranteed(delta=1e-5).value


def test_calibration_refuses_what_it_would_ignore() -> None:
    for wrong in ({"rate": 2.0}, {"rounds": 0}, {"rate": 0.5, "drawn": 10}, {"drawn": 5000}):
        with pytest.raises(ParameterError):
            calibrate_sigma(epsilon=1.0, delta=1e-5, n=1000, **wrong)  # type: ignore[arg-type]


def test_the_least_noise_is_found_in_a_few_looks() -> None:
    """Near a guess, at an edge where delta jumps, and past what is likely far above the target."""
    asked: list[float] = []

    def smooth(scale: float) -> float:
        asked.append(scale)
        return math.exp(-20.0 * scale**2)

    root = math.sqrt(math.log(1e6) / 20.0)
    for start in (root, 1.03 * root, 0.97 * root):
        asked.clear()
        assert root <= smallest_noise(smooth, 1e-6, start, 5e-3) <= 1.005 * root
        assert len(asked) <= 5

    def jumps(scale: float) -> float:
        asked.append(scale)
        return 1e-8 if scale >= 2.0 / 3.0 else 1e-2

    for start, most in ((2.0 / 3.0, 2), (1.0, 6)):
        asked.clear()
        found = smallest_noise(jumps, 1e-6, start, 5e-3, edge=2.0 / 3.0)
        assert 2.0 / 3.0 <= found <= 1.005 * 2.0 / 3.0
        assert len(asked) <= most
    asked.clear()
    smallest_noise(jumps, 1e-6, 2.0 / 3.0, 5e-3, likely=lambda x: 1.0 if x < 0.66 else 0.0)
    assert min(asked) > 0.65

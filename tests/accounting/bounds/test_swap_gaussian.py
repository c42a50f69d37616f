"""The swap bound for Gaussian reports: never below what data sets leak, and near what it should be."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.bounds.blanket import dataset_curve
from shuffledp.accounting.bounds.gaussian_triangle import triangle
from shuffledp.accounting.bounds.swap_gaussian import GaussianSwap, _Crowd, _Moved, _Window
from shuffledp.accounting.curves import NEVER
from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.randomizers import (
    CheckIn,
    Gaussian,
    GaussianVector,
    Repeated,
    Subsampled,
    VictimPair,
)
from shuffledp.accounting.randomizers.outcomes import Outcomes
from shuffledp.accounting.randomizers.triples import triple_classes
from shuffledp.errors import ParameterError, RegimeError
from shuffledp.numerics.ratio_laws import cell_edges, whole_line
from tests.oracles.swap_gaussian import delta_below, float_delta

SPACES = {"set": {}, "ball": {"ball": True}, "line": {"scalar": True}}


def _points(space: str, diameter: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """So many values of a domain, in two or three dimensions."""
    dimensions = 1 if space == "line" else int(rng.integers(2, 4))
    points = rng.standard_normal((count, dimensions))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points *= np.where(rng.random((count, 1)) < 0.6, 1.0, rng.random((count, 1)))
    if space != "set":
        return 0.5 * diameter * points
    widest = max(np.linalg.norm(p - q) for p in points for q in points)
    return diameter / widest * points


def _scene(first: np.ndarray, second: np.ndarray, other: np.ndarray) -> VictimPair:
    """All others at one value, reports told apart by cells of the plane: leaks less than the truth."""
    m, d = 0.5 * (first + second) - other, 0.5 * (first - second)
    half = math.sqrt(d @ d)
    along = float(m @ d) / half if half else 0.0
    across = math.sqrt(max(m @ m - along**2, 0.0))
    s, t = along + half, along - half
    low, high = min(0.0, s, t), max(0.0, s, t)
    x = cell_edges(low - 4.0, high + 4.0, low - 8.0, high + 8.0, 0.15)
    y = cell_edges(-4.0, across + 4.0, -8.0, across + 8.0, 0.3)
    a, b, r = (whole_line(x, centre) for centre in (s, t, 0.0))
    up, flat = whole_line(y, across), whole_line(y, 0.0)
    outcomes = Outcomes.discrete(
        *(np.multiply.outer(p, q).ravel() for p, q in ((a, up), (b, up), (r, flat))),
        precision=1e-10,
    )
    return VictimPair("two values", "one other", outcomes)


@pytest.mark.parametrize("space", SPACES)
def test_no_position_of_the_others_leaks_more(space: str) -> None:
    """All others at one value, the victim's two anywhere: random, and at the worst places known."""
    rng = np.random.default_rng(11)
    for sigma, n in ((4.0, 300), (1.2, 5000)):
        diameter = 1.0 / sigma
        swap = GaussianSwap(space, diameter, _Crowd(n, 1.0, None))
        triples = [_points(space, diameter, 3, rng) for _ in range(3)]
        end = np.array([0.5 * diameter, 0.0])
        triples += [np.array([-end, end, x]) for x in (end, -end, 0.9 * end)]
        for a, b, x in triples:
            curve = dataset_curve(_scene(a, b, x), n, NEVER)
            for share in (0.3, 2.0):
                epsilon = share * swap.mu
                leaked = curve.enclose(epsilon, 1e-2).lower
                assert leaked <= swap.delta(epsilon, 1e-2)


@pytest.mark.parametrize(("space", "diameter"), [("set", 0.1), ("ball", 0.1), ("line", 0.1)])
def test_a_dozen_users_with_a_dozen_values(space: str, diameter: float) -> None:
    """The bound itself, where hardly anybody reports, against any data sets."""
    rng = np.random.default_rng(12)
    swap = GaussianSwap(space, diameter, _Crowd(12, 1.0, None))
    bounds = [swap.delta(share * swap.mu, 1e-2) for share in (0.0, 1.0)]
    assert bounds[0] < 0.6 * diameter  # says something
    for _ in range(3):
        points = _points(space, diameter, 13, rng)
        for share, bound in zip((0.0, 1.0), bounds, strict=True):
            leaked = delta_below(points[0], points[1], points[2:], share * swap.mu, rng, 200)
            assert leaked <= bound


def _small(cases: int, seed: int) -> None:
    """Everybody, those checked in, some drawn; both orders of the victim's values."""
    rng = np.random.default_rng(seed)
    for case in range(cases):
        space = str(rng.choice(list(SPACES)))
        n, sigma = int(rng.integers(2, 5)), float(np.exp(rng.uniform(-1.0, 2.0)))
        points = _points(space, 1.0 / sigma, n + 1, rng)
        epsilon = float(rng.uniform(0.0, 1.5) / sigma)
        inner = Gaussian(sigma, 1.0, **SPACES[space])
        rate, drawn, randomizer = 1.0, None, inner
        if case % 3 == 1:
            rate = float(rng.uniform(0.1, 0.9))
            randomizer = CheckIn(inner, rate)
        elif case % 3 == 2 and n > 2:
            drawn = int(rng.integers(1, n))
            randomizer = Subsampled(inner, drawn)
        proven = Shuffled(randomizer, n).guaranteed(epsilon=epsilon).value
        for a, b in ((0, 1), (1, 0)):
            leaked = delta_below(
                points[a], points[b], points[2:], epsilon, rng, 1000, rate=rate, drawn=drawn
            )
            assert leaked <= proven


def test_few_users_of_any_values() -> None:
    _small(24, 13)


@pytest.mark.slow
def test_few_users_of_any_values_in_a_thousand_cases() -> None:
    _small(1000, 14)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_each_step_of_the_proof_at_few_users(n: int) -> None:
    """delta <= Pr_a[T < least] + Pr_a[g > cap] + E(Y + sum of W)+ / least, for any least > cap, simulated."""
    rng = np.random.default_rng(20 + n)
    samples = 40_000
    for case in range(6):
        points = _points("ball", 0.8, n + 1, rng)
        a, b, others = points[0], points[1], points[2:]
        c, d = 0.5 * (a + b), 0.5 * (a - b)
        epsilon, cap = (0.0, 0.1)[case % 2], (0.3, 0.8, 0.2)[case % 3]
        least, e = cap + (0.4, 1.0)[case % 2], math.exp(epsilon)

        def ratio(top: np.ndarray, bottom: np.ndarray, z: np.ndarray) -> np.ndarray:
            return np.exp(
                0.5 * ((z - bottom) ** 2).sum(axis=-1) - 0.5 * ((z - top) ** 2).sum(axis=-1)
            )

        own = c + rng.standard_normal((samples, len(c)))
        z = others + rng.standard_normal((samples, *others.shape))
        alpha, beta = ratio(a, others, z), ratio(b, others, z)
        g, v = ratio(c, others, z), alpha - e * beta
        k = math.exp(0.5 * d @ d - 0.5 * epsilon) / (least - cap)
        # one normal variable moves the victim's own report and what it makes of the others
        own_z = rng.standard_normal(samples)
        third = max(np.linalg.norm(c - x) for x in others)
        half = math.sqrt(d @ d)
        share = np.exp(np.maximum(0.0, third * own_z + 0.5 * third**2)) / least
        share = (share / (1.0 + share))[:, None]
        first = np.exp(half * own_z - 0.5 * half**2) - e * np.exp(-half * own_z - 0.5 * half**2)
        w = np.where(v > 0.0, v, (1.0 - share) * v) + k * 2.0 / math.sqrt(27.0) * alpha**2
        inside = np.maximum(first + w.sum(axis=1), 0.0) / least
        # under the victim's first value: the report exchanged, T after it
        y = a + rng.standard_normal((samples, len(c)))
        weights = np.concatenate([np.ones((samples, 1)), g], axis=1)
        pick = (
            rng.random((samples, 1)) * weights.sum(axis=1, keepdims=True)
            > np.cumsum(weights, axis=1)
        ).sum(axis=1)
        there = np.stack([ratio(c, x, y) for x in others], axis=1)
        at = np.maximum(pick - 1, 0)
        rows = np.arange(samples)
        total = 1.0 + g.sum(axis=1) + np.where(pick > 0, there[rows, at] - g[rows, at], 0.0)
        rare = (total < least).mean() + ((pick > 0) & (there[rows, at] > cap)).mean()
        bound = inside.mean() + 4.5 * inside.std() / math.sqrt(samples) + rare + 0.02
        assert delta_below(a, b, others, epsilon, rng, samples) <= bound
        del own


def test_windows_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(15)
    (first, *_) = triple_classes("ball", 1.0, 4e-3)
    for crowd in (_Crowd(400, 1.0, None), _Crowd(400, 0.3, None), _Crowd(400, 1.0, 100)):
        window = _Window.of(first, crowd, math.log(1e-2))
        assert window is not None
        samples = 20_000
        logs = rng.standard_normal((samples, crowd.others)) * first.third - 0.5 * first.third**2
        g = np.where(rng.random(logs.shape) < crowd.rate, np.exp(logs), 1.0)
        total = 1.0 + crowd.silent + np.minimum(g, window.cap).sum(axis=1) - window.cap
        assert (total < window.least).mean() <= 1.3e-2
        assert window.least >= crowd.n - window.cap - 4.2 * math.sqrt(
            crowd.others * crowd.rate * math.expm1(first.third**2)
        )
        victim = first.third * (rng.standard_normal(200_000) + 0.5 * first.third + first.half)
        missed = crowd.participation * (victim > math.log(window.cap)).mean()
        assert math.exp(window.log_cost) >= 1e-2 + 0.9 * missed


@pytest.mark.parametrize(("sigma", "n", "epsilon"), [(1.0, 100_000, 0.0131), (2.5, 20_000, 0.008)])
def test_near_the_bound_in_floating_point(sigma: float, n: int, epsilon: float) -> None:
    swap = GaussianSwap("ball", 1.0 / sigma, _Crowd(n, 1.0, None))
    found = swap.delta(epsilon, 2e-3)
    plain = float_delta(1.0 / sigma, n, epsilon, 1e-4 * found)
    assert 0.97 * plain <= found <= 1.1 * plain


@pytest.mark.parametrize(
    ("randomizer", "n", "delta", "ratio"),
    [
        (Gaussian(1.0, 1.0, ball=True), 100_000, 1e-6, 1.02),
        (Gaussian(1.0, 1.0), 100_000, 1e-6, 1.02),
        (Gaussian(10.0, 1.0, scalar=True), 100_000, 1e-6, 1.02),
        (Gaussian(2.0, 1.0), 10_000, 1e-6, 1.10),
        (CheckIn(Gaussian(5.0, 1.0, ball=True), 0.1), 60_000, 1.0 / 60_000, 1.05),
        (Subsampled(Gaussian(2.0, 1.0, ball=True), 1000), 100_000, 1e-6, 1.05),
        (Gaussian(3.0, 1.0, ball=True), 100_000, 1e-30, 1.02),
        (Gaussian(2.5, 1.0, ball=True), 100, 1e-6, 1.25),
    ],
)
def test_both_ends_nearly_meet(randomizer, n: int, delta: float, ratio: float) -> None:
    found = Shuffled(randomizer, n).epsilon(delta)
    assert found.theorem == "swap-gaussian"
    assert 1.0 <= found.upper / found.lower <= ratio


def test_check_in_over_thousands_of_rounds() -> None:
    """Check-in 0.1, sigma 5, 5,540 rounds of 60,000 users: what was published without a proof, proven."""
    rounds = Repeated(CheckIn(Gaussian(5.0, 1.0, ball=True), 0.1), 5540)
    found = Shuffled(rounds, 60_000).epsilon(1.0 / 60_000)
    assert 1.0 <= found.upper / found.lower <= 1.05
    assert found.upper < 0.056


def test_three_domains_three_answers() -> None:
    """A set holds the ball's worst triples and more; on a line, in a ball the same two values are worst."""
    delta, n = 1e-6, 100_000
    curve = {
        space: get_bound("swap-gaussian").curve(Gaussian(1.0, 1.0, **said), n)
        for space, said in SPACES.items()
    }
    proven = {space: found.epsilon(delta) for space, found in curve.items()}
    assert proven["line"] <= proven["ball"] * 1.001 < proven["set"]
    # what the triangle leaks is more than a ball's guarantee: the two must not be mixed up
    leaked = Shuffled(Gaussian(1.0, 1.0), n).bound("shuffle-gaussian-triangle", delta=delta).value
    assert leaked == pytest.approx(0.014618, rel=3e-3, abs=0.0)
    assert proven["ball"] < leaked < proven["set"]
    with pytest.raises(RegimeError):
        Shuffled(Gaussian(1.0, 1.0, ball=True), n).bound("shuffle-gaussian-triangle", delta=delta)


def test_triangle_leaks_what_a_simulation_finds() -> None:
    outcomes = triangle(1.0)
    assert outcomes.base.sum() == pytest.approx(1.0)
    corners = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, -math.sqrt(0.75)]])
    rng = np.random.default_rng(16)
    proven = Shuffled(Gaussian(1.0, 1.0), 4).bound("shuffle-gaussian-triangle", epsilon=0.2).value
    found = delta_below(corners[0], corners[1], np.repeat(corners[2:], 3, axis=0), 0.2, rng, 60_000)
    assert found <= proven * 1.005
    assert proven <= found + 0.02


@pytest.mark.parametrize("sigma", [0.199, 1.01e4])
def test_triangle_refuses_outside_its_regime(sigma: float) -> None:
    with pytest.raises(RegimeError, match="shuffle-gaussian-triangle"):
        get_bound("shuffle-gaussian-triangle").curve(Gaussian(sigma, 1.0), 100)


def test_where_values_lie() -> None:
    assert Gaussian(1.0).space == "set"
    assert Gaussian(1.0, ball=True).space == "ball"
    assert Gaussian(1.0, scalar=True).space == "line"
    assert GaussianVector(1.0, dimensions=3).space == "ball"
    with pytest.raises(ParameterError, match="ball"):
        Gaussian(1.0, scalar=True, ball=True)


@pytest.mark.parametrize(
    "randomizer",
    [Gaussian(0.1, 1.0), CheckIn(Gaussian(1.0, 1.0), 1e-7), Repeated(Gaussian(1.0), 2)],
)
def test_outside_the_regime(randomizer) -> None:
    with pytest.raises(RegimeError):
        get_bound("swap-gaussian").curve(randomizer, 1000)


def test_too_few_users() -> None:
    with pytest.raises(RegimeError, match="n >= 10"):
        get_bound("swap-gaussian").curve(Gaussian(1.0, 1.0), 9)


def test_delta_does_not_rise_with_epsilon_and_never_vanishes() -> None:
    """Where single reports matter most, too: there smaller epsilons answer."""
    swap = GaussianSwap("line", 0.8, _Crowd(300, 1.0, None))
    found = [swap.delta(share * swap.mu, 1e-2) for share in (0.0, 1.0, 3.0, 6.0, 12.0, 50.0, 200.0)]
    assert all(x >= 0.5 * y > 0.0 for x, y in itertools.pairwise(found))
    assert found[-1] == found[-2] < 0.1


@pytest.mark.parametrize(("space", "crowd"), [("set", (100_000, 1.0)), ("ball", (60_000, 0.1))])
def test_where_hardly_a_window_is_left(space: str, crowd: tuple[int, float]) -> None:
    """In whatever order epsilons come: never below what the pair leaks, never above a smaller one's."""
    n, rate = crowd
    inner = Gaussian(1.0, 1.0, **SPACES[space])
    protocol = Shuffled(CheckIn(inner, rate) if rate < 1.0 else inner, n)
    swap = GaussianSwap(space, 1.0, _Crowd(n, rate, None))
    for share in (10.0, 30.0, 8.2, 14.0, 10.1):
        epsilon = share * swap.mu
        assert swap._aim(epsilon) < swap._least_charge
        leaked = protocol.bound("shuffle-gaussian", epsilon=epsilon).value
        assert leaked <= swap.delta(epsilon, 2e-3) <= 1e-7
    found = [swap.delta(share * swap.mu, 1e-2) for share in (8.2, 10.0, 14.0, 30.0)]
    assert all(x >= y > 0.0 for x, y in itertools.pairwise(found))


def test_values_cut_off_keep_their_weight(monkeypatch) -> None:
    """What lies beyond the last place kept is put there, and what that takes away is charged."""
    whole = _Moved._capped
    seen = []

    def watched(self, places, rows, excess):
        kept = whole(self, places, rows, excess)
        seen.append((self, places, rows, excess, kept))
        return kept

    monkeypatch.setattr(_Moved, "_capped", watched)
    Shuffled(Gaussian(1.0, 1.0, ball=True), 20_000).bound("swap-gaussian", epsilon=0.03)
    assert seen
    for moved, places, rows, excess, (used, kept, charged) in seen:
        assert kept.sum(axis=1) == pytest.approx(rows.sum(axis=1), rel=1e-12, abs=0.0)
        lost = (np.maximum(places - used[-1], 0.0) * rows).sum(axis=1).max()
        scale = moved.crowd.rate * moved.crowd.others / moved.unit
        assert charged >= excess + lost * scale * (1.0 - 1e-12)

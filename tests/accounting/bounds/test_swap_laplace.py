"""The swap bound of Laplace noise: every triple of values, also between those computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import (
    CheckIn,
    DiscreteLaplace,
    Laplace,
    Shuffled,
)
from shuffledp.accounting.bounds import laplace_triples, swap_laplace
from shuffledp.accounting.bounds.identity import delta_lower
from shuffledp.accounting.bounds.laplace_lines import lines, moment, square_of_ratio

TINY = 1.0 + 1e-9
"""The oracles' own rounding."""


def _laplace_cells(eps0: float, centre: float, places):
    """Masses of Laplace noise on [0, 1], the ends holding what is beyond, and ratios to it."""
    y = np.linspace(0.0, 1.0, 20001)
    y = 0.5 * (y[1:] + y[:-1])
    mass = 0.5 * eps0 * np.exp(-eps0 * np.abs(y - centre)) / y.size
    ends = [0.5 * math.exp(-eps0 * centre), 0.5 * math.exp(-eps0 * (1.0 - centre))]
    mass = np.concatenate([ends[:1], mass, ends[1:]])
    y = np.concatenate([[0.0], y, [1.0]])
    logs = [eps0 * (np.abs(y - centre) - np.abs(y - place)) for place in places]
    return mass / mass.sum(), [np.exp(log) for log in logs]


def _geometric(eps0: float, levels: int, centre: float, places):
    """The same of discrete noise, far enough beyond the ends."""
    y = np.arange(-40 * levels, 41 * levels + 1) / levels
    mass = math.tanh(0.5 * eps0 / levels) * np.exp(-eps0 * np.abs(y - centre))
    return mass, [np.exp(eps0 * (np.abs(y - centre) - np.abs(y - place))) for place in places]


@pytest.mark.parametrize(
    ("eps0", "n", "rate", "levels"),
    [
        (0.5, 1000, 1.0, None),
        (1.0, 10**4, 0.2, None),
        (3.5, 800, 0.03, None),
        (4.0, 10**5, 1.0, None),
        (7.0, 10**7, 0.3, None),
        (11.0, 10**10, 1.0, None),
        (1.0, 10**4, 1.0, 25),
        (3.0, 10**4, 0.5, 61),
        (4.0, 10**5, 1.0, 200),
    ],
)
def test_laplace_bounds_hold_for_every_triple(
    eps0: float, n: int, rate: float, levels: int | None
) -> None:
    """Top, spread and quartic against quadrature, for random values of victim and others."""
    rng = np.random.default_rng(5)
    epsilon = Shuffled(CheckIn(Laplace(eps0=eps0), rate), n).bound("dataset", delta=1e-6).value
    e, lam, window = math.exp(epsilon), 1.02 / n, 0.9 * n
    step = 1.0 / levels if levels else 0.0
    for near, far in ((0.96, 1.0), (0.6, 0.8), (0.0, 1.0)):
        cells = laplace_triples.triples(eps0, near, far)
        moved = swap_laplace._moved(cells, eps0, e, window, step)
        tilted = swap_laplace._Tilted(cells, moved, eps0, rate, e, lam, step)
        theta = min(tilted._best_theta(n - 1), swap_laplace._STEEPEST / tilted.widest)
        left, right = tilted._ends(theta)
        assert left != right
        least, most = swap_laplace._swap_range(cells, eps0, step)
        for _ in range(40):
            d = rng.uniform(near, far)
            first = rng.uniform(0.0, 1.0 - d)
            third = rng.choice([0.0, 1.0, rng.uniform()])
            if levels:
                d = round(d * levels) / levels
                if not near <= d <= far:
                    continue
                first = rng.integers(0, round((1.0 - d) * levels) + 1) / levels
                third = round(third * levels) / levels
                middle = math.floor((first + 0.5 * d) * levels + 1e-9) / levels
                mass, (a, b, g) = _geometric(eps0, levels, third, (first, first + d, middle))
            else:
                mass, (a, b, g) = _laplace_cells(eps0, third, (first, first + d, first + 0.5 * d))
            top, spread, quartic = left if third < first + 0.5 * d else right
            v, g, p = (
                np.append(x, y)
                for x, y in ((a - e * b, 1.0 - e), (g, 1.0), (rate * mass, 1.0 - rate))
            )
            w = v / (1.0 + (np.where(v > 0.0, least, most) - g) / window)
            grown = p * np.exp(theta * w - lam * g)
            log_m = math.log(grown.sum())
            q = grown / grown.sum()
            centred = w - q @ w
            variance, fourth = float(q @ centred**2), float(q @ centred**4)
            assert log_m <= top + 1e-9 * abs(top)
            assert variance + 2.0 * (top - log_m) / theta**2 >= spread * (1.0 - 1e-6)
            assert (2.0 * fourth + 6.0 * variance**2) / 24.0 <= quartic


@pytest.mark.parametrize("eps0", [0.3, 2.0, 6.0, 11.0])
@pytest.mark.parametrize(("near", "far"), [(0.96, 1.0), (0.3, 0.6), (0.0, 1.0)])
def test_moments_between_triples_of_laplace_reports(eps0: float, near: float, far: float) -> None:
    """Roots of moments of W, and its largest value, at a triple halfway to the next one."""
    e, lam, window, theta = 1.01, 1e-9, 1e9, 1e-3 * math.exp(-eps0)
    cells = laplace_triples.triples(eps0, near, far)
    moved = swap_laplace._moved(cells, eps0, e, window)
    tilted = swap_laplace._Tilted(cells, moved, eps0, 1.0, e, lam)
    steep = theta * tilted.widest + lam * tilted.most
    moments = np.concatenate(
        [tilted._moments(theta, *each) for each in zip(moved.weights, moved.values, strict=True)],
        axis=1,
    )
    roots = [tilted._nearby(moments[k - 2], k, steep, theta) for k in (2, 3, 4)]
    others, pairs = lines(eps0, near, far)
    rng = np.random.default_rng(3)
    for row in rng.choice(others.size + 2 * pairs.size, 40):
        on_others = row < others.size
        at = int((row - others.size) % pairs.size)
        second = far if on_others else pairs[at]
        third = (
            others[row] if on_others else (1.0 if row < others.size + pairs.size else second - 1)
        )
        if on_others:
            third += 0.5 * rng.choice([-1.0, 1.0]) * cells.gap_other[row]
        else:
            moved_by = 0.5 * rng.choice([-1.0, 1.0]) * cells.gap_victim[row]
            second, third = second + moved_by, third + (moved_by if third < 0.0 else 0.0)
        first = max(0.0, -third)
        if not (0.0 <= second <= 1.0 - first and third <= 1.0):
            continue
        mass, (a, b) = _laplace_cells(eps0, third + first, (first, second + first))
        w = a - e * b
        assert np.abs(w).max() <= tilted.widest
        for k, root in zip((2, 3, 4), roots, strict=True):
            assert float(mass @ np.abs(w) ** k) <= root[row] ** k * (1.0 + 1e-6)


@pytest.mark.parametrize("rate", [0.2, 3.0, 10.0])
def test_squares_of_ratios(rate: float) -> None:
    for second, third in ((1.0, 0.0), (0.7, 0.2), (0.4, 1.0), (0.5, -0.3), (0.6, 0.6)):
        first = max(0.0, -third)
        mass, (a, b) = _laplace_cells(rate, third + first, (first, second + first))
        assert square_of_ratio(rate, second, third) == pytest.approx(
            mass @ (a - b) ** 2, rel=1e-4, abs=0.0
        )


@pytest.mark.parametrize(("rate", "distance"), [(0.3, 0.5), (2.0, 1.0), (6.0, 0.7)])
@pytest.mark.parametrize("step", [0.0, 0.01])
def test_the_widest_law_of_swaps(rate: float, distance: float, step: float) -> None:
    """Of mean 1, and above the law of rho / r in convex order; on a grid still wider."""
    law = swap_laplace._swap_law(rate, distance, step)
    assert law.mass.sum() == pytest.approx(1.0, rel=1e-12, abs=0.0)
    assert law.mass @ law.swap == pytest.approx(1.0, rel=1e-9, abs=0.0)
    mass, (g,) = _laplace_cells(rate, 0.0, (distance,))
    for t in np.linspace(0.5 * law.swap.min(), law.swap.max(), 40):
        truth = float(mass @ np.maximum(g - t, 0.0))
        found = float(law.mass @ np.maximum(law.swap - t, 0.0))
        assert truth * (1.0 - 1e-6) <= found
        assert step > 0.0 or found <= truth + 1e-3


@pytest.mark.parametrize("rate", [0.1, 1.0, 4.0])
def test_moments_of_the_farthest_ratio(rate: float) -> None:
    mass, (ratio,) = _laplace_cells(rate, 1.0, (0.0,))
    for k in (2, 3, 4):
        exact = float(mass @ ratio**k)
        assert exact * (1.0 - 1e-6) <= moment(rate, k) <= exact * (1.0 + 1e-6)


@pytest.mark.parametrize("lam", [1e-3, 0.02, 0.4])
@pytest.mark.parametrize("eps0", [0.3, 2.0])
def test_wide_cells_of_laplace_reports_lie_above(
    eps0: float, lam: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of M - 1 and of E W e^(-lam g), where cells and decays are so large that slips show."""
    monkeypatch.setattr(laplace_triples, "_CELL", 100.0)  # as few as there may be
    cells = laplace_triples.triples.__wrapped__(eps0, 0.9, 1.0)
    e, window, rate = 1.1, 12.0 * math.exp(eps0), 0.8
    moved = swap_laplace._moved(cells, eps0, e, window)
    tilted = swap_laplace._Tilted(cells, moved, eps0, rate, e, lam)
    least, most = swap_laplace._swap_range(cells, eps0, 0.0)
    for theta in (1e-3, 0.1, 0.5 / tilted.widest):
        found = tilted._rises(theta, theta * tilted.widest)
        others = lines(eps0, 0.9, 1.0)[0]
        for at in (0, len(others) // 3, len(others) // 2, len(others) - 1):
            mass, (a, b, g) = _laplace_cells(eps0, others[at], (0.0, 1.0, 0.5))
            v, g, p = (
                np.append(x, y)
                for x, y in ((a - e * b, 1.0 - e), (g, 1.0), (rate * mass, 1.0 - rate))
            )
            w = v / (1.0 + (np.where(v > 0.0, least, most) - g) / window)
            truth = float(p @ np.expm1(theta * w - lam * g))
            assert truth <= found[at] + 1e-7 * abs(truth)
            drift = float(p @ (w * np.exp(-lam * g)))
            low, high = tilted.drift
            assert low - 1e-7 <= drift <= high + 1e-7


def test_every_share_of_others_left_of_the_middle_is_covered() -> None:
    """The bound on (sum of W)+ against the integral of each mixture's own moduli."""
    eps0, m, e = 3.0, 3000, 1.2
    lam, window = 1.0 / m, 0.9 * m
    cells = laplace_triples.triples(eps0, 0.96, 1.0)
    moved = swap_laplace._moved(cells, eps0, e, window)
    tilted = swap_laplace._Tilted(cells, moved, eps0, 1.0, e, lam)
    least, most = swap_laplace._swap_range(cells, eps0, 0.0)
    bound = tilted.log_excess(m)
    theta = min(tilted._best_theta(m), swap_laplace._STEEPEST / tilted.widest)
    t = np.linspace(0.0, 40.0 * theta, 801)
    logs = []
    for place in (0.0, 1.0):
        mass, (a, b, g) = _laplace_cells(eps0, place, (0.0, 1.0, 0.5))
        v = a - e * b
        w = v / (1.0 + (np.where(v > 0.0, least, most) - g) / window)
        parts = mass * np.exp(theta * w - lam * g)
        logs.append(np.array([math.log(abs(complex(parts @ np.exp(1j * x * w)))) for x in t]))
    mass, (a, b) = _laplace_cells(eps0, 0.5, (0.0, 1.0))
    own = math.log(float(mass @ np.exp(theta * (a - e * b))))
    found = []
    for share in np.linspace(0.0, 1.0, 33):
        moduli = np.exp(m * (share * logs[0] + (1.0 - share) * logs[1])) / (theta**2 + t**2)
        found.append(own + math.log(float(np.trapezoid(moduli, t)) / math.pi))
    assert max(found) <= bound <= max(found) + 0.5


@pytest.mark.parametrize(("eps0", "levels", "n"), [(1.0, 50, 10**4), (2.0, 1024, 10**5)])
def test_above_what_values_of_a_grid_leak(eps0: float, levels: int, n: int) -> None:
    """Others at any place; tight, so that a percent lost anywhere shows."""
    randomizer = DiscreteLaplace(levels, eps0=eps0)
    found = Shuffled(randomizer, n).epsilon(1e-6)
    assert found.theorem == "swap-laplace"
    for share in np.linspace(0.0, 1.0, 5).tolist():
        place = round(share * levels)
        for scene in randomizer.datasets([place]):
            for outcomes in (scene.outcomes, scene.outcomes.swapped()):
                for epsilon in (0.0, 0.5 * found.lower, found.lower):
                    claimed = Shuffled(randomizer, n).bound("swap-laplace", epsilon=epsilon).value
                    assert delta_lower(outcomes, n, epsilon, 1e-3) <= claimed
    assert found.upper <= 1.02 * found.lower


@pytest.mark.parametrize(("rate", "n"), [(1.0, 150), (0.4, 300)])
def test_laplace_windows_hold_as_often_as_they_say(rate: float, n: int) -> None:
    """Others at the farthest place there is, and in the middle: T leaves the window by a swap at most."""
    rng = np.random.default_rng(8)
    eps0, chance, samples = 1.5, 0.02, 20_000
    cells = laplace_triples.triples(eps0, 0.8, 1.0)
    low, high, spread = swap_laplace._window(cells, eps0, rate, n, math.log(chance), 0.0)
    for away in (0.0, 0.3, cells.limit):
        noise = rng.laplace(scale=1.0 / eps0, size=(samples, n - 1))
        g = np.exp(eps0 * (np.abs(noise) - np.abs(noise - away)))
        g = np.where(rng.random(g.shape) < rate, g, 1.0)
        assert g.max() - g.min() <= spread
        total = 1.0 + g.sum(axis=1)
        assert (total < low + spread).mean() <= 0.5 * chance + 0.003
        assert (total > high - spread).mean() <= 0.5 * chance + 0.003
        if away == cells.limit:  # and no wider than it must be
            sd = total.std()
            assert n - 4.0 * sd <= low + spread <= n - sd
            assert n + sd <= high - spread <= n + 5.0 * sd


@pytest.mark.parametrize("worst", range(6))
def test_the_class_that_leaks_most_counts(worst: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever charge, or smaller epsilon, is tried for a class: never less than it leaks."""
    epsilon, rate, n = 0.05, 1.0, 10**4
    classes = list(zip(swap_laplace._CLASSES[1:], swap_laplace._CLASSES[:-1], strict=True))

    def leaked(ends: tuple[float, float], at: float) -> float:
        return math.exp(-40.0 * at) * (1e-3 if ends == classes[worst] else 4e-4)

    def claimed(rate, q, n, at, ends, log_charge, step=0.0):
        return leaked(ends, at) + math.exp(log_charge)

    monkeypatch.setattr(swap_laplace, "_class_delta", claimed)
    swap_laplace._class_before.cache_clear()
    found = swap_laplace.laplace_delta(rate, 1.0, n, epsilon)
    swap_laplace._class_before.cache_clear()
    truth = leaked(classes[worst], epsilon)
    assert truth <= found <= 1.01 * truth

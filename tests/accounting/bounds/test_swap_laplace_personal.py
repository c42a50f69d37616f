"""Laplace noise of hidden budgets: above what any values leak, by quadrature and by data sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from shuffledp import Laplace, LaplaceFamily, Personalized, RegimeError, Shuffled
from shuffledp.accounting.bounds import swap_laplace_personal as own


def _density(rate: float, centre: float, z):
    return 0.5 * rate * np.exp(-rate * np.abs(z - centre))


def _law(victim: float, users: own.LaplaceClass, ends, row: int, d: float, e: float):
    """Masses, V and g of one cell of others' values at a true distance of the victim's, finely."""
    place, half = own._centres(ends[0], users.rate)
    z = np.linspace(-30.0 / users.rate, 1.0 + 30.0 / users.rate, 120_001)
    z = 0.5 * (z[1:] + z[:-1])
    step = z[1] - z[0]
    base = math.exp(-users.rate * half[row]) * _density(users.rate, place[row], z)
    a, b, rho = (_density(victim, x, z) for x in (0.0, d, 0.5 * ends[1]))
    mass = base * step
    v, g = users.weight * (a - e * b) / base, users.weight * rho / base
    return np.append(mass, 1.0 - mass.sum()), np.append(v, 0.0), np.append(g, 0.0)


@pytest.mark.parametrize(
    ("victim", "rate", "n", "seed"),
    [(1.0, 1.0, 10**4, 0), (2.0, 0.5, 1000, 1), (2.0, 1.9, 10**5, 2), (4.0, 1.0, 10**4, 3)],
)
def test_bounds_hold_for_all_values(victim: float, rate: float, n: int, seed: int) -> None:
    """Top, spread, quartic and the moments of g, for random values of the victim and the others."""
    rng = np.random.default_rng(seed)
    users = own.LaplaceClass(rate, n - 1, own.power(victim, victim) / own.power(victim, rate))
    epsilon = 4.0 * math.sqrt(own._square(victim, [users]))
    e, lam, window = math.exp(epsilon), 1.02 / (n * users.weight), 0.9 * n * users.weight
    theta = own._best_theta(victim, [users], epsilon)
    cells = own.distances(victim)
    for ends in (cells[0], cells[len(cells) // 2], cells[-2]):
        found = own._cells(victim, rate, *ends)
        most = users.weight * float(found.swap[1].max())
        law = own._Tilted(found, users, e, window, most)
        rises, (top, spread, quartic) = law.rise(theta, lam), law.log_ends(theta, lam, most)
        for _ in range(4):
            row, d = int(rng.integers(len(rises))), rng.choice([*ends, rng.uniform(*ends)])
            p, v, g = _law(victim, users, ends, row, d, e)
            assert float(g.max()) <= most
            w = np.where(v > 0.0, v / (1.0 - g / window), v / (1.0 + (most - g) / window))
            rise = float(p @ np.expm1(theta * w - lam * g))
            scale = theta**2 * float(p @ v**2)
            assert rise <= rises[row] + 1e-4 * scale
            assert ends != cells[0] or rises[row] <= rise + 0.2 * scale
            grown = p * np.exp(theta * w - lam * g)
            q, log_m = grown / grown.sum(), math.log1p(rise)
            centred = w - q @ w
            variance, fourth = float(q @ centred**2), float(q @ centred**4)
            assert log_m <= top + 1e-4 * scale
            assert variance + 2.0 * (top - log_m) / theta**2 >= spread * (1.0 - 1e-4)
            assert (2.0 * fourth + 6.0 * variance**2) / 24.0 <= quartic
        below, above = own._deviations([found], [users], most, math.log(1e-6))
        for away, sign in ((below, -1.0), (above, 1.0)):  # Chernoff's bound of the true law
            exact = _chernoff(p, sign * (g - users.weight), n - 1, 1e-6)
            assert exact * (1.0 - 1e-3) <= away <= 4.0 * exact


@pytest.mark.parametrize(("victim", "rate"), [(1.0, 1.0), (2.0, 0.7)])
@pytest.mark.parametrize("ends", [(0.2, 0.6), (0.0, 0.1), (0.96, 1.0)])
def test_ratios_lie_in_their_ranges(victim: float, rate: float, ends) -> None:
    rng = np.random.default_rng(9)
    place, half, edges = own._edges(victim, rate, *ends)
    cells = own._cells(victim, rate, *ends)
    for _ in range(300):
        row = int(rng.integers(len(place)))
        z = rng.choice([rng.uniform(-4.0, 5.0), rng.uniform(*ends)])
        d = rng.choice([*ends, rng.uniform(*ends), min(max(z, ends[0]), ends[1])])
        x = float(place[row, 0] + half[row, 0] * rng.uniform(-1.0, 1.0))
        at = int(np.searchsorted(edges[row], z))
        base = math.exp(-rate * half[row, 0]) * _density(rate, place[row, 0], z)
        assert _density(rate, x, z) >= base * (1.0 - 1e-12)
        pairs = ((0.0, cells.first), (d, cells.second), (0.5 * ends[1], cells.swap))
        for centre, (low, high) in pairs:
            ratio = _density(victim, centre, z) / base
            assert low[row, at] * (1.0 - 1e-12) <= ratio <= high[row, at] * (1.0 + 1e-12)


def _chernoff(p, x, m: int, chance: float) -> float:
    tilts = np.geomspace(1e-4, 1.0, 30)
    logs = [m * math.log1p(float(p @ (np.expm1(t * x) - t * x))) for t in tilts]
    return min((log - math.log(chance)) / t for log, t in zip(logs, tilts, strict=True))


def test_cells_cover_all_values() -> None:
    for victim in (0.5, 2.0, 6.0):
        ends = own.distances(victim)
        assert ends[0][1] == 1.0
        assert ends[-1][0] == 0.0
        assert all(one[0] == two[1] for one, two in itertools.pairwise(ends))
        for near, _ in (ends[0], ends[-1]):
            place, half = own._centres(near, victim)
            assert place[0] - half[0] <= near - 1.0 + 1e-12
            assert place[-1] + half[-1] >= 1.0 - 1e-12
            assert (place[1:] - half[1:] <= place[:-1] + half[:-1]).all()


@pytest.mark.parametrize(
    ("eps0", "n", "most"), [(0.5, 10**4, 1.12), (1.0, 10**5, 1.12), (2.0, 10**5, 1.2)]
)
def test_equal_budgets_leak_what_is_proven(eps0: float, n: int, most: float) -> None:
    """Tight: a broken inequality falls below the leak, or far above."""
    users = [own.LaplaceClass(eps0, n - 1, 1.0)]
    for depth in (0.0, 2.0, 4.5):
        epsilon = depth * math.sqrt(own._square(eps0, users))
        leaked = Shuffled(Laplace(eps0=eps0), n).bound("dataset", epsilon=epsilon).value
        assert leaked <= own.laplace_classes_delta(eps0, users, epsilon) <= most * leaked


def test_hidden_budgets_of_numbers() -> None:
    counts = {0.5: 40_000, 1.0: 40_000, 2.0: 20_000}
    found = Personalized(LaplaceFamily(), counts, budgets_visible=False).guarantees(delta=1e-5)
    for each, most in zip(found.classes, (1.5, 1.2, 1.1), strict=True):
        assert each.interval.theorem == "swap-personal"
        assert each.interval.upper <= most * each.interval.lower


def test_fewer_or_sharper_users_hide_less() -> None:
    def delta(rates, counts):
        return own.laplace_classes_curve(1.0, rates, counts).delta(0.05)

    whole = delta([0.5, 1.0], [1500, 1500])
    assert whole < delta([0.5, 1.0], [1500, 1000]) < delta([0.5, 1.0], [1000, 1000])
    assert delta([0.5, 1.0, 3.0], [1500, 1500, 9000]) == whole
    apart = Personalized(LaplaceFamily(), {0.5: 900, 1.0: 900}, budgets_visible=False, colluders=50)
    assert apart._swapped(1, 1).delta(0.05) == delta([0.5, 1.0], [850, 849])


@pytest.mark.parametrize(
    ("victim", "rates", "counts"),
    [
        (1.0, [1.0], [99]),
        (7.0, [1.0], [1000]),
        (1.0, [0.001, 1.0], [500, 500]),
        (1.0, [2.0], [1000]),
        (1.0, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [100] * 7),
    ],
)
def test_refuses_outside_its_regime(victim: float, rates: list[float], counts: list[int]) -> None:
    with pytest.raises(RegimeError):
        own.laplace_classes_curve(victim, rates, counts)


def test_neighbouring_hidden_budgets_are_not_taken_for_the_largest() -> None:
    """Others of the larger rate hide the tails of a smaller one badly: nothing is proven of it."""
    sharp = {float(budget): 1 for budget in np.linspace(50.0, 99.0, 64)}
    many = Personalized(LaplaceFamily(), {1.0: 300, 1.1: 300, **sharp}, budgets_visible=False)
    assert many._class_cuts()[0] == (0, 1)
    with pytest.raises(RegimeError, match=r"one hidden budget.*1 to 1\.1"):
        many._swapped(0, 1)
    assert many._swapped(1, 1).delta(0.1) < 1.0
    found = many.guarantees(epsilon=0.1).classes[0].interval
    assert found.theorem != "swap-personal"
    told = Personalized(LaplaceFamily(), {1.0: 300, 1.1: 300, **sharp}, budgets_visible=True)
    assert told._swapped(0, 1).delta(0.1) < 1.0  # hidden by equals: noise may be added to all

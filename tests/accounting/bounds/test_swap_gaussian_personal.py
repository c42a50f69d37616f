"""Normal noise of one's own level, hidden: every step holds, nothing leaks more, both ends come closer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.accounting.bounds.swap_gaussian import GaussianSwap, _Crowd
from shuffledp.accounting.bounds.swap_gaussian_personal import (
    PersonalGaussianSwap,
    _folded,
    _Group,
    _Moved,
    gaussian_classes_swap,
)
from shuffledp.accounting.protocols import Personalized
from shuffledp.accounting.randomizers.families import GaussianFamily
from shuffledp.accounting.randomizers.noise_ranges import cover
from shuffledp.errors import RegimeError
from shuffledp.numerics.common_parts import Plane, log_density
from tests.oracles.swap_gaussian import delta_below

_REACH = 7.0


def _density(y: np.ndarray, centre: float, deviation: float) -> np.ndarray:
    return np.exp(log_density(y, centre, deviation))


def _groups(diameter: float, deviations: tuple[float, float], step: float = 0.1) -> list[_Group]:
    return [_Group.of(cell, _REACH, step) for cell in cover(diameter, (deviations,), 8e-3).cells]


@pytest.mark.parametrize("deviations", [(0.9, 0.9), (1.0, 1.0), (1.0, 1.2), (3.0, 3.0)])
def test_common_parts_lie_below_all_laws(deviations: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    for (pairs, (ranges,)), group in zip(
        cover(0.6, (deviations,), 8e-3).cells[::3], _groups(0.6, deviations)[::3], strict=True
    ):
        edges = group.along.edges
        for part, law in list(zip(group.parts[0], ranges, strict=True))[::4]:
            assert 0.0 < part.mass.sum() <= 1.0 - 0.5e-4
            y = rng.uniform(edges[:-1], edges[1:])
            centre = _density(y, 0.0, 1.0)
            for _ in range(3):
                m, k = (rng.uniform(*ends) for ends in (law.places, law.deviations))
                assert (centre / _density(y, -m, k) <= part.swap[1] * (1.0 + 1e-12)).all()
            # masses and ratios are those of one measure
            rho = group.along.masses[0]
            assert (part.mass * part.swap[0] <= rho * (1.0 + 1e-9)).all()
            assert (part.mass * part.swap[1] >= rho * (1.0 - 1e-9)).all()
            assert part.swap_mean >= float(rho @ (rho / part.mass)) * (1.0 - 1e-9)
        assert pairs.near <= 0.3 * (1.0 + 1e-12)


@pytest.mark.parametrize("step", [0.1, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_laws_of_others_are_below_those_of_a_range(seed: int, step: float) -> None:
    """E f(V) for convex f, for any values and deviations of others, any pair: below that of a row.

    Also where cells are so wide that little spread within them shows.
    """
    rng = np.random.default_rng(seed)
    diameter, epsilon = float(rng.choice([0.1, 0.3, 0.6])), float(rng.choice([0.0, 0.02]))
    low = float(rng.choice([0.85, 1.0, 2.0]))
    deviations = low, low * float(rng.choice([1.0, 1.2]))
    e, half = math.exp(epsilon), 0.5 * diameter
    groups = _groups(diameter, deviations, step)
    y = np.linspace(-40.0, 40.0, 80_001)
    for near in (half, 0.995 * half, 0.6 * half, 0.05 * half):
        group = next(g for g in groups if g.pairs.near <= near <= g.pairs.far)
        plane = Plane(group.along, group.across, e)
        rows = [part.atoms(plane, 1e12) for part in group.parts[0]]
        for share in (1.0, -1.0, rng.uniform(-1.0, 1.0)):
            m, k = share * (diameter - near), rng.uniform(*deviations)
            r = _density(y, -m, k)
            seen = r > 1e-280
            v = np.where(seen, _density(y, near, 1.0) - e * _density(y, -near, 1.0), 0.0)
            v = v / np.where(seen, r, 1.0)
            width = y[1] - y[0]
            sd = math.sqrt(float(r @ v**2) * width)
            for t in sd * np.array([-1.5, -0.3, 0.0, 0.5, 2.0, 4.0]):
                truth = float(r @ np.maximum(v - t, 0.0)) * width
                above = max(
                    float(w @ np.maximum(x - t, 0.0)) + (1.0 - w.sum()) * max(-t, 0.0)
                    for x, w in rows
                )
                assert truth <= above + 1e-9 * sd


@pytest.mark.parametrize("deviations", [(0.9, 0.9), (1.0, 1.2), (3.0, 3.0)])
def test_each_cell_reaches_as_far_as_its_ratios_do(deviations: tuple[float, float]) -> None:
    """(a - e b) / rho and rho / u of a cell may meet at any of their values, of either sign."""
    group = _groups(0.6, deviations, 0.7)[0]
    plane = Plane(group.along, group.across, 1.05)
    assert plane.low.min() < 0.0 < plane.low.max()
    for part in group.parts[0][::4]:
        low, high = part.atoms(plane, 1e18)[0].reshape(2, *plane.low.shape)
        for ratio in part.swap:
            there = plane.low * ratio[:, None], plane.high * ratio[:, None]
            assert (low <= there[0] + 1e-9 * np.abs(there[0])).all()
            assert (high >= there[1] - 1e-9 * np.abs(there[1])).all()


def test_windows_hold_as_often_as_they_say() -> None:
    """T of users anywhere, common parts and all."""
    rng = np.random.default_rng(3)
    swap = gaussian_classes_swap(0.5, 0.5, np.array([0.5, 0.25]), np.array([150, 250]))
    moved = _Moved(swap, 0.05, math.log(1e-2), 1e-2)
    group = moved.groups[0]
    samples, total = 4000, np.full(4000, swap.own - float(moved.caps.max()))
    for weight, parts, each in zip(swap.weights, group.parts, swap.classes, strict=True):
        part = max(parts, key=lambda x: x.swap_mean)
        chances = np.append(part.mass, 1.0 - part.mass.sum())
        g = np.append(weight * part.swap[0], 0.0)  # not more than the truth
        cells = rng.choice(len(g), size=(samples, each.count), p=chances / chances.sum())
        total += g[cells].sum(axis=1)
    assert 0.0 < moved.window < swap.centre
    assert (total < moved.window).mean() <= 0.02 + 1e-2


def test_equal_noise_is_the_bound_of_equals() -> None:
    """Two proofs and two programs: the same number."""
    n, strength = 50_000, 0.4
    swap = gaussian_classes_swap(strength, strength, np.array([strength]), np.array([n - 1]))
    equals = GaussianSwap("line", strength, _Crowd(n, 1.0, None))
    assert swap.mu == pytest.approx(equals.mu, rel=2e-3, abs=0.0)
    for share in (1.0, 4.0):
        epsilon = share * equals.mu
        assert swap.delta(epsilon, 2e-3) == pytest.approx(
            equals.delta(epsilon, 2e-3), rel=0.08, abs=0.0
        )


@pytest.mark.parametrize(
    ("budgets", "ratios"),
    [
        ({1.0: 3000, 2.0: 1000}, (1.08, 1.10)),
        ({0.5: 10_000, 1.0: 5000, 4.0: 500}, (1.1, 1.13, 1.2)),
    ],
)
def test_both_ends_come_close(budgets: dict[float, int], ratios: tuple[float, ...]) -> None:
    ours = Personalized(GaussianFamily(), budgets, deltas=1e-6, budgets_visible=False)
    found = ours.guarantees(delta=1e-6).classes
    assert found[1].interval.upper_end.theorem == "swap-personal"
    for each, ratio in zip(found, ratios, strict=True):
        assert 1.0 <= each.interval.upper / each.interval.lower <= ratio


def _crowds(seed: int, cases: int) -> None:
    """Ends that cross raise an error: what data sets of any such crowd leak stays below the bound."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        kinds = int(rng.integers(2, 4))
        budgets = np.exp(rng.uniform(-1.0, 1.6, kinds)).round(3)
        counts = (10 ** rng.uniform(1.0, 3.5, kinds)).astype(int)
        ours = Personalized(
            GaussianFamily(),
            dict(zip(budgets.tolist(), counts.tolist(), strict=True)),
            deltas=float(10 ** rng.uniform(-9.0, -3.0)),
            budgets_visible=False,
            colluders=int(rng.integers(0, 3)),
        )
        for found in (ours.guarantees(delta=1e-6), ours.guarantees(epsilon=0.05)):
            for each in found.classes:
                assert each.interval.lower <= each.interval.upper


def test_random_crowds() -> None:
    _crowds(4, 1)


@pytest.mark.slow
def test_random_crowds_in_bulk() -> None:
    _crowds(5, 150)


def _few(seed: int, cases: int) -> None:
    """Two to four users of any noise, simulated."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        n = int(rng.integers(2, 5))
        budgets = np.exp(rng.uniform(-0.5, 2.5, n))
        sigma = math.sqrt(2.0 * math.log(1.25 / 1e-6)) / budgets
        values = np.where(rng.random(n + 1) < 0.6, rng.integers(0, 2, n + 1), rng.random(n + 1))
        epsilon = float(rng.uniform(0.0, 1.0) / sigma[0])
        ours = Personalized(GaussianFamily(), budgets, deltas=1e-6, budgets_visible=False)
        classes = ours.guarantees(epsilon=epsilon).classes
        mine = min(classes, key=lambda each: abs(each.eps0 - budgets[0]))
        points = values[:, None]
        for a, b in ((0, 1), (1, 0)):
            leaked = delta_below(
                points[a], points[b], points[2:], epsilon, rng, 1000, deviations=sigma
            )
            assert leaked <= mine.interval.upper


def test_few_users_of_any_noise() -> None:
    _few(7, 6)


@pytest.mark.slow
def test_few_users_of_any_noise_in_bulk() -> None:
    _few(8, 300)


def test_fewer_users_and_neighbouring_victims_are_guaranteed_less() -> None:
    others, counts = np.array([0.2, 0.4]), np.array([2000, 500])
    plain = gaussian_classes_swap(0.4, 0.4, others, counts)
    epsilon = 3.0 * plain.mu
    for other in (
        gaussian_classes_swap(0.4, 0.4, others, counts, gone=100),
        gaussian_classes_swap(0.4, 0.38, others, counts),
    ):
        assert other.delta(epsilon, 1e-2) > plain.delta(epsilon, 1e-2)
    sharp = gaussian_classes_swap(0.4, 0.4, np.array([0.2, 0.4, 2.0]), np.array([2000, 500, 9000]))
    assert len(sharp.classes) == 2  # who has far less noise than the victim does not hide it


def test_many_levels_are_few_classes() -> None:
    rng = np.random.default_rng(6)
    others = np.sort(rng.uniform(0.1, 0.4, 500))
    swap = gaussian_classes_swap(0.4, 0.4, others, np.full(500, 10))
    assert len(swap.classes) <= 6
    assert swap.counts.sum() == 5000
    low, high = (f(x.deviations[i] for x in swap.classes) for i, f in ((0, min), (1, max)))
    assert low <= 0.4 / others[-1]
    assert high >= 0.4 / others[0]


def test_outside_the_regime() -> None:
    for strength, count in ((3.0, 1000), (1e-5, 1000), (0.5, 50)):
        with pytest.raises(RegimeError):
            gaussian_classes_swap(strength, strength, np.array([strength]), np.array([count]))


def test_folded_distances() -> None:
    for z in (-3.0, 0.0, 1.0, 6.0):
        t = _folded(z)
        assert math.erfc(t / math.sqrt(2.0)) <= 0.5 * math.erfc(z / math.sqrt(2.0))


def test_no_window_no_answer() -> None:
    """Deep in the tails few users leave no room: 1, not an error."""
    swap = gaussian_classes_swap(1.0, 1.0, np.array([1.0]), np.array([120]))
    assert isinstance(swap, PersonalGaussianSwap)
    assert swap.delta(19.0, 1e-2) <= 1.0
    assert swap.delta(21.0, 1e-2) == 1.0

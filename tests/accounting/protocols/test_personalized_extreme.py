"""Budgets from 1e-9 to 700, few users: an answer that holds, or an error of ours."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import InternalError, ShuffleDPError
from shuffledp.accounting.protocols import Personalized
from shuffledp.accounting.randomizers.families import (
    Family,
    GaussianFamily,
    KRRFamily,
    LaplaceFamily,
)
from tests.oracles.personalized import worst_delta


def _simulated(laplace: bool, strong: float, weak: float, n: int, epsilon: float) -> float:
    """delta of "the others at 0, the victim at 0 or 1" from 20,000 drawn outputs, less 6 deviations.

    The sum over i of a(y_i) / c(y_i) is the density of the shuffled reports over that of n others.
    """
    rng = np.random.default_rng(1)
    draw = rng.laplace if laplace else rng.normal
    y = draw(0.0, 1.0, (20_000, n)) / weak
    y[:, 0] = draw(0.0, 1.0, 20_000) / strong

    def log_density(strength: float, at: float) -> np.ndarray:
        x = np.abs(strength * (y - at))
        return -x if laplace else -0.5 * x**2

    c = log_density(weak, 0.0)
    ratio = [np.logaddexp.reduce(log_density(strong, at) - c, axis=1) for at in (0.0, 1.0)]
    values = np.maximum(-np.expm1(epsilon - (ratio[0] - ratio[1])), 0.0)
    return float(values.mean() - 6.0 * values.std() / math.sqrt(values.size))


@pytest.mark.parametrize(
    ("family", "budgets", "epsilons"),
    [
        (LaplaceFamily(), [0.1, 0.1, 70.0], (60.0, 69.0)),
        (GaussianFamily(), [1.0] * 5 + [60.0], (60.0, 80.0)),
        (GaussianFamily(), [0.5] * 3 + [40.0], (40.0,)),
    ],
)
def test_a_large_budget_is_not_forgotten(
    family: Family, budgets: list[float], epsilons: tuple[float, ...]
) -> None:
    deltas = None if family.pure else 1e-5
    users = Personalized(family, budgets, budgets_visible=False, deltas=deltas)
    unit = 1.0 if family.pure else math.sqrt(2.0 * math.log(1.25 / 1e-5))
    for epsilon in epsilons:
        leaked = _simulated(
            family.pure, budgets[-1] / unit, budgets[0] / unit, len(budgets), epsilon
        )
        assert leaked > 1e-3
        assert users.guarantees(epsilon=epsilon).classes[-1].interval.upper >= leaked
    for delta in (1e-6, 1e-30):
        assert users.guarantees(delta=delta).classes[-1].interval.upper > epsilons[-1]


@pytest.mark.parametrize("budget", [65.0, 299.0])
def test_one_user_leaks_as_the_report_does(budget: float) -> None:
    alone = Personalized(KRRFamily(2), [budget], budgets_visible=False)
    truth = -math.expm1(-1.0)
    assert alone.guarantees(epsilon=budget - 1.0).worst.interval.upper == pytest.approx(truth)
    assert alone.guarantees(delta=1e-6).worst.interval.upper == pytest.approx(
        budget, rel=1e-6, abs=0.0
    )
    assert alone.guarantees(epsilon=1e5).worst.interval.upper == 0.0


@pytest.mark.parametrize(
    ("family", "most"), [(KRRFamily(3), 300), (KRRFamily(2), 300), (LaplaceFamily(), 100)]
)
def test_budgets_beyond_doubles_are_refused(family: Family, most: int) -> None:
    with pytest.raises(ShuffleDPError, match=f"below {most} .user 2"):
        Personalized(family, [1.0, 800.0, 1.0], budgets_visible=False)


def _users(rng: random.Random) -> tuple[Family, Personalized]:
    family = rng.choice([KRRFamily(2), KRRFamily(3), LaplaceFamily(), GaussianFamily()])
    most = {KRRFamily: 299.0, LaplaceFamily: 99.0, GaussianFamily: 140.0}[type(family)]
    choice = [10.0 ** rng.uniform(-9.0, math.log10(most)) for _ in range(2)]
    if not family.pure:
        choice = [max(x, 1.0) for x in choice]
    budgets = [rng.choice(choice) for _ in range(rng.randint(1, 5))]
    gone = rng.choice([{}, {}, {"colluders": 1}, {"minimum_batch": 1}])
    if len(budgets) < 2:
        gone = {}
    return family, Personalized(
        family,
        budgets,
        budgets_visible=rng.random() < 0.4,
        deltas=None if family.pure else 1e-5,
        **gone,
    )


@pytest.mark.parametrize(
    ("seed", "cases"), [(0, 4), (1, 4), pytest.param(2, 200, marks=pytest.mark.slow)]
)
def test_any_users_get_an_answer_that_falls(seed: int, cases: int) -> None:
    rng = random.Random(seed)
    for _ in range(cases):
        family, users = _users(rng)
        deltas = [min(10.0 ** rng.uniform(-30.0, 0.0), 0.9) for _ in range(2)]
        epsilons = [10.0 ** rng.uniform(-9.0, 2.9) for _ in range(2)]
        for name, (less, more) in (("delta", sorted(deltas)), ("epsilon", sorted(epsilons))):
            first, second = (users.guarantees(**{name: x}).classes for x in (less, more))
            for a, b in zip(first, second, strict=True):
                assert 0.0 <= a.interval.lower <= a.interval.upper, repr(users)
                assert b.interval.upper <= a.interval.upper * (1.0 + 2e-2) + 1e-12, repr(users)
                if name == "delta" and family.pure:
                    assert a.interval.upper <= a.eps0


@pytest.mark.parametrize("seed", range(2))
def test_large_budgets_against_all_data_sets(seed: int) -> None:
    """In rationals: e^budget is a power of two times a small number."""
    rng = random.Random(seed)
    for _ in range(6):
        k = rng.choice([2, 3])
        sizes = [
            Fraction(rng.randint(9, 40), 8) * 2 ** rng.choice([0, 1, 20, 90, 400]) for _ in "ab"
        ]
        users = [rng.choice(sizes) for _ in range(rng.randint(1, 4 if k == 2 else 3))]
        e = Fraction(rng.randint(8, 64), 8) * 2 ** rng.choice([0, 3, 88, 120])
        found = Personalized(
            KRRFamily(k), [math.log(u) for u in users], budgets_visible=False
        ).guarantees(epsilon=math.log(e))
        for each in found.classes:
            victim = min(users, key=lambda u, f=each: abs(math.log(u) - f.eps0))
            others = list(users)
            others.remove(victim)
            truth = float(worst_delta(k, others, victim, e))
            slack = 1e-12 + 1e-12 * truth  # log and exp move e by a few hundred ulp
            assert each.interval.lower - slack <= truth <= each.interval.upper + slack


def test_a_failure_names_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise OverflowError("math range error")

    monkeypatch.setattr(Personalized, "_leaked", fail)
    users = Personalized(LaplaceFamily(), [0.1, 0.30000000000000004], budgets_visible=True)
    with pytest.raises(InternalError, match=r"OverflowError.*0\.30000000000000004.*delta=1e-06"):
        users.guarantees(delta=1e-6)

"""The interval by class holds the truth; equal budgets are the uniform accountant."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import KRR, Gaussian, Laplace, Shuffled
from shuffledp.accounting.protocols import Personalized
from shuffledp.accounting.randomizers.families import (
    ChannelFamily,
    Family,
    GaussianFamily,
    KRRFamily,
    LaplaceFamily,
)
from shuffledp.labels import Status
from tests.oracles.personalized import worst_delta


@pytest.mark.parametrize("n", [1, 2, 400])
@pytest.mark.parametrize("eps0", [0.3, 2.0])
def test_equal_budgets_are_the_uniform_answer(n: int, eps0: float) -> None:
    for family, randomizer in (
        (LaplaceFamily(), Laplace(eps0=eps0)),
        (KRRFamily(4), KRR(4, eps0=eps0)),
    ):
        ours = Personalized(family, {eps0: n}, budgets_visible=False)
        theirs = Shuffled(randomizer, n)
        (found,) = ours.guarantees(delta=1e-5).classes
        expected = theirs.epsilon(1e-5).upper
        assert found.interval.upper == pytest.approx(expected, rel=1e-3, abs=0.0)
        if n > 1:
            leaked = theirs.bound("dataset", delta=1e-5).value
            assert found.interval.lower == pytest.approx(leaked, rel=1e-3, abs=1e-9)
        (found,) = ours.guarantees(epsilon=0.1).classes
        expected = theirs.delta(0.1).upper
        assert found.interval.upper == pytest.approx(expected, rel=2e-3, abs=1e-12)


def test_equal_gaussian_budgets() -> None:
    sigma = math.sqrt(2 * math.log(1.25 / 1e-6)) / 2.0
    ours = Personalized(GaussianFamily(), {2.0: 1000}, deltas=1e-6, budgets_visible=False)
    equals = Shuffled(Gaussian(sigma, 1.0, scalar=True), 1000)
    expected = equals.guaranteed(delta=1e-5)
    (found,) = ours.guarantees(delta=1e-5).classes
    assert (expected.theorem, found.interval.upper_end.theorem) == (
        "swap-gaussian",
        "swap-personal",
    )
    assert found.interval.upper == pytest.approx(expected.value, rel=5e-3, abs=0.0)
    assert found.interval.lower <= equals.epsilon(1e-5).lower * 1.001
    assert found.interval.upper < equals.bound("blanket", delta=1e-5).value


def test_gaussian_equals_hide_each_other_whatever_noise_the_rest_has() -> None:
    """A few noisier users give nothing away: at least as good as the equals by themselves."""
    sigma = math.sqrt(2 * math.log(1.25 / 1e-6)) / 2.0
    ours = Personalized(GaussianFamily(), {1.0: 3, 2.0: 1000}, deltas=1e-6, budgets_visible=False)
    found = ours.guarantees_of_largest(delta=1e-5).interval
    alone = Shuffled(Gaussian(sigma, 1.0, scalar=True), 1000).epsilon(1e-5)
    assert alone.lower * 0.99 < found.upper <= alone.upper * 1.005


def _random_case(rng: random.Random) -> tuple[int, list[Fraction], Fraction]:
    k = rng.choice([2, 2, 3, 3, 4])
    budgets = [Fraction(rng.randint(21, 160), 20) for _ in range(3)]
    most = {2: 5, 3: 4, 4: 3}[k]
    users = [rng.choice(budgets) for _ in range(rng.randint(2, most))]
    e = 1 + (max(users) - 1) * Fraction(rng.randint(0, 20), 22)
    return k, users, e


def _check(seed: int, channel: bool) -> int:
    rng = random.Random(seed)
    k, users, e = _random_case(rng)
    epsilon = math.log(e)
    if channel:

        def matrix(eps: float) -> np.ndarray:
            big = math.exp(eps)
            return (np.ones((k, k)) + (big - 1.0) * np.eye(k)) / (big + k - 1.0)

        family = ChannelFamily(matrix)
    else:
        family = KRRFamily(k)
    protocol = Personalized(family, [math.log(u) for u in users], budgets_visible=False)
    checked = 0
    for found in protocol.guarantees(epsilon=epsilon).classes:
        victim = min(users, key=lambda u, f=found: abs(math.log(u) - f.eps0))
        others = list(users)
        others.remove(victim)
        truth = float(worst_delta(k, others, victim, e))
        # log and exp move e by a few ulp, which moves delta by at most as much
        assert found.interval.lower - 1e-13 <= truth <= found.interval.upper + 1e-13, (k, users, e)
        assert found.interval.status is Status.PROVEN
        checked += 1
    return checked


def test_no_data_set_exceeds_the_upper_end() -> None:
    assert sum(_check(seed, channel=seed % 10 == 0) for seed in range(16)) >= 20


@pytest.mark.slow
def test_no_data_set_exceeds_the_upper_end_in_bulk() -> None:
    assert sum(_check(seed, channel=False) for seed in range(1000, 2000)) >= 1000


@pytest.mark.parametrize("family", [LaplaceFamily(), KRRFamily(3)])
def test_laws(family: LaplaceFamily | KRRFamily) -> None:
    budgets = {0.5: 200, 1.0: 300, 2.0: 100}
    plain = Personalized(family, budgets, budgets_visible=False).guarantees(delta=1e-5)
    for each in plain.classes:
        assert each.interval.lower <= each.interval.upper <= each.eps0
    uppers = [each.interval.upper for each in plain.classes]
    assert uppers == sorted(uppers)
    fewer = Personalized(family, budgets, budgets_visible=False, colluders=100)
    dropped = Personalized(family, budgets, budgets_visible=False, minimum_batch=500)
    for other in (fewer.guarantees(delta=1e-5), dropped.guarantees(delta=1e-5)):
        for more, less in zip(plain.classes, other.classes, strict=True):
            assert less.interval.upper >= more.interval.upper * (1 - 1e-3)
    visible = Personalized(family, budgets, budgets_visible=True)
    assert "travels" in visible.warning
    for eps0, each in zip(budgets, visible.guarantees(delta=1e-5).classes, strict=True):
        alone = Personalized(family, {eps0: budgets[eps0]}, budgets_visible=False)
        expected = alone.guarantees(delta=1e-5).classes[0].interval.upper
        assert each.interval.upper == pytest.approx(expected, rel=3e-3, abs=0.0)


def test_many_budgets_are_grouped_on_the_safe_side() -> None:
    """Grouped answers bracket those of single classes in the same crowd."""
    rng = np.random.default_rng(0)
    few = np.repeat(np.linspace(0.2, 1.0, 8), 60)
    many = np.clip(few + rng.uniform(-1e-9, 0.0, few.size), 0.1, None)
    for family in (LaplaceFamily(), KRRFamily(4)):
        exact = Personalized(family, few, budgets_visible=False).guarantees(delta=1e-5)
        grouped = Personalized(family, many, budgets_visible=False).guarantees(delta=1e-5)
        assert len(grouped.classes) < 40
        assert sum(each.count for each in grouped.classes) == many.size
        by_budget = {each.eps0: each.interval for each in exact.classes}
        for each in grouped.classes:
            near = min(by_budget, key=lambda eps, e=each: abs(eps - e.eps0))
            # the truth of this class is at least what its data sets leak
            assert each.interval.upper >= by_budget[near].lower * (1 - 1e-6)
            assert each.interval.lower <= by_budget[near].upper * (1 + 1e-6)


@pytest.mark.parametrize("one", [LaplaceFamily(), GaussianFamily()])
def test_two_users_of_different_budgets(one: Family) -> None:
    """The other user's report has another scale: the ratio of the two is unbounded."""
    deltas = None if one.pure else 1e-6
    pair = Personalized(one, [1.0, 2.0], budgets_visible=False, deltas=deltas)
    for each in pair.guarantees(epsilon=0.1 if deltas else 0.5).classes:
        assert each.interval.lower > 0.3 * each.interval.upper

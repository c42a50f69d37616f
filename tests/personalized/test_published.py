"""HPS as published: its numbers, and the data sets that leak more."""

import numpy as np
import pytest

from shuffledp import Laplace, Shuffled, refute
from shuffledp.bounds import get_bound
from shuffledp.bounds.hps import gaussian_hps, gdp_ccc, laplace_hps
from shuffledp.curves import GDPCurve
from shuffledp.labels import Status
from shuffledp.protocols import published_budgets
from shuffledp.randomizers.families import LaplaceFamily

_UNIFORM2 = 0.5 + 1.5 * (np.arange(200) + 0.5) / 200
_UNIFORM2[-1] = 2.0
_FIFTY = np.full(200, 50)


@pytest.mark.parametrize(
    ("eps0", "epsilon", "claimed", "leaked"),
    [(4.0, 0.2, 1.7e-7, 1.4e-5), (5.0, 0.3, 3.5e-8, 9.6e-5)],
)
def test_refuted_for_equal_budgets(
    eps0: float, epsilon: float, claimed: float, leaked: float
) -> None:
    claim = Shuffled(Laplace(eps0=eps0), 10_000).bound("hps-2024", epsilon=epsilon)
    assert claim.status is Status.REFUTED
    assert claim.value == pytest.approx(claimed, rel=0.03)
    found = refute(Laplace(eps0=eps0), 10_000, epsilon=epsilon, delta=claim.value)
    assert found.refuted
    assert found.delta == pytest.approx(leaked, rel=0.03)


def test_refuted_in_the_papers_own_range() -> None:
    claim = laplace_hps(np.array([0.05, 1.0]), np.array([999, 1])).delta(0.1)
    assert claim == pytest.approx(2.0e-3, rel=0.03)
    leaked = max(
        outcomes.delta_lower(1000, 0.1, 1e-3)
        for scene in LaplaceFamily().datasets(1.0, 0.05)
        for outcomes in (scene.outcomes, scene.outcomes.swapped())
    )
    assert leaked > 3.2e-3 > 1.5 * claim


def test_the_registered_refutations_recompute() -> None:
    case = get_bound("hps-2024").theorem.refutation
    assert case is not None
    protocol = Shuffled(Laplace(eps0=case.parameters["eps0"]), int(case.parameters["n"]))
    epsilon = case.parameters["epsilon"]
    assert protocol.bound("hps-2024", epsilon=epsilon).value == pytest.approx(
        case.claimed, rel=0.03
    )
    assert protocol.bound(case.witness, epsilon=epsilon).value == pytest.approx(
        case.leaked, rel=0.03
    )


def test_table_2_follows_from_the_authors_program() -> None:
    program = gaussian_hps(_UNIFORM2, _FIFTY, 1e-10, program=True)
    printed = {0.01: 7e-4, 0.03: 2e-6, 0.05: 3e-10, 0.08: 1e-18, 0.1: 1e-25}
    for epsilon, delta in printed.items():
        assert program.delta(epsilon) == pytest.approx(delta, rel=0.25)
    twice = GDPCurve(gdp_ccc(_UNIFORM2, _FIFTY, 1e-10).mu / 2**0.5)
    for epsilon, delta in {0.01: 0.0042, 0.03: 0.0007, 0.05: 5e-5, 0.08: 3e-7, 0.1: 3e-9}.items():
        assert twice.delta(epsilon) == pytest.approx(delta, rel=0.2)


def test_theorem_1_and_theorem_2_agree() -> None:
    clones = laplace_hps(np.array([0.5, 1.0]), np.array([500, 500]))
    for alpha in (0.01, 0.1, 0.5):
        f = clones.tradeoff(alpha)
        for epsilon in (0.01, 0.05, 0.1):
            e = np.exp(epsilon)
            assert f >= 1 - clones.delta(epsilon) - e * alpha - 1e-3


def test_every_published_number_is_labelled() -> None:
    budgets = {0.5: 500, 1.0: 400, 2.0: 100}
    pure = {value.theorem: value for value in published_budgets(budgets, delta=1e-5)}
    assert set(pure) >= {
        "hps-2024",
        "ccc-2024-personal",
        "lzx-2023",
        "stronger-clones",
        "balle-2019-hoeffding",
    }
    assert pure["hps-2024"].status is Status.REFUTED
    assert pure["lzx-2023"].status is Status.HEURISTIC
    # a theorem about one shared randomizer proves nothing about users with different noise
    assert pure["stronger-clones"].status is Status.HEURISTIC
    approximate = {v.theorem for v in published_budgets(budgets, epsilon=0.1, delta0=1e-10)}
    assert approximate >= {"hps-2024", "ccc-2024-personal", "stronger-clones-approximate"}

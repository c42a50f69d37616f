"""Proposition 4.1 and Theorem 4.2 from their parts equal the direct bounds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from shuffledp import LDP, Direction, RegimeError, Shuffled, Status
from shuffledp.accounting.bounds.mixtures import (
    THEOREMS,
    clone_pair,
    proposition_4_1,
    theorem_4_2,
)

CASES = [(4.444, 10_000), (1.0, 100), (2.0, 1000), (3.0, 50)]


def printed_knot(eps0, n, t):
    """Proposition 4.1's (alpha(t), value) with the paper's own formulas."""
    i = np.arange(n)
    weights = binom.pmf(i, n - 1, 2.0 / (math.exp(eps0) + 1.0))
    alphas = binom.cdf(np.floor(i - (i + 1) / (t + 1.0)), i, 0.5)
    quantiles = np.where(alphas > 0.0, binom.ppf(np.maximum(alphas - 1e-14, 0.0), i, 0.5), -1.0)
    values = 1.0 - binom.cdf(quantiles + 1.0, i, 0.5)
    return float(weights @ alphas), float(weights @ values)


@pytest.mark.parametrize("t", [0.3, 0.77, 1.31, 2.9])
def test_proposition_4_1_matches_the_printed_knots(t):
    f = proposition_4_1(2.0, 60).function
    alpha, value = printed_knot(2.0, 60, t)
    assert f(alpha) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("eps0", "n"), CASES)
def test_theorem_4_2_and_the_exact_pair_equal_the_direct_bounds(eps0, n):
    protocol = Shuffled(LDP(eps0), n)
    relaxed, exact = theorem_4_2(eps0, n), clone_pair(eps0, n)
    assert exact.function.compare(relaxed.function, 1e-11)
    for claim, theorem in ((relaxed, "wang-2023"), (exact, "stronger-clones")):
        assert claim.status is Status.PROVEN
        assert claim.direction is Direction.UPPER
        for epsilon in (0.0, 0.1, 0.3, 0.5):
            direct = protocol.bound(theorem, epsilon=epsilon).value
            found = claim.delta(epsilon).value
            assert found == pytest.approx(direct, rel=1e-9, abs=4e-12)
            assert found >= direct * (1 - 1e-12)
        for alpha in (0.001, 0.01, 0.3, 0.9):
            direct = protocol.bound(theorem, alpha=alpha).value
            # the direct one searches for a slope and keeps the sound side of what it finds
            assert direct - 5e-11 <= claim.tradeoff(alpha).value <= direct + 5e-6


def test_paper_row_of_corollary_4_3():
    found = theorem_4_2(4.444, 10_000)
    for epsilon, value in ((0.4, 4.947e-5), (0.5, 3.031e-6), (0.6, 1.271e-7), (0.7, 3.825e-9)):
        assert found.delta(epsilon).value == pytest.approx(value, rel=2e-3, abs=0.0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_smallest_n(n):
    exact = clone_pair(1.5, n)
    direct = Shuffled(LDP(1.5), n)
    assert exact.delta(0.7).value == pytest.approx(
        direct.bound("stronger-clones", epsilon=0.7).value, abs=1e-11
    )


def test_too_many_atoms_are_refused():
    with pytest.raises(RegimeError, match="wang-2023"):
        proposition_4_1(1.0, 10**7)


def test_every_proven_claim_has_its_proof_and_every_refuted_one_its_witness():
    docs = Path(__file__).parents[3] / "docs"
    for theorem in THEOREMS.values():
        if theorem.status is Status.REFUTED:
            assert theorem.refutation is not None
        else:
            assert theorem.proof is not None
            assert (docs / theorem.proof).is_file()

"""Gaussian, Laplace and density trade-off functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, norm

from shuffledp import Direction, ParameterError
from shuffledp.accounting.curves.tradeoff import Gaussian, Laplace, approximate, from_densities
from shuffledp.numerics import normal

GRID = np.linspace(0.0, 1.0, 401)


def gaussian(mu, alpha):
    return norm.cdf(norm.isf(alpha) - mu)


def laplace_tradeoff(mu, alpha):
    return laplace.cdf(laplace.isf(alpha) - mu)


@pytest.mark.parametrize(("family", "oracle"), [(Gaussian, gaussian), (Laplace, laplace_tradeoff)])
@given(mu=st.floats(0.01, 6.0))
def test_closed_forms_lie_between_tangents_and_chords(family, oracle, mu):
    f = family(mu)
    exact = oracle(mu, GRID)
    assert max(abs(f(float(a)) - b) for a, b in zip(GRID, exact, strict=True)) < 1e-13
    below, above = f.below(), f.above()
    assert below.direction is Direction.UPPER
    assert above.direction is Direction.LOWER
    assert np.all(below(GRID) <= exact + 1e-15)
    assert np.all(above(GRID) >= exact - 1e-15)
    assert -below.compare(above).margin < 1e-3


@pytest.mark.parametrize(("family", "law"), [(Gaussian, norm), (Laplace, laplace)])
@pytest.mark.parametrize("mu", [0.3, 2.0])
def test_densities_enclose_the_closed_form(family, law, mu):
    found = from_densities(
        law.pdf, lambda x: law.pdf(x - mu), (-40.0, 40.0), 4000, breaks=[0.0, mu]
    )
    exact = np.array([family(mu)(float(a)) for a in GRID])
    assert np.all(found.below(GRID) <= exact)
    assert np.all(found.above(GRID) >= exact - 1e-15)
    assert found.gap < 2e-4
    assert found.quadrature_error < 1e-9


def test_densities_of_unequal_variance():
    """The closed form: the likelihood-ratio test accepts on an interval."""
    found = from_densities(
        norm.pdf, lambda x: norm.pdf(x, 0.0, math.sqrt(2.0)), (-12, 12), 2000, [0.0]
    )
    cut = np.linspace(0.0, 6.0, 200)
    alphas, betas = 2.0 * norm.sf(cut), 1.0 - 2.0 * norm.sf(cut / math.sqrt(2.0))
    assert np.all(found.below(alphas) <= betas + 1e-15)
    assert np.all(found.above(alphas) >= betas - 1e-15)
    assert found.gap < 1e-4


def test_densities_refuse_what_is_no_density():
    with pytest.raises(ParameterError, match="first"):
        from_densities(lambda x: 2.0 * norm.pdf(x), norm.pdf, (-9.0, 9.0))
    with pytest.raises(ParameterError, match="at x ="):
        from_densities(lambda x: norm.pdf(x) - 0.01, norm.pdf, (-9.0, 9.0))
    with pytest.raises(ParameterError, match="support"):
        from_densities(norm.pdf, norm.pdf, (1.0, 1.0))


@given(st.floats(0.0, 5.0), st.floats(0.0, 0.9))
def test_approximate_dp(epsilon, delta):
    f = approximate(epsilon, delta)
    e = math.exp(epsilon)
    exact = np.maximum(0.0, np.maximum(1 - delta - e * GRID, (1 - delta - GRID) / e))
    assert np.max(np.abs(f(GRID) - exact)) < 1e-14
    assert f.delta(epsilon) == pytest.approx(delta, abs=1e-15)
    assert f.is_symmetric()


def test_laplace_renyi_and_delta():
    f = Laplace(1.3)
    fine = f.below(4000)
    assert f.renyi(2.5) <= fine.renyi(2.5) <= f.renyi(2.5) + 1e-5
    for epsilon in (0.0, 0.7, 1.2):
        assert f.delta(epsilon) <= fine.delta(epsilon) <= f.delta(epsilon) + 1e-6


def test_normal_cdf_matches_scipy():
    x = np.linspace(-37.0, 8.0, 2001)
    assert np.max(np.abs(normal.cdf(x) / norm.cdf(x) - 1.0)) < 1e-11

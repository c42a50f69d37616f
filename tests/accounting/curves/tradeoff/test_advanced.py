"""Lemmas 6.2 and 6.3, Proposition 6.4; where the printed forms fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import ParameterError, Status
from shuffledp.accounting.bounds.mixtures import THEOREMS, advanced_joint_concavity
from shuffledp.accounting.curves import TradeoffFunction
from shuffledp.accounting.curves.tradeoff import (
    Mixture,
    advanced,
    advanced_of_laws,
    average,
    best_split,
    combine,
    crossed,
    joint,
    lemma_6_2,
    lemma_6_3,
    lemma_6_3_equal,
    proposition_6_4,
)
from tests.oracles.tradeoff_laws import random_law

T = TradeoffFunction.from_pair


def random_two(generator, size=4):
    pairs = [(random_law(generator, size), random_law(generator, size)) for _ in range(2)]
    w = float(generator.uniform(0.05, 0.95))
    return Mixture.of(pairs, [1.0 - w, w]), w


def hockey(mixture, e):
    p, q = mixture.weights @ mixture.firsts, mixture.weights @ mixture.seconds
    return float(np.maximum(p - e * q, 0.0).sum())


@given(st.integers(0, 10**6), st.floats(0.05, 20.0), st.floats(0.0, 0.99), st.floats(0.01, 1.0))
def test_lemma_6_2_for_every_slope_and_either_order(seed, e, low, high):
    mixture, w = random_two(np.random.default_rng(seed))
    below, above = w * low, w + (1.0 - w) * high
    for gamma, eta in ((below, above), (above, below)):
        assert lemma_6_2(mixture, e, gamma, eta) >= hockey(mixture, e) - 1e-13
    split = best_split(mixture, e)
    assert hockey(mixture, e) - 1e-13 <= split.value
    assert split.value <= lemma_6_2(mixture, e, 0.0, 1.0) + 1e-13
    # its gamma, eta, e0, e1 satisfy the two conditions of the lemma
    assert (1.0 - w) * split.first + w * split.second == pytest.approx(e, rel=1e-9, abs=0.0)
    shared = (1.0 - w) * split.first * split.gamma + w * split.second * split.eta
    assert shared == pytest.approx(e * w, rel=1e-9, abs=0.0)


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.floats(0.0, 0.99), st.floats(0.01, 1.0))
def test_lemma_6_3_the_right_way_round(seed, low, high):
    mixture, w = random_two(np.random.default_rng(seed))
    functions = crossed(mixture)
    below, above = w * low, w + (1.0 - w) * high
    for gamma, eta in ((below, above), (above, below)):
        assert mixture.true().compare(lemma_6_3(functions, w, gamma, eta), 1e-13)
    assert mixture.true().compare(lemma_6_3_equal(mixture), 1e-13)
    plain = lemma_6_3(functions, w, 0.0, 1.0)
    assert (
        np.max(np.abs(plain(plain.alphas) - mixture.joint()(plain.alphas))) < 1e-6
    )  # steep pieces magnify the slack


def test_optimised_bounds_lie_between_the_plain_one_and_the_truth():
    generator = np.random.default_rng(64)
    gains = []
    for _ in range(8):
        mixture, w = random_two(generator)
        plain, true = mixture.joint(), mixture.true()
        for found in (advanced(crossed(mixture), w), advanced_of_laws(mixture)):
            assert found.compare(plain, 1e-12)
            assert true.compare(found, 1e-12)
        gains.append(-plain.compare(found).margin)
    assert max(gains) > 0.02


def test_lemma_6_2_at_its_best_is_exact_for_clone_pairs():
    p0, q0 = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.05, 0.15, 0.3, 0.5])
    w = 1.0 / 3.0
    mixture = Mixture.of([(p0, q0), (q0, p0)], [1.0 - w, w])
    for e in (1.0, 1.3, 1.9):
        assert best_split(mixture, e).value == pytest.approx(hockey(mixture, e), abs=1e-12)


def printed_6_3(mixture, w, gamma, eta):
    """As printed: f_ij = T(P_i, Q_j), symmetrised."""
    s = (
        (1.0 - w) * (eta - gamma) / (eta - w),
        w * (eta - gamma) / (w - gamma),
    )
    shares = ((1.0 - w) * (1.0 - gamma), (1.0 - w) * gamma), (w * (1.0 - eta), w * eta)
    parts = [
        (shares[i][j], T(mixture.firsts[i], mixture.seconds[j]).conjugate().rescaled(s[i]))
        for i in range(2)
        for j in range(2)
    ]
    return TradeoffFunction.from_conjugate(combine(parts)).symmetrised()


def test_lemma_6_3_as_printed_is_refuted():
    """T(P_i, Q_i) symmetric, as the lemma asks; the crossed pairs are not."""
    mixture = Mixture.of([([0.5, 0.5], [0.5, 0.5]), ([1.0, 0.0], [0.0, 1.0])], [0.5, 0.5])
    assert all(f.is_symmetric() for f in mixture.parts())
    second = mixture.weights @ mixture.seconds
    printed = average([T(p, second) for p in mixture.firsts], [0.5, 0.5]).symmetrised()
    refutation = THEOREMS["wang-2023-lemma-6.3-printed"].refutation
    assert refutation is not None
    assert printed(0.25) == pytest.approx(refutation.claimed, abs=1e-12)
    assert mixture.true()(0.25) == pytest.approx(refutation.leaked, abs=1e-12)
    # the right way round it is even exact here
    assert lemma_6_3_equal(mixture)(0.25) == pytest.approx(0.25, abs=1e-12)


def test_lemma_6_3_as_printed_is_refuted_between_gamma_and_eta():
    pairs = [([0.999, 0.001], [0.001, 0.999]), ([0.7, 0.3], [0.3, 0.7])]
    mixture = Mixture.of(pairs, [0.75, 0.25])
    assert all(f.is_symmetric() for f in mixture.parts())
    printed = printed_6_3(mixture, 0.25, 0.2, 0.28)
    assert mixture.true().compare(printed).margin < -0.1
    assert mixture.true().compare(lemma_6_3(crossed(mixture), 0.25, 0.2, 0.28), 1e-13)


def test_proposition_6_4_for_symmetric_pairs():
    generator = np.random.default_rng(10)
    for _ in range(400):
        p0 = random_law(generator, 5)
        q0 = p0[::-1]
        w = float(generator.uniform(0.0, 0.5))
        found = proposition_6_4(T(p0, q0), w)
        true = T((1 - w) * p0 + w * q0, (1 - w) * q0 + w * p0)
        plain = joint([T(p0, q0), T(q0, p0)], [1 - w, w])
        assert true.compare(found, 1e-13)
        assert found.compare(plain, 1e-12)  # advanced >= plain, as the paper says
        for epsilon in (0.0, 0.3, 1.0):
            e = math.exp(epsilon)
            g = (e - 2 * w) / (1 - 2 * w)
            closed = (1 - 2 * w) * float(np.maximum(p0 - g * q0, 0.0).sum())
            assert found.delta(epsilon) == pytest.approx(closed, abs=1e-12)


def test_proposition_6_4_needs_symmetry():
    """What is printed, without the symmetry its lemma assumes, exceeds the truth by 0.08."""
    p0, q0, w = np.array([0.32, 0.68]), np.array([0.996, 0.004]), 0.2
    printed = T(p0, q0).subsampled(1 - 2 * w).symmetrised()
    true = T((1 - w) * p0 + w * q0, (1 - w) * q0 + w * p0)
    assert true.compare(printed).margin < -0.07
    assert true.compare(proposition_6_4(T(p0, q0), w), 1e-13)
    generator = np.random.default_rng(12)
    for _ in range(400):
        p0, q0 = random_law(generator, 4), random_law(generator, 4)
        w = float(generator.uniform(0.0, 0.5))
        true = T((1 - w) * p0 + w * q0, (1 - w) * q0 + w * p0)
        assert true.compare(proposition_6_4(T(p0, q0), w), 1e-13)


def test_refusals():
    mixture, w = random_two(np.random.default_rng(1))
    with pytest.raises(ParameterError, match="other side of w"):
        lemma_6_2(mixture, 1.0, w / 2, w / 3)
    with pytest.raises(ParameterError, match="at most 1/2"):
        proposition_6_4(T([0.7, 0.3], [0.3, 0.7]), 0.6)
    three = Mixture.of([([1.0], [1.0])] * 3, [0.2, 0.3, 0.5])
    with pytest.raises(ParameterError, match="two"):
        best_split(three, 1.0)


def test_claim_is_for_the_fixed_pair():
    mixture, _ = random_two(np.random.default_rng(4))
    assert advanced_joint_concavity(mixture).delta(0.1).status is Status.FIXED_PAIR

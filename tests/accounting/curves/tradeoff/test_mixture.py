"""Lemma 3.1, Propositions 3.2, 3.3 and 6.1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import Direction, ParameterError, Status
from shuffledp.accounting.bounds.mixtures import joint_concavity
from shuffledp.accounting.curves.tradeoff import Mixture
from tests.oracles.tradeoff_laws import random_law


def random_mixture(generator, parts, size):
    pairs = [(random_law(generator, size), random_law(generator, size)) for _ in range(parts)]
    return Mixture.of(pairs, random_law(generator, parts))


def test_joint_concavity_never_above_the_truth_on_5000_mixtures():
    generator = np.random.default_rng(2023)
    gaps = []
    for _ in range(5000):
        mixture = random_mixture(
            generator, int(generator.integers(2, 5)), int(generator.integers(2, 7))
        )
        true, bound = mixture.true(), mixture.joint()
        found = true.compare(bound, 1e-13)
        assert found, found
        gaps.append(float(true(0.2) - bound(0.2)))
    assert np.mean(np.array(gaps) > 1e-3) > 0.5  # and usually well below: the test can fail


@given(st.integers(0, 10**6), st.floats(0.0, 5.0), st.floats(0.0, 1.0))
def test_t_c_parametrisation_traces_the_bound(seed, t, c):
    generator = np.random.default_rng(seed)
    mixture = random_mixture(generator, 3, 4)
    # thresholds that atoms meet exactly, too
    ratios = (mixture.seconds / np.maximum(mixture.firsts, 1e-300)).ravel()
    for threshold in (t, float(ratios[seed % len(ratios)])):
        if threshold > 1e6:
            continue
        point = mixture.at(threshold, c)
        assert point.alpha == pytest.approx(
            float(mixture.weights @ np.array(point.alphas)), abs=1e-14
        )
        assert point.bound == pytest.approx(mixture.joint()(min(point.alpha, 1.0)), abs=1e-12)
        parts = zip(mixture.weights, mixture.parts(), point.alphas, strict=True)
        separate = sum(w * f(min(a, 1.0)) for w, f, a in parts)
        assert point.bound == pytest.approx(separate, abs=1e-12)


def test_ties_are_split_by_the_coin():
    mixture = Mixture.of([([0.5, 0.5], [0.25, 0.75]), ([0.5, 0.5], [0.75, 0.25])], [0.5, 0.5])
    assert mixture.at(1.5, 0.5).alpha == pytest.approx(0.25)
    assert mixture.at(1.5, 1.0).bound == pytest.approx(0.25)


GENERATORS = [
    (lambda t: t**2, math.inf),  # order-2 power
    (lambda t: (np.sqrt(t) - 1.0) ** 2, 1.0),  # Hellinger
    (lambda t: np.abs(t - 1.0), 1.0),
    (lambda t: np.maximum(t - math.e, 0.0), 1.0),  # hockey-stick
    (lambda t: (t - 1.0) ** 2 / (t + 1.0), 1.0),  # triangular
]


@pytest.mark.parametrize(("generator", "limit"), GENERATORS)
def test_proposition_3_3(generator, limit):
    """D_F of the mixtures <= D_F of the bound = sum of w_i D_F(P_i||Q_i) (the w_i are missing in print)."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        mixture = random_mixture(rng, 3, 4)
        value = mixture.true().divergence(generator, limit)
        bound = mixture.joint().divergence(generator, limit)
        parts = [f.divergence(generator, limit) for f in mixture.parts()]
        mean = sum(w * d for w, d in zip(mixture.weights, parts, strict=True) if w > 0)
        assert value <= bound * (1.0 + 1e-9) + 1e-9
        assert bound == pytest.approx(mean, rel=1e-7, abs=1e-9)


def test_proposition_3_2_symmetric_parts_give_a_symmetric_bound():
    pairs = [([0.7, 0.2, 0.1], [0.1, 0.2, 0.7]), ([0.5, 0.1, 0.4], [0.4, 0.1, 0.5])]
    assert Mixture.of(pairs, [0.3, 0.7]).joint().is_symmetric()


def test_equality_test_decides():
    generator = np.random.default_rng(8)
    decided = {True: 0, False: 0}
    for _ in range(600):
        if generator.random() < 0.5:  # disjoint supports, or a common ratio: tight
            p, q = random_law(generator, 4), random_law(generator, 4)
            if generator.random() < 0.5:
                pairs = [(np.append(p, np.zeros(4)), np.append(q, np.zeros(4)))]
                pairs.append((np.append(np.zeros(4), q), np.append(np.zeros(4), p)))
            else:
                pairs = [(p, q), (p, q)]
            mixture = Mixture.of(pairs, [0.3, 0.7])
        else:
            mixture = random_mixture(generator, 2, 3)
        gap = -mixture.joint().compare(mixture.true()).margin
        assert mixture.is_tight() == (gap < 1e-9), gap
        decided[mixture.is_tight()] += 1
        if mixture.is_tight():
            assert mixture.printed_test()  # the printed condition is necessary
    assert min(decided.values()) > 100


def test_proposition_6_1_as_printed_is_not_sufficient():
    mixture = Mixture.of([([1.0, 0.0], [0.5, 0.5]), ([0.0, 1.0], [0.5, 0.5])], [0.5, 0.5])
    assert mixture.printed_test()
    assert not mixture.is_tight()
    assert mixture.true()(0.0) == 1.0
    assert mixture.joint()(0.0) == 0.5


def test_claims_are_labelled():
    mixture = Mixture.of([([0.9, 0.1], [0.1, 0.9]), ([0.6, 0.4], [0.4, 0.6])], [0.5, 0.5])
    found = joint_concavity(mixture)
    value = found.tradeoff(0.1)
    assert value.status is Status.FIXED_PAIR
    assert value.direction is Direction.UPPER
    assert value.theorem == "wang-2023-lemma-3.1"
    assert value.value <= mixture.true()(0.1)
    assert found.delta(0.5).value >= mixture.true().delta(0.5)
    assert found.epsilon(0.2).value >= mixture.true().epsilon(0.2)
    assert found.renyi(2.0).value >= mixture.true().renyi(2.0)


@pytest.mark.parametrize(
    ("pairs", "weights", "message"),
    [
        ([([1.0], [1.0])], [0.5], "summing to 1"),
        ([([1.0], [1.0]), ([0.5, 0.5], [0.5, 0.5])], [0.5, 0.5], "pairs[1]"),
        ([([0.5, 0.6], [0.5, 0.5])], [1.0], "pairs[0][0]"),
        ([([0.5, 0.5], [0.5, 0.5])], [1.5, -0.5], "-0.5 at position 1"),
    ],
)
def test_malformed_mixtures_are_refused(pairs, weights, message):
    with pytest.raises(ParameterError) as error:
        Mixture.of(pairs, weights)
    assert message in str(error.value)

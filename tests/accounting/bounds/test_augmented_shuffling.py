"""Murakami et al. 2025: dummies by the shuffler, against the exact law of two counts."""

import itertools

import numpy as np
import pytest

from shuffledp import Status
from shuffledp.accounting.bounds import get_theorem
from shuffledp.accounting.bounds.literature import geometric_dummies


def _counts(kept: float, dummies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Laws of a count without the victim's value, and with it."""
    none = np.append(dummies, 0.0)
    return none, (1.0 - kept) * none + kept * np.append(0.0, dummies)


def _delta(kept: float, dummies: np.ndarray, epsilon: float) -> float:
    """Of the two counts that a replaced value moves."""
    none, some = _counts(kept, dummies)
    first, second = np.multiply.outer(some, none), np.multiply.outer(none, some)
    return float(np.maximum(first - np.exp(epsilon) * second, 0.0).sum())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_geometric_dummies_are_pure_and_tight(epsilon: float) -> None:
    kept, ratio = geometric_dummies(epsilon)
    most = int(100.0 / epsilon)
    dummies = (1.0 - ratio) * ratio ** np.arange(float(most))
    none, some = _counts(kept, dummies)
    losses = np.log(some[:-1] / none[:-1])
    assert np.abs(losses).max() == pytest.approx(0.5 * epsilon, rel=1e-9, abs=0.0)
    assert _delta(kept, dummies, epsilon) <= 2.0 * ratio ** (most - 1) + 1e-13
    assert _delta(kept, dummies, 0.8 * epsilon) > 0.0
    assert get_theorem("murakami-2025").status is Status.PROVEN


@pytest.mark.parametrize("kept", [0.3, 0.8, 1.0])
def test_half_a_budget_for_each_count(kept: float) -> None:
    """(eps/2, delta/2) of one count is (eps, delta) of both, whatever the law of the dummies."""
    rng = np.random.default_rng(3)
    for size, half in itertools.product((3, 9, 30), (0.1, 0.5, 1.5)):
        dummies = rng.dirichlet(np.ones(size))
        none, some = _counts(kept, dummies)
        each = max(
            float(np.maximum(a - np.exp(half) * b, 0.0).sum())
            for a, b in ((none, some), (some, none))
        )
        assert _delta(kept, dummies, 2.0 * half) <= 2.0 * each + 1e-15

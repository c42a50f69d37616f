"""Users who randomize, among dummies: every data set of a few users, limits, refusals."""

import itertools
import json
import math

import numpy as np
import pytest

from shuffledp import (
    KRR,
    BinaryRR,
    BinomialNoise,
    ParameterError,
    PoissonNoise,
    Shuffled,
    Status,
    WithDummies,
    rappor,
)
from shuffledp.accounting.protocols import describe, restore
from tests.oracles import counters


@pytest.mark.parametrize(("k", "n", "eps0"), [(2, 3, 1.5), (3, 3, 2.0), (3, 2, 5.0), (3, 1, 1.0)])
@pytest.mark.parametrize("rate", [0.3, 2.5])
def test_every_data_set_lies_in_the_interval(k: int, n: int, eps0: float, rate: float) -> None:
    laws = {
        held: counters.randomized_with_dummies(k, eps0, rate, 25, held)
        for held in itertools.product(range(k), repeat=n)
    }
    protocol = WithDummies(PoissonNoise(rate), n, randomizer=KRR(k, eps0=eps0))
    for epsilon in (0.0, 0.3, 0.8, 1.4):
        worst = max(
            float(np.maximum(one - math.exp(epsilon) * laws[(x, *held[1:])], 0.0).sum())
            for held, one in laws.items()
            for x in range(k)
        )
        found = protocol.delta(epsilon)
        assert found.status is Status.PROVEN
        assert found.lower <= worst * (1 + 1e-9) + 1e-12
        assert worst <= found.upper * (1 + 1e-9) + 1e-12


def test_between_shuffling_alone_and_dummies_alone() -> None:
    """With hardly any dummies, with hardly any randomizing, and with both."""
    both = WithDummies(PoissonNoise(30.0), 10**4, randomizer=KRR(10, eps0=6.0)).epsilon(1e-6)
    assert both.upper < Shuffled(KRR(10, eps0=6.0), 10**4).epsilon(1e-6).lower
    assert both.upper < WithDummies(PoissonNoise(30.0), 10**4).epsilon(1e-6).lower
    assert both.gap < 0.05
    little = WithDummies(PoissonNoise(40.0), 10**4, randomizer=KRR(10, eps0=25.0))
    plain = WithDummies(PoissonNoise(40.0), 10**4)
    assert little.epsilon(1e-6).upper == pytest.approx(plain.epsilon(1e-6).upper, rel=1e-3, abs=0.0)
    assert little.delta(25.1).upper == 0.0


def test_many_reports_are_answered_and_colluders_take_theirs_away() -> None:
    found = WithDummies(PoissonNoise(2000.0), 10**6, randomizer=KRR(5, eps0=4.0)).epsilon(1e-6)
    assert 0 < found.lower < found.upper < 0.1
    most = WithDummies(PoissonNoise(5.0), 10**12, randomizer=KRR(5, eps0=12.0)).delta(0.01)
    assert 0 <= most.lower < most.upper < 1e-6
    randomizer = KRR(4, eps0=5.0)
    few = WithDummies(PoissonNoise(5.0), 100, randomizer=randomizer)
    more = WithDummies(PoissonNoise(5.0), 150, colluders=50, randomizer=randomizer)
    assert few.epsilon(1e-4) == more.epsilon(1e-4)


def test_what_is_refused_and_what_comes_back() -> None:
    with pytest.raises(ParameterError, match="KRR"):
        WithDummies(PoissonNoise(1.0), 10, randomizer=rappor(3, 1.0))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="PoissonNoise"):
        WithDummies(BinomialNoise(4), 10, randomizer=KRR(3, eps0=1.0))
    with pytest.raises(ParameterError, match="none"):
        WithDummies(PoissonNoise(1.0), 10, "remove", randomizer=BinaryRR(eps0=1.0))
    protocol = WithDummies(PoissonNoise(1.0), 10, randomizer=KRR(3, eps0=1.0))
    assert restore(json.loads(json.dumps(describe(protocol)))) == protocol
    assert "randomizer" not in describe(WithDummies(PoissonNoise(1.0), 10))
    assert protocol.eps0 == 1.0
    assert "no local guarantee" not in str(protocol)

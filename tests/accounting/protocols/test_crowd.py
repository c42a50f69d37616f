"""Check-in, colluders, dropouts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import KRR, LDP, Channel, CheckIn, Laplace, ParameterError, Shuffled
from tests.oracles import explicit


@pytest.mark.parametrize("n", [2, 30, 5000])
def test_check_in_is_an_erasure_symbol(n: int) -> None:
    rate, eps0 = 0.2, 2.0
    matrix = rate * explicit.randomized_response(4, eps0)
    channel = Channel(np.hstack([matrix, np.full((4, 1), 1 - rate)]))
    checked = CheckIn(KRR(4, eps0=eps0), rate)
    epsilon = min(1.0 / math.sqrt(n), 0.5)
    for name in ("blanket", "dataset"):
        ours = Shuffled(checked, n).bound(name, epsilon=epsilon).value
        theirs = Shuffled(channel, n).bound(name, epsilon=epsilon).value
        assert ours == pytest.approx(theirs, rel=5e-4, abs=0.0)


def test_everyone_checked_in_changes_nothing() -> None:
    plain, checked = KRR(4, eps0=2.0), CheckIn(KRR(4, eps0=2.0), 1.0)
    assert Shuffled(checked, 100).delta(0.3).upper == pytest.approx(
        Shuffled(plain, 100).delta(0.3).upper, rel=5e-4, abs=0.0
    )


def test_check_in_twice_multiplies() -> None:
    twice = CheckIn(CheckIn(KRR(4, eps0=2.0), 0.5), 0.3)
    once = CheckIn(KRR(4, eps0=2.0), 0.15)
    assert Shuffled(twice, 100).delta(0.1).upper == pytest.approx(
        Shuffled(once, 100).delta(0.1).upper, rel=5e-4, abs=0.0
    )


def test_rare_check_in_helps() -> None:
    values = [Shuffled(CheckIn(KRR(4, eps0=2.0), q), 500).delta(0.1).upper for q in (0.05, 0.5, 1)]
    assert values[0] < values[1] < values[2]


def test_generic_check_in() -> None:
    """V = E - e, 1 - eE with probability q/(E+1) each, 1 - e with 1 - q, else 0."""
    eps0, q, epsilon = 1.5, 0.4, 0.2
    big, e = math.exp(eps0), math.exp(epsilon)
    (scene,) = CheckIn(LDP(eps0), q).blankets()
    laws = scene.outcomes
    values = (laws.first - e * laws.second) / laws.base
    np.testing.assert_allclose(values, [big - e, 1 - e * big], rtol=1e-12)
    np.testing.assert_allclose(laws.base, [q / (big + 1), q / (big + 1)], rtol=1e-12)
    assert laws.silent == pytest.approx(1 - q, rel=1e-15, abs=0.0)
    assert laws.rest == pytest.approx(q * (big - 1) / (big + 1), rel=1e-14, abs=0.0)
    assert Shuffled(CheckIn(LDP(eps0), q), 300).delta(epsilon).upper < (
        Shuffled(LDP(eps0), 300).delta(epsilon).upper
    )


def test_check_in_keeps_an_approximate_budget() -> None:
    """delta0 = 0.01 may not vanish: with probability q delta0 a value is simply shown."""
    rate, delta0 = 0.5, 0.01
    checked = Shuffled(CheckIn(LDP(1.0, delta0=delta0), rate), 1000)
    try:
        found = checked.delta(0.5)
    except ValueError:
        return
    assert found.upper >= rate * delta0 * 0.999


@pytest.mark.parametrize("randomizer", [KRR(10, eps0=3.0), Laplace(eps0=2.0), LDP(2.0)], ids=str)
def test_colluders_and_dropouts_shrink_the_crowd(randomizer) -> None:
    small = Shuffled(randomizer, 700)
    for protocol in (
        Shuffled(randomizer, 1000, colluders=300),
        Shuffled(randomizer, 1000, minimum_batch=700),
        Shuffled(randomizer, 1000, colluders=100, minimum_batch=800),
    ):
        assert protocol.crowd == 700
        assert protocol.delta(0.1) == small.delta(0.1)
    assert Shuffled(randomizer, 1000).delta(0.1).upper < small.delta(0.1).upper


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"colluders": 10}, "colluders"),
        ({"colluders": -1}, "colluders"),
        ({"colluders": 1.5}, "colluders"),
        ({"minimum_batch": 11}, "minimum_batch"),
        ({"minimum_batch": 0}, "minimum_batch"),
        ({"minimum_batch": 4, "colluders": 4}, "colluders"),
    ],
)
def test_impossible_crowds(arguments: dict, parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"'{parameter}'"):
        Shuffled(KRR(3, eps0=1.0), 10, **arguments)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, math.nan, "often", True])
def test_impossible_rates(rate) -> None:
    with pytest.raises(ParameterError, match="'rate'"):
        CheckIn(KRR(3, eps0=1.0), rate)


def test_check_in_needs_a_randomizer() -> None:
    with pytest.raises(ParameterError, match="'randomizer'"):
        CheckIn(3.0, 0.5)

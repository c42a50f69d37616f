"""Split messages: every data set and every outcome of a few users, and what the bound promises."""

import itertools
import json
import math
from fractions import Fraction

import pytest

from shuffledp import (
    Aggregated,
    BinomialNoise,
    NoiseShare,
    ParameterError,
    PolyaNoise,
    SplitAndMix,
    Status,
)
from shuffledp.accounting.protocols import describe, restore
from shuffledp.numerics.split import _excess, split_distance
from tests.oracles import split
from tests.oracles.counters import hockey_stick


@pytest.mark.parametrize(
    ("users", "messages", "modulus"), [(2, 3, 2), (2, 3, 4), (3, 3, 3), (2, 4, 3), (3, 4, 2)]
)
def test_every_statistical_distance_is_below_the_bound(
    users: int, messages: int, modulus: int
) -> None:
    each = [split.shares({v: Fraction(1)}, messages, modulus) for v in range(modulus)]
    worst = max(
        split.distance(
            split.mixed([each[v] for v in held]),
            split.uniform(sum(held), users * messages, modulus),
        )
        for held in itertools.combinations_with_replacement(range(modulus), users)
    )
    exact = math.sqrt(split.components(users, messages, modulus) - 1) / 2
    assert 0 < worst <= exact
    assert exact <= split_distance(users, messages, modulus)
    assert split_distance(1, messages, modulus) == 0.0


@pytest.mark.parametrize(
    ("users", "messages", "modulus"),
    [(2, 3, 2), (3, 3, 5), (5, 4, 16), (12, 3, 40), (20, 5, 300), (9, 12, 64), (70, 4, 3)],
)
def test_the_short_sum_is_above_the_expectation_and_close(
    users: int, messages: int, modulus: int
) -> None:
    exact = float(split.components(users, messages, modulus) - 1)
    bound = _excess(users, messages, modulus)
    assert exact <= bound
    if messages > 3 and modulus >= 16 and bound < 0.1:
        assert bound < 1.2 * exact


def test_the_bound_falls_with_users_and_messages_and_costs_nothing_for_many() -> None:
    for messages in (4, 7, 20):
        found = [split_distance(n, messages, 1 << 40) for n in (100, 10**4, 10**8, 10**12)]
        assert found == sorted(found, reverse=True)
    found = [split_distance(1000, messages, 1 << 20) for messages in range(3, 40, 6)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 1e-60
    assert split_distance(2, 3, 1 << 62) == 1.0
    # no underflow makes it nothing
    assert 0.0 < split_distance(10**12, 60, 1 << 40) <= 1e-140
    endless = SplitAndMix(NoiseShare(PolyaNoise(1e-12, 3.0), levels=3), 10**12, 60)
    assert endless.delta(800.0).upper > 0.0


NOISE = {z: Fraction(math.comb(2, z), 4) for z in range(3)}


@pytest.mark.parametrize("t", [Fraction(1), Fraction(3, 2), Fraction(4)], ids=str)
@pytest.mark.parametrize(("users", "messages", "modulus"), [(2, 3, 4), (2, 3, 7), (3, 4, 4)])
def test_every_data_set_lies_in_the_interval(
    users: int, messages: int, modulus: int, t: Fraction
) -> None:
    """A bit with the heads of two coins each, everything that is sent enumerated."""

    def sent(bit: int) -> split.Law:
        return split.shares({bit + z: mass for z, mass in NOISE.items()}, messages, modulus)

    each, worst = [sent(0), sent(1)], Fraction(0)
    for others in itertools.combinations_with_replacement((0, 1), users - 1):
        low, high = (split.mixed([each[bit], *(each[x] for x in others)]) for bit in (0, 1))
        worst = max(worst, hockey_stick(low, high, t), hockey_stick(high, low, t))
    found = SplitAndMix(NoiseShare(BinomialNoise(2)), users, messages, modulus).delta(math.log(t))
    assert found.status is Status.PROVEN
    assert found.lower <= float(worst) * (1 + 1e-9) + 1e-15
    assert float(worst) <= found.upper * (1 + 1e-9)


def test_the_sum_is_told_nearly_as_by_a_secure_sum() -> None:
    for share in (
        NoiseShare(PolyaNoise(1 / 1000, 64.0), levels=64),
        NoiseShare(PolyaNoise(1 / 1000, 2.0), k=10),
    ):
        summed, split_up = Aggregated(share, 1000), SplitAndMix(share, 1000, 9)
        assert split_up.epsilon(1e-6).upper == pytest.approx(
            summed.epsilon(1e-6).upper, rel=1e-3, abs=0.0
        )
        assert split_up.epsilon(1e-6).gap < 0.01
        assert split_up.delta(1.0001).upper > 0.0
        assert (split_up**3).epsilon(1e-6).upper < 3.001


def test_colluders_and_dropouts_take_shares_and_messages_away() -> None:
    share = NoiseShare(PolyaNoise(1 / 300, 20.0), levels=20)
    few = SplitAndMix(share, 300, 9, 1 << 20)
    alike = [
        SplitAndMix(share, 500, 9, 1 << 20, colluders=200),
        SplitAndMix(share, 500, 9, 1 << 20, minimum_batch=350, colluders=50),
    ]
    assert len({each.epsilon(1e-4) for each in (few, *alike)}) == 1
    assert len({each.distance for each in (few, *alike)}) == 1


def test_a_large_delta_beyond_any_epsilon_is_not_forgotten() -> None:
    """What shares tell besides the sum does not vanish, however large epsilon is."""
    protocol = SplitAndMix(NoiseShare(PolyaNoise(1 / 5, 3.0), levels=3), 5, 3, 64)
    deltas = [protocol.delta(epsilon).upper for epsilon in (0.0, 1.0, 2.0, 10.0, 300.0)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] >= protocol.distance


def test_what_is_refused_and_what_comes_back() -> None:
    share = NoiseShare(PolyaNoise(0.1, 2.0), levels=4)
    with pytest.raises(ParameterError, match="messages"):
        SplitAndMix(share, 10, 2)
    with pytest.raises(ParameterError, match="modulus"):
        SplitAndMix(share, 10, 3, 40)
    with pytest.raises(ParameterError, match="share"):
        SplitAndMix(PolyaNoise(0.1, 2.0), 10, 3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="colluders"):
        SplitAndMix(share, 10, 3, colluders=10)
    protocol = SplitAndMix(share, 10, 3, colluders=2)
    assert restore(json.loads(json.dumps(describe(protocol)))) == protocol

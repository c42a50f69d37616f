"""Users with several columns: separate shuffles compose, and nothing else would do."""

import math
from fractions import Fraction

import pytest

from shuffledp import KRR, OneBitMean, Rounds, Shuffled
from shuffledp.accounting.protocols.named import deployment
from shuffledp.accounting.randomizers import RoundedResponse
from tests.oracles.brute_force import Channel, response_with_spectator
from tests.oracles.columns import linked, unlinked, worst_delta

BITS = response_with_spectator(3, 0)
THREE = response_with_spectator(2, 1)
LARGE = response_with_spectator(9, 0)


def _rounds(channels: tuple[Channel, ...], n: int) -> Rounds:
    kinds = [KRR(len(x), eps0=math.log(float(x[0][0] / x[0][1]))) for x in channels]
    return Rounds([Shuffled(kind, n) for kind in kinds])


@pytest.mark.parametrize(
    ("channels", "n"),
    [
        ((BITS, BITS), 1),
        ((BITS, BITS), 2),
        ((BITS, LARGE), 2),
        ((BITS, THREE), 2),
        ((THREE, THREE), 2),
        ((BITS, BITS), 3),
        ((BITS, LARGE), 3),
        ((BITS, BITS, LARGE), 2),
    ],
)
@pytest.mark.parametrize("e", [Fraction(1), Fraction(3, 2), Fraction(4)])
def test_every_data_set_of_two_columns_is_inside(channels, n, e) -> None:
    truth = float(worst_delta(channels, n, e, unlinked))
    found = _rounds(channels, n).delta(math.log(e))
    assert found.lower <= truth * (1.0 + 1e-9) + 1e-15
    assert truth <= found.upper * (1.0 + 1e-9) + 1e-15
    assert found.upper <= truth * 1.25 + 1e-12 or n > 1  # alone nobody hides anybody: exact


def test_linked_reports_leak_more_than_is_said_of_separate_ones() -> None:
    """What the transport must prevent: otherwise the account is wrong."""
    e = Fraction(5)
    said = _rounds((LARGE, LARGE), 3).delta(math.log(e)).upper
    assert float(worst_delta((LARGE, LARGE), 3, e, linked)) > 1.05 * said
    assert float(worst_delta((LARGE, LARGE), 3, e, unlinked)) <= said


def test_a_vector_in_messages_is_as_many_rounds() -> None:
    once = deployment("krr", k=8, eps0=4.0, n=1000)
    sent = deployment("krr", k=8, eps0=4.0, n=1000, messages=16)
    assert sent == once**16
    twice = deployment("krr", k=8, eps0=4.0, n=1000, messages=16, rounds=2)
    assert twice.epsilon(1e-6).upper == (once**32).epsilon(1e-6).upper
    assert sent.epsilon(1e-6).upper > once.epsilon(1e-6).upper


def test_few_levels_and_one_bit_are_the_same_message() -> None:
    """Rounding to two levels is the one-bit mean: so are their sixteen messages."""
    levels = Rounds([(Shuffled(RoundedResponse(2, eps0=1.5), 50), 16)])
    bits = Rounds([(Shuffled(OneBitMean(eps0=1.5), 50), 16)])
    assert levels.delta(0.7).upper == pytest.approx(bits.delta(0.7).upper, rel=1e-3, abs=0.0)

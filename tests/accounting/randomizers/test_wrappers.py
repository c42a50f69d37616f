"""Check-in, draws and rounds wrap in one order only; budgets add up over rounds."""

import pytest

from shuffledp import BinaryRR, CheckIn, ParameterError, Repeated, Rounds, Shuffled, Subsampled

REPORT = BinaryRR(eps0=1.0)


def test_the_budget_of_many_rounds_is_the_sum() -> None:
    assert Repeated(REPORT, 10).eps0 == Repeated(REPORT, 10).pure == 10.0
    assert Repeated(CheckIn(REPORT, 0.5), 3).pure == 3.0
    assert Rounds([(Shuffled(Repeated(REPORT, 10), 5), 3)]).pure == pytest.approx(30.0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: CheckIn(Repeated(REPORT, 10), 0.5),
        lambda: Subsampled(Repeated(REPORT, 10), 2),
        lambda: Repeated(Repeated(REPORT, 10), 2),
        lambda: CheckIn(Subsampled(REPORT, 2), 0.5),
        lambda: Subsampled(Subsampled(REPORT, 2), 1),
    ],
)
def test_rounds_inside_a_round_are_refused(wrong) -> None:
    with pytest.raises(ParameterError, match="in the order Repeated"):
        wrong()


def test_check_in_may_be_drawn_and_repeated() -> None:
    assert Repeated(Subsampled(CheckIn(REPORT, 0.5), 2), 7).pure == 7.0

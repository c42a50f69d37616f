"""What the paper prints, and what its bounds are worth."""

import math

import pytest

from shuffledp import CheckIn, Gaussian, RegimeError, Repeated, Shuffled, Status, Subsampled
from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.bounds.liew2023 import theorem_2, theorem_3
from shuffledp.accounting.bounds.shuffle_gaussian import gaussian_pair, shuffle_gaussian_rdp
from shuffledp.accounting.curves import OrderTable
from shuffledp.accounting.protocols.refute import recompute
from shuffledp.research.reproduce import ITEMS

N, DELTA = 60_000, 1.0 / 60_000


@pytest.mark.parametrize(
    ("rounds", "printed"),
    list(
        enumerate(("0.22820", "0.22820", "0.22821", "0.22821", "0.22821", "0.22822", "0.22822"), 1)
    ),
)
def test_table_1_to_all_printed_digits(rounds: int, printed: str) -> None:
    curve = shuffle_gaussian_rdp.curve(Repeated(Gaussian(9.48, 1.0), rounds), N)
    assert f"{OrderTable(curve.table, 30).epsilon(DELTA):.5f}" == printed


def test_more_orders_of_the_same_theorem() -> None:
    epsilon, order = shuffle_gaussian_rdp.curve(Gaussian(9.48, 1.0), N).best_epsilon(DELTA)
    assert epsilon == pytest.approx(0.001406, abs=1e-6)
    assert order > 1000


def test_the_papers_check_in_setting() -> None:
    randomizer = Repeated(CheckIn(Gaussian(5.0, 1.0), 0.1), 5540)
    assert theorem_3.curve(randomizer, N).epsilon(DELTA) == pytest.approx(9.617, abs=1e-3)
    assert shuffle_gaussian_rdp.curve(randomizer, N).best_epsilon(DELTA) == (
        pytest.approx(0.06079, abs=1e-5),
        177,
    )


def test_clones_row_uses_twice_the_sensitivity() -> None:
    assert 2.0 * math.sqrt(2.0 * math.log(1.25 * N)) == pytest.approx(9.48, abs=5e-3)
    row = [
        Shuffled(Repeated(Gaussian(9.48, 2.0), k), N).bound("liew-2023-clones", delta=DELTA).value
        for k in range(1, 8)
    ]
    printed = (0.18623, 0.38461, 0.59516, 0.79355, 1.02241, 1.22689, 1.43138)
    for ours, theirs in zip(row, printed, strict=True):
        assert 0.97 < ours / theirs <= 1.0


@pytest.mark.parametrize("order", [2, 3, 8, 20])
def test_theorem_2_is_above_the_exact_value(order: int) -> None:
    randomizer = Subsampled(Gaussian(2.0, 1.0), 100)
    exact = gaussian_pair(randomizer, 1000).renyi(order).upper
    assert theorem_2.curve(randomizer, 1000).renyi(order) > exact


def test_equation_17_is_refuted() -> None:
    claimed, leaked = recompute("liew-2023-eq-17")
    case = get_bound("liew-2023-eq-17").theorem.refutation
    assert case is not None
    assert claimed.value == pytest.approx(case.claimed, rel=1e-3, abs=0.0)
    assert leaked.value == pytest.approx(case.leaked, rel=1e-3, abs=0.0)
    assert leaked.value > claimed.value
    assert claimed.status is Status.REFUTED


def test_theorem_3_fails_where_few_check_in() -> None:
    randomizer = CheckIn(Gaussian(1.0, 1.0), 0.1)
    claimed = theorem_3.curve(randomizer, 2).renyi(8)
    assert claimed == pytest.approx(1.571, abs=1e-3)
    assert gaussian_pair(randomizer, 2).renyi(8).lower == pytest.approx(2.979, abs=1e-3)


def test_silent_where_they_do_not_apply() -> None:
    for theorem in ("liew-2023-theorem-2", "liew-2023-eq-17", "liew-2023-theorem-3"):
        with pytest.raises(RegimeError):
            Shuffled(Gaussian(5.0, 1.0), 100).bound(theorem, order=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["liew-2023-table-1", "liew-2023-figure-1a", "liew-2023-figure-1b"]
)
def test_reproductions_run(name: str) -> None:
    result = ITEMS[name].run()
    assert len(result.rows) >= 7
    assert all(len(row) == len(result.columns) for row in result.rows)

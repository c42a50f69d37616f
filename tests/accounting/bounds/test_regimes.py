"""Just outside its regime a theorem raises, and says which one it is; just inside it answers."""

import math

import pytest

from shuffledp import LDP, Channel, ConversionError, RegimeError, Shuffled
from shuffledp.accounting.bounds import all_bounds

LN = math.log


def _feldman_2021(n: int, delta: float) -> float:
    return LN(n / (16 * LN(2 / delta)))


def _feldman_2023(n: int, delta: float) -> float:
    return LN(n / (8 * LN(2 / delta)) - 1)


CASES = [
    # theorem, parameters inside, parameters just outside, question
    ("erlingsson-2019", (0.5, 1000), (math.nextafter(0.5, 1), 1000), {"delta": 1e-6}),
    ("erlingsson-2019", (0.5, 1000), (0.5, 999), {"delta": 1e-6}),
    (
        "feldman-2021-closed",
        (_feldman_2021(10**4, 1e-6) - 1e-9, 10**4),
        (_feldman_2021(10**4, 1e-6) + 1e-9, 10**4),
        {"delta": 1e-6},
    ),
    (
        "feldman-2023-closed",
        (_feldman_2023(10**4, 1e-6) - 1e-9, 10**4),
        (_feldman_2023(10**4, 1e-6) + 1e-9, 10**4),
        {"delta": 1e-6},
    ),
    ("chen-2024-gdp", (1.0, 2), (1.0, 1), {"delta": 1e-6}),
    (
        "feldman-2023-rdp-quoted",
        (1.0, 10**4),
        (1.0, 80),
        {"order": 2.0},
    ),
]


@pytest.mark.parametrize(("theorem", "inside", "outside", "question"), CASES)
def test_edge_of_the_regime(theorem, inside, outside, question) -> None:
    eps0, n = inside
    assert Shuffled(LDP(eps0), n).bound(theorem, **question).value >= 0.0
    eps0, n = outside
    with pytest.raises(RegimeError, match=theorem) as caught:
        Shuffled(LDP(eps0), n).bound(theorem, **question)
    assert caught.value.theorem == theorem


@pytest.mark.parametrize("delta", [0.0101, 0.5])
def test_erlingsson_needs_a_small_delta(delta: float) -> None:
    protocol = Shuffled(LDP(0.4), 10_000)
    assert protocol.bound("erlingsson-2019", delta=0.01).value < 0.4
    with pytest.raises(RegimeError, match="erlingsson-2019"):
        protocol.bound("erlingsson-2019", delta=delta)


@pytest.mark.parametrize("n", [1, 2, 8, 100])
def test_closed_forms_are_silent_for_few_users(n: int) -> None:
    for theorem in ("feldman-2021-closed", "feldman-2023-closed"):
        with pytest.raises(RegimeError, match=theorem):
            Shuffled(LDP(1.0), n).bound(theorem, delta=1e-9)


@pytest.mark.parametrize("theorem", ["girgis-2021-full", "girgis-2021-simple", "girgis-2021-lower"])
@pytest.mark.parametrize("order", [1.5, 2.5, 3.0001])
def test_integer_orders_only(theorem: str, order: float) -> None:
    with pytest.raises(ConversionError, match="integer orders"):
        Shuffled(LDP(1.0), 1000).bound(theorem, order=order)


APPROXIMATE = {"stronger-clones-approximate", "feldman-2021-approximate"}
LOWER = {"dataset-2rr", "dataset-3rr", "girgis-2021-lower"}


@pytest.mark.parametrize(
    "theorem",
    sorted({b.theorem.id for b in all_bounds()} - APPROXIMATE - LOWER - {"ccc-2024-personal"}),
)
def test_pure_theorems_refuse_delta0(theorem: str) -> None:
    with pytest.raises(RegimeError, match=theorem):
        Shuffled(LDP(0.4, delta0=1e-9), 2000).bound(theorem, order=2.0)


@pytest.mark.parametrize("theorem", sorted(APPROXIMATE))
def test_approximate_theorems_need_delta0(theorem: str) -> None:
    with pytest.raises(RegimeError, match=theorem):
        Shuffled(LDP(0.4), 2000).bound(theorem, delta=1e-6)


@pytest.mark.parametrize("theorem", sorted(APPROXIMATE))
def test_no_epsilon_below_delta0(theorem: str) -> None:
    """At delta < delta0 no finite epsilon is known; the error names the theorem."""
    with pytest.raises(RegimeError, match=theorem):
        Shuffled(LDP(1.0, delta0=1e-6), 100).bound(theorem, delta=1e-7)


def test_closed_form_delta_below_its_smallest_epsilon() -> None:
    with pytest.raises(RegimeError, match="feldman-2023-closed"):
        Shuffled(LDP(1.0), 10_000).bound("feldman-2023-closed", epsilon=1e-4)


@pytest.mark.parametrize("theorem", ["variation-ratio", "variation-ratio-2024"])
def test_reports_that_tell_nothing_have_no_ratio(theorem: str) -> None:
    alike = Channel([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(RegimeError, match="0 < eps0"):
        Shuffled(alike, 1).bound(theorem, epsilon=0.8)

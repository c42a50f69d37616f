"""What every bound must obey, over thousands of random protocols."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shuffledp import LDP, ConversionError, Direction, RegimeError, Shuffled, Status
from shuffledp.accounting.bounds import all_bounds, get_bound
from tests.oracles.balls import arb, precise

PROVEN = [b for b in all_bounds() if b.theorem.status is Status.PROVEN]
LOWER = [b for b in all_bounds() if b.theorem.direction is Direction.LOWER]
# the same curves under another name, or thousands of terms per answer: not in the longest runs
COSTLY = {"chen-2024-exact", "chen-2024-exact-stronger", "girgis-2021-full"}
CHEAP = [b for b in PROVEN if b.theorem.id not in COSTLY]
SWAPS = [b for b in CHEAP if b.theorem.id.startswith("swap")]
PLAIN = [b for b in CHEAP if b not in SWAPS]

local_budgets = st.floats(-4.0, 1.3).map(lambda x: 10.0**x)
sizes = st.floats(0.0, 12.0).map(lambda x: round(10.0**x))
small_sizes = st.floats(0.0, 4.3).map(lambda x: round(10.0**x)) | st.integers(1, 50)
shares = st.just(0.0) | st.floats(1e-9, 0.999999) | st.floats(-9.0, -0.01).map(lambda x: 10.0**x)


def _answers(bounds, eps0: float, n: int, quantity: str, value: float) -> dict[str, float]:
    found = {}
    for b in bounds:
        try:
            found[b.theorem.id] = getattr(b.curve(LDP(eps0), n), quantity)(value)
        except (RegimeError, ConversionError):
            continue
    return found


def _check_order(eps0: float, n: int, quantity: str, value: float, proven=PROVEN) -> None:
    uppers = _answers(proven, eps0, n, quantity, value)
    lowers = _answers(LOWER, eps0, n, quantity, value)
    assert uppers
    assert lowers
    sign = -1.0 if quantity == "tradeoff" else 1.0
    worst = max(lowers, key=lambda name: sign * lowers[name])
    for name, upper in uppers.items():
        assert math.isfinite(upper), name
        assert sign * upper >= sign * lowers[worst], (name, upper, worst, lowers[worst])


@settings(max_examples=2000)
@given(local_budgets, small_sizes, shares)
def test_no_proven_delta_below_a_leak(eps0: float, n: int, share: float) -> None:
    _check_order(eps0, n, "delta", share * eps0, PLAIN)


@settings(max_examples=300)
@given(local_budgets, st.integers(10, 20_000), shares)
def test_no_swap_delta_below_a_leak(eps0: float, n: int, share: float) -> None:
    _check_order(eps0, n, "delta", share * eps0, SWAPS)


@settings(max_examples=40)
@given(local_budgets, sizes, shares)
def test_no_proven_delta_below_a_leak_for_any_n(eps0: float, n: int, share: float) -> None:
    _check_order(eps0, n, "delta", share * eps0, CHEAP)


@pytest.mark.parametrize("eps0", [1e-4, 1.0, 20.0])
@pytest.mark.parametrize("n", [1, 2, 1000])
@pytest.mark.parametrize("gap", [0.0, 2e-16, 1e-15, 1e-12])
def test_just_below_eps0(eps0: float, n: int, gap: float) -> None:
    """A single rounding in e^eps0 - e^eps would make a bound say 0 here."""
    epsilon = math.nextafter(eps0, 0.0) if gap == 0.0 else eps0 * (1.0 - gap)
    _check_order(eps0, n, "delta", epsilon, CHEAP)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-200, 1e-20])
@pytest.mark.parametrize("eps0", [1e-4, 1.0, 20.0])
@pytest.mark.parametrize("n", [1, 1000])
def test_tiny_epsilon(eps0: float, n: int, epsilon: float) -> None:
    _check_order(eps0, n, "delta", epsilon, CHEAP)


@pytest.mark.slow
@settings(max_examples=100)
@given(local_budgets, sizes, shares)
def test_no_bound_at_all_below_a_leak(eps0: float, n: int, share: float) -> None:
    _check_order(eps0, n, "delta", share * eps0)


@settings(max_examples=25)
@given(local_budgets, sizes, st.floats(0.01, 30.0))
def test_no_proven_epsilon_below_a_leak(eps0: float, n: int, digits: float) -> None:
    _check_order(eps0, n, "epsilon", 10.0**-digits, CHEAP)


@settings(max_examples=30)
@given(local_budgets, small_sizes, st.integers(2, 64).map(float) | st.floats(1.001, 64.0))
def test_no_proven_divergence_below_a_leak(eps0: float, n: int, order: float) -> None:
    _check_order(eps0, n, "renyi", order, [b for b in PROVEN if b not in SWAPS])


@settings(max_examples=10)
@given(local_budgets, st.integers(10, 20_000), st.floats(1.001, 64.0))
def test_no_swap_divergence_below_a_leak(eps0: float, n: int, order: float) -> None:
    _check_order(eps0, n, "renyi", order, SWAPS)


@settings(max_examples=12)
@given(
    local_budgets, small_sizes, st.floats(0.0, 1.0) | st.floats(-12.0, 0.0).map(lambda x: 10.0**x)
)
def test_no_proven_tradeoff_above_a_leak(eps0: float, n: int, alpha: float) -> None:
    _check_order(eps0, n, "tradeoff", alpha, CHEAP)


def _check_monotone(eps0: float, n: int, epsilon: float, factor: float) -> None:
    """Down in epsilon, down in n, up in eps0; each comparison through certified ends."""
    pair = get_bound("stronger-clones").curve
    here = pair(LDP(eps0), n).enclose(epsilon)
    assert 0.0 <= here.lower <= here.upper <= 1.0
    assert pair(LDP(eps0), n).enclose(epsilon * factor).lower <= here.upper
    more = min(math.ceil(n * factor), 10**12)
    assert pair(LDP(eps0), more).enclose(epsilon).lower <= here.upper
    assert pair(LDP(eps0 * factor), n).enclose(epsilon).upper >= here.lower


@settings(max_examples=300)
@given(local_budgets, small_sizes, shares)
def test_the_ends_of_delta_are_in_order(eps0: float, n: int, share: float) -> None:
    found = Shuffled(LDP(eps0), n).delta(epsilon=share * eps0)
    assert 0.0 <= found.lower <= found.upper <= 1.0


@settings(max_examples=2000)
@given(local_budgets, small_sizes, shares, st.floats(1.0, 3.0))
def test_delta_is_monotone(eps0: float, n: int, share: float, factor: float) -> None:
    _check_monotone(eps0, n, share * eps0, factor)


@settings(max_examples=40)
@given(local_budgets, sizes, shares, st.floats(1.0, 3.0))
def test_delta_is_monotone_for_any_n(eps0: float, n: int, share: float, factor: float) -> None:
    _check_monotone(eps0, n, share * eps0, factor)


@settings(max_examples=30)
@given(local_budgets, sizes, st.floats(0.01, 30.0), st.floats(1.001, 3.0))
def test_epsilon_interval_is_monotone(eps0: float, n: int, digits: float, factor: float) -> None:
    delta = 10.0**-digits
    here = Shuffled(LDP(eps0), n).epsilon(delta)
    assert 0.0 <= here.lower <= here.upper <= eps0
    assert Shuffled(LDP(eps0), n).epsilon(delta / factor).upper >= here.lower
    more = min(math.ceil(n * factor), 10**12)
    assert Shuffled(LDP(eps0), more).epsilon(delta).lower <= here.upper
    assert Shuffled(LDP(eps0 * factor), n).epsilon(delta).upper >= here.lower


@settings(max_examples=120)
@given(
    local_budgets,
    small_sizes,
    st.floats(0.01, 30.0),
    st.sampled_from([b.theorem.id for b in CHEAP]),
)
def test_no_proven_epsilon_above_eps0(eps0: float, n: int, digits: float, name: str) -> None:
    """Shuffling cannot hurt: no bound need say more than the local guarantee."""
    try:
        found = get_bound(name).curve(LDP(eps0), n).epsilon(10.0**-digits)
    except (RegimeError, ConversionError):
        assume(False)
    assert found <= eps0


@precise
def _one_user(eps0: float, epsilon: float) -> arb:
    big = arb(eps0).exp()
    return (big - arb(epsilon).exp()) / (big + 1)


@settings(max_examples=300)
@given(
    st.floats(-8.0, 2.0).map(lambda x: 10.0**x),
    st.floats(0.0, 0.9999),
    st.sampled_from(["stronger-clones", "feldman-2021", "local", "dataset-2rr"]),
)
def test_one_user(eps0: float, share: float, name: str) -> None:
    """n = 1: delta = (E - e)/(E + 1), for the pairs, the data set and the local bound alike."""
    epsilon = share * eps0
    exact = _one_user(eps0, epsilon)
    found = get_bound(name).curve(LDP(eps0), 1).enclose(epsilon)
    assert found.lower <= float(exact.upper())
    assert found.upper >= float(exact.lower())
    assert found.upper == pytest.approx(float(exact.mid()), rel=1e-12, abs=0.0)
    assert found.lower == pytest.approx(float(exact.mid()), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("n", [1, 2, 1000, 10**9])
@pytest.mark.parametrize("name", ["stronger-clones", "feldman-2021", "wang-2023"])
def test_nothing_is_lost_as_eps0_vanishes(n: int, name: str) -> None:
    """delta(0) goes to 0 in proportion to eps0 and stays sound: never below the data set's."""
    values = []
    for eps0 in (1e-3, 1e-6, 1e-9):
        found = get_bound(name).curve(LDP(eps0), n).delta(0.0)
        assert 0.0 < found <= 0.51 * eps0
        assert found >= get_bound("dataset-2rr").curve(LDP(eps0), n).delta(0.0)
        values.append(found / eps0)
    assert values[0] == pytest.approx(values[1], rel=2e-3, abs=0.0)
    assert values[1] == pytest.approx(values[2], rel=2e-3, abs=0.0)


@pytest.mark.parametrize("n", [1, 3, 1000, 10**9])
@pytest.mark.parametrize("eps0", [1e-4, 1.0, 20.0, 40.0, 800.0])
@pytest.mark.parametrize("factor", [1.0, 1.0 + 1e-15, 2.0, 100.0])
def test_exactly_zero_from_eps0_on(n: int, eps0: float, factor: float) -> None:
    for name in ("stronger-clones", "feldman-2021", "wang-2023", "local", "dataset-2rr"):
        assert get_bound(name).curve(LDP(eps0), n).delta(eps0 * factor) == 0.0
    found = Shuffled(LDP(eps0), n).delta(epsilon=eps0 * factor)
    assert (found.lower, found.upper) == (0.0, 0.0)


@settings(max_examples=60)
@given(local_budgets, sizes, st.floats(2.0, 20.0))
def test_epsilon_and_delta_are_inverse(eps0: float, n: int, digits: float) -> None:
    """The epsilon guaranteed at delta has, checked again, a delta that may be at most delta."""
    delta = 10.0**-digits
    found = Shuffled(LDP(eps0), n).epsilon(delta)
    again = get_bound(found.theorem).curve(LDP(eps0), n).enclose(found.upper)
    assert again.lower <= delta

"""The inverse, checked forward and for being the best."""

import json
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import LDP, Calibration, Laplace, ParameterError, Repeated, Shuffled, calibrate


def _upper(eps0: float, n: int, epsilon: float) -> float:
    return Shuffled(LDP(eps0), n).proven().delta(epsilon)


@settings(max_examples=40)
@given(st.floats(0.0, 9.0), st.floats(-2.0, 0.6), st.floats(1.0, 15.0))
def test_largest_eps0(size: float, log_epsilon: float, digits: float) -> None:
    n, epsilon, delta = round(10.0**size), 10.0**log_epsilon, 10.0**-digits
    found = calibrate(LDP, n=n, epsilon=epsilon, delta=delta)
    assert found.parameter == "eps0"
    assert found.value >= epsilon
    assert found.achieved.upper <= delta
    assert _upper(found.value, n, epsilon) <= delta
    assert _upper(found.value * (1.0 + 1e-6), n, epsilon) > delta


@settings(max_examples=40)
@given(st.floats(-3.0, 0.9), st.floats(0.02, 0.95), st.floats(0.6, 12.0))
def test_smallest_n(log_eps0: float, share: float, digits: float) -> None:
    eps0 = 10.0**log_eps0
    epsilon, delta = share * eps0, 10.0**-digits
    found = calibrate(LDP, eps0=eps0, epsilon=epsilon, delta=delta)
    n = found.value
    assert found.parameter == "n"
    assert found.protocol == Shuffled(LDP(eps0), int(n))
    assert _upper(eps0, int(n), epsilon) <= delta
    assert n == 1 or _upper(eps0, int(n) - 1, epsilon) > delta


@pytest.mark.parametrize("epsilon", [1e-3, 5e-3, 0.02])
@pytest.mark.parametrize("delta", [0.02, 0.1, 0.3])
def test_smallest_n_at_a_large_delta(epsilon: float, delta: float) -> None:
    """delta falls like 1/sqrt(n) here: a coarse search would stop too early."""
    found = calibrate(LDP, eps0=3.0, epsilon=epsilon, delta=delta)
    assert _upper(3.0, int(found.value), epsilon) <= delta
    assert _upper(3.0, int(found.value) - 1, epsilon) > delta


@pytest.mark.parametrize(
    ("n", "epsilon", "delta"), [(300, 0.3, 1e-4), (10**5, 0.05, 1e-6), (10**9, 1e-3, 1e-12)]
)
def test_users_who_look_at_their_own_values_alone_may_say_more(
    n: int, epsilon: float, delta: float
) -> None:
    alone, in_order = (
        calibrate(family, n=n, epsilon=epsilon, delta=delta)
        for family in (LDP, partial(LDP, sequential=True))
    )
    assert alone.value > in_order.value
    assert alone.achieved.theorem == "swap-ldp"
    assert Shuffled(LDP(alone.value * (1.0 + 1e-6)), n).delta(epsilon).upper > delta
    fewest = calibrate(LDP, eps0=in_order.value, epsilon=epsilon, delta=delta)
    assert fewest.value < n
    assert fewest.achieved.upper <= delta


@pytest.mark.parametrize("epsilon", [30.0, 59.0, 60.0, 75.0, 500.0])
def test_eps0_is_never_below_epsilon(epsilon: float) -> None:
    """eps0 = epsilon always holds, so the largest is at least that."""
    found = calibrate(LDP, n=1000, epsilon=epsilon, delta=1e-6)
    assert found.value >= epsilon


def test_one_user_is_enough_when_eps0_is_below_epsilon() -> None:
    assert calibrate(LDP, eps0=0.5, epsilon=0.5, delta=1e-9).value == 1


def test_unreachable() -> None:
    with pytest.raises(ParameterError, match="reachable"):
        calibrate(LDP, eps0=25.0, epsilon=1e-6, delta=1e-12)


def test_json() -> None:
    found = calibrate(LDP, n=100_000, epsilon=0.5, delta=1e-6)
    assert isinstance(found, Calibration)
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["parameter"] == "eps0"
    assert again["eps0"] == found.value
    assert again["n"] == 100_000
    assert again["status"] == "PROVEN"
    assert again["theorem"] == "stronger-clones"
    assert again["delta"]["upper"] <= 1e-6


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"epsilon": 0.5, "delta": 1e-6}, "n"),
        ({"epsilon": 0.5, "delta": 1e-6, "n": 10, "eps0": 1.0}, "n"),
        ({"epsilon": 0.0, "delta": 1e-6, "n": 10}, "epsilon"),
        ({"epsilon": 0.5, "delta": 1.0, "n": 10}, "delta"),
        ({"epsilon": 0.5, "delta": 1e-6, "n": 0}, "n"),
        ({"epsilon": 0.5, "delta": 1e-6, "eps0": -1.0}, "eps0"),
    ],
)
def test_bad_calls(arguments, parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        calibrate(LDP, **arguments)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("randomizer", [LDP(1.0), "LDP", int, None])
def test_needs_a_randomizer_class(randomizer) -> None:
    with pytest.raises(ParameterError, match="randomizer"):
        calibrate(randomizer, epsilon=0.5, delta=1e-6, n=10)


@pytest.mark.parametrize("delta0", [1e-10, 1e-14])
def test_fewest_users_although_the_bound_rises_again(delta0: float) -> None:
    """With delta0 > 0 more users can worsen the bound: the smallest n is found all the same."""
    found = calibrate(LDP, eps0=2.0, epsilon=0.2, delta=1e-6, delta0=delta0)
    assert 3000 < found.value < 4000
    assert found.achieved.upper <= 1e-6


def test_what_ended_the_search_is_said() -> None:
    by_target = calibrate(Laplace, n=100_000, epsilon=0.1, delta=1e-6)
    assert by_target.note == ""
    by_theorem = calibrate(Laplace, n=100_000, epsilon=0.3, delta=1e-6)
    assert by_theorem.achieved.upper < 0.9e-6
    assert "swap-laplace ends here, not the target" in by_theorem.note
    assert "blanket" in by_theorem.note
    at_the_end = calibrate(LDP, n=100, epsilon=59.9, delta=0.5)
    assert "no larger eps0 than 60" in at_the_end.note


@pytest.mark.parametrize(("epsilon", "rounds"), [(0.1, 365), (2.0, 40)])
def test_rounds_may_need_less_than_epsilon_each(epsilon: float, rounds: int) -> None:
    """Few users, many rounds: the budget of one of them is below the target."""

    def family(eps0: float) -> Repeated:
        return Repeated(LDP(eps0), rounds)

    found = calibrate(family, n=100, epsilon=epsilon, delta=1e-6)
    assert epsilon / rounds < found.value < epsilon
    assert found.achieved.upper <= 1e-6
    more = Shuffled(family(found.value * (1.0 + 1e-6)), 100)
    assert more.proven().delta(epsilon) > 1e-6

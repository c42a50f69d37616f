"""Rényi divergences of the clone pair and of the concrete data sets, against full sums."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import LDP
from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.bounds.clones import pair_renyi, standard_weight, stronger_weight
from tests.oracles import clones, datasets
from tests.oracles.balls import at_least, at_most, contains, off

WEIGHTS = {
    "2/(E+1)": (stronger_weight, clones.stronger),
    "1/E": (standard_weight, clones.standard),
}

orders = st.floats(1.001, 200.0) | st.integers(2, 200).map(float) | st.floats(1.001, 2.0)
local_budgets = st.floats(-4.0, 1.3).map(lambda x: 10.0**x)


@settings(max_examples=150)
@given(local_budgets, st.integers(1, 60), orders, st.sampled_from(sorted(WEIGHTS)))
def test_divergence_agrees_with_the_full_sum(
    eps0: float, n: int, order: float, weight: str
) -> None:
    ours, oracle = WEIGHTS[weight]
    found = pair_renyi(eps0, n, ours, order)
    exact = clones.renyi(eps0, n, order, oracle(eps0))
    assert contains(found.lower, found.upper, exact)
    assert off(found.lower, exact) <= 1e-9
    assert off(found.upper, exact) <= 1e-9


@pytest.mark.parametrize("eps0", [1e-3, 0.5, 3.0, 8.0])
@pytest.mark.parametrize("order", [1.001, 2.0, 7.3, 60.0])
def test_divergence_at_300_users(eps0: float, order: float) -> None:
    found = pair_renyi(eps0, 300, stronger_weight, order)
    exact = clones.renyi(eps0, 300, order, clones.stronger(eps0))
    assert contains(found.lower, found.upper, exact)
    assert off(found.upper, exact) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("eps0", [1e-3, 1.0, 6.0])
@pytest.mark.parametrize("order", [1.001, 4.0, 200.0])
@pytest.mark.parametrize("n", [601])
def test_divergence_of_grouped_counts(eps0: float, order: float, n: int) -> None:
    """Beyond 600 users counts and signs are grouped: wider, never wrong."""
    found = pair_renyi(eps0, n, stronger_weight, order)
    exact = clones.renyi(eps0, n, order, clones.stronger(eps0))
    assert contains(found.lower, found.upper, exact)
    assert off(found.upper, exact) <= 1e-2


@pytest.mark.parametrize(
    ("eps0", "n", "order"),
    [(0.01, 610, 2.0), (1.0, 620, 1.01), (3.0, 620, 40.0), (8.0, 610, 3.0)],
)
def test_grouped_counts_at_a_few_points(eps0: float, n: int, order: float) -> None:
    found = pair_renyi(eps0, n, stronger_weight, order)
    assert contains(found.lower, found.upper, clones.renyi(eps0, n, order, clones.stronger(eps0)))


@settings(max_examples=60)
@given(local_budgets, st.integers(1, 25), orders)
def test_ternary_data_set(eps0: float, n: int, order: float) -> None:
    first, second, third = datasets.randomized_response(3, eps0)
    exact = datasets.renyi(first, second, third, n, order)
    found = get_bound("dataset-3rr").curve(LDP(eps0), n).renyi(order)
    assert at_most(found, exact)
    assert off(found, exact) <= 1e-9


@settings(max_examples=100)
@given(local_budgets, st.integers(1, 150), orders)
def test_binary_data_set(eps0: float, n: int, order: float) -> None:
    first, second = datasets.randomized_response(2, eps0)
    leaves = datasets.renyi(first, second, second, n, order)
    joins = datasets.renyi(second, first, second, n, order)
    exact = leaves if leaves > joins else joins
    found = get_bound("dataset-2rr").curve(LDP(eps0), n).renyi(order)
    assert at_most(found, exact)
    assert off(found, exact) <= 1e-9


@settings(max_examples=40)
@given(local_budgets, st.floats(0.0, 12.0), orders)
def test_large_n_is_ordered(eps0: float, size: float, order: float) -> None:
    """Data sets below the stronger pair, the stronger pair below the standard one."""
    n = round(10.0**size)
    stronger = pair_renyi(eps0, n, stronger_weight, order)
    standard = pair_renyi(eps0, n, standard_weight, order)
    assert 0.0 < stronger.lower <= stronger.upper <= eps0
    assert stronger.lower <= standard.upper
    for data_set in ("dataset-2rr", "dataset-3rr"):
        assert get_bound(data_set).curve(LDP(eps0), n).renyi(order) <= stronger.upper


@settings(max_examples=100)
@given(st.floats(-8.0, 1.8).map(lambda x: 10.0**x), st.floats(1.001, 200.0))
def test_one_user_is_randomized_response(eps0: float, order: float) -> None:
    """Without others the pair, the data set and the local bound are one number."""
    first, second = datasets.randomized_response(2, eps0)
    exact = datasets.renyi(first, second, second, 1, order)
    assert at_most(get_bound("dataset-2rr").curve(LDP(eps0), 1).renyi(order), exact)
    assert at_least(get_bound("stronger-clones").curve(LDP(eps0), 1).renyi(order), exact)
    assert at_least(get_bound("local").curve(LDP(eps0), 1).renyi(order), exact)

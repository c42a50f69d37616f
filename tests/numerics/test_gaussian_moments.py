"""Rényi divergences of the pair against partitions, integration and closed forms."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    CheckIn,
    ConversionError,
    Gaussian,
    ParameterError,
    Repeated,
    Shuffled,
    Subsampled,
)
from shuffledp.accounting.bounds.shuffle_gaussian import GaussianPair, _between, gaussian_pair
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.numerics import real_orders
from shuffledp.numerics.central_moments import log_central_moments
from shuffledp.numerics.lognormal_mean import LognormalMean, log1p_exp
from shuffledp.numerics.logs import log_factorials
from shuffledp.numerics.power_series import _by_recurrence, by_squaring
from tests.oracles.gaussian import divergence, excess_by_integration

FORMS = (real_orders._series, real_orders._one_jump, real_orders._small, real_orders._large)


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 9.48, 1e3, 1e6])
def test_central_moments_have_all_their_digits(scale: float) -> None:
    h = scale**-2
    found = log_central_moments(h, 60)
    with mp.workdps(2000):
        for k in (2, 3, 4, 7, 20, 41, 60):
            exact = mp.fsum(
                (-1) ** (k - j) * mp.binomial(k, j) * mp.exp(mp.mpf(h) * j * (j - 1) / 2)
                for j in range(k + 1)
            )
            assert exact > 0
            assert float(found[k]) == pytest.approx(float(mp.log(exact)), rel=1e-14, abs=2e-14)


def test_cumulants_are_connected_graphs() -> None:
    """An independent route: cumulants by the recurrence over connected graphs, n = 7, h = 0.3."""
    h, n, top = 0.3, 7, 12
    kappa = [mp.mpf(0), mp.mpf(1)]
    for k in range(2, top + 1):
        kappa.append(
            mp.fsum(
                mp.binomial(k - 2, j - 1) * mp.expm1(mp.mpf(h) * j) * kappa[j] * kappa[k - j]
                for j in range(1, k)
            )
        )
    moments = [mp.mpf(1)]  # of the mean: cumulants n^(1-k) kappa_k
    for k in range(1, top + 1):
        moments.append(
            mp.fsum(
                mp.binomial(k - 1, j - 1) * kappa[j] * mp.mpf(n) ** (1 - j) * moments[k - j]
                for j in range(1, k + 1)
            )
        )
    found = LognormalMean(h, n).log_excess_moments(top)
    for k in range(2, top + 1):
        assert float(found[k]) == pytest.approx(float(mp.log(moments[k] - 1)), rel=1e-13, abs=0.0)


@pytest.mark.parametrize(("thin", "share"), [(1.0, 1.0), (0.1, 1.0), (1.0, 0.25)])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 60_000])
@pytest.mark.parametrize("h", [1.0, 9.48**-2, 1e-6])
def test_against_partitions(h: float, n: int, thin: float, share: float) -> None:
    found = LognormalMean(h, n, thin, share).log_excess_moments(30)
    for order in (2, 3, 8, 17, 30):
        exact = divergence(order, n, h, thin, share)
        ours = float(
            np.logaddexp(0.0, found[order]) if found[order] > -1 else np.log1p(np.exp(found[order]))
        )
        assert ours / (order - 1) == pytest.approx(exact, rel=1e-9, abs=0.0)


@settings(max_examples=60)
@given(
    st.floats(-8.0, 3.0).map(lambda x: 10.0**x),
    st.integers(1, 10**9),
    st.integers(2, 12),
    st.floats(0.01, 1.0),
)
def test_any_setting_against_partitions(h: float, n: int, order: int, thin: float) -> None:
    pair = GaussianPair(Gaussian(h**-0.5, 1.0), n, check_in=thin)
    assert pair.forward(order).upper == pytest.approx(
        divergence(order, n, pair.h, thin), rel=1e-9, abs=0.0
    )


def test_tiny_values_keep_their_digits() -> None:
    value = GaussianPair(Gaussian(9.48, 1.0), 10**9).forward(2.0).upper
    assert value == pytest.approx(math.log1p(math.expm1(9.48**-2) / 1e9), rel=1e-12, abs=0.0)
    assert value < 2e-11


@pytest.mark.parametrize(("thin", "share"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3)])
@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", [1.5, 2.0, 3.5, 6.0])
def test_reverse_direction_against_integration(
    n: int, order: float, thin: float, share: float
) -> None:
    ratio = LognormalMean(1.0, n, thin, share)
    exact = excess_by_integration(1.0 - order, 1.0, n, thin, share)
    assert math.exp(ratio.log_excess(1.0 - order)) == pytest.approx(exact, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("h", [1e-12, 1e-4, 0.04, 1.0, 10.0, 400.0, 1e6])
@pytest.mark.parametrize("order", [1.01, 1.5, 1.999, 2.0, 3.5, 30.0, 1e4])
def test_one_user_is_the_gaussian_mechanism_in_both_directions(h: float, order: float) -> None:
    pair = GaussianPair(Gaussian(h**-0.5, 1.0), 1)
    assert pair.reverse(order) == pytest.approx(0.5 * order * pair.h, rel=1e-9, abs=0.0)
    assert pair.forward(order).lower == pytest.approx(0.5 * order * pair.h, rel=1e-9, abs=0.0)
    assert pair.forward(order).upper == pytest.approx(0.5 * order * pair.h, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("thin", "share"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.3)])
@pytest.mark.parametrize(
    ("h", "n"),
    [(1.0, 2), (0.01, 2), *(pytest.param(h, 3, marks=pytest.mark.slow) for h in (1.0, 1e-6))],
)
@pytest.mark.parametrize("order", [1.3, 2.5, 3.7, 6.1])
def test_real_orders_against_integration(
    order: float, h: float, n: int, thin: float, share: float
) -> None:
    ratio = LognormalMean(h, n, thin, share)
    exact = math.log1p(excess_by_integration(order, h, n, thin, share))
    for form in FORMS:
        found = form(ratio, order)
        if found is not None:
            assert found.lower == pytest.approx(exact, rel=3e-9, abs=0.0)
            assert found.upper == pytest.approx(exact, rel=3e-9, abs=0.0)
    assert real_orders.log_moment(ratio, order) is not None


@settings(max_examples=40)
@given(
    st.floats(-6.0, 3.0).map(lambda x: 10.0**x),
    st.floats(0.0, 9.0).map(lambda x: int(10.0**x)),
    st.integers(2, 120),
    st.floats(0.001, 1.0),
    st.booleans(),
    st.floats(0.01, 0.99),
)
def test_forms_of_real_orders_agree(
    h: float, n: int, order: int, rate: float, drawn: bool, further: float
) -> None:
    ratio = LognormalMean(h, n, share=rate) if drawn else LognormalMean(h, n, thin=rate)
    exact = float(log1p_exp(ratio.log_excess_moments(order))[order])
    for form in FORMS[1:]:  # the series is the integer one
        found = form(ratio, float(order))
        if found is not None:
            assert found.lower == pytest.approx(exact, rel=1e-9, abs=0.0)
            assert found.upper == pytest.approx(found.lower, rel=3e-9, abs=0.0)
    between = [found for form in FORMS if (found := form(ratio, order + further)) is not None]
    assert between  # some form is accurate at every order up to 120
    lower, upper = max(x.lower for x in between), min(x.upper for x in between)
    assert lower <= upper * (1.0 + 1e-12)
    assert upper == pytest.approx(lower, rel=3e-9, abs=0.0)
    unshuffled = 0.5 * (order + further) * (order + further - 1.0) * h
    assert all(0.0 < x.lower <= unshuffled * (1.0 + 1e-9) for x in between)


@pytest.mark.parametrize("order", [1.001, 1.3, 2.5])
@pytest.mark.parametrize("h", [10.0, 50.0, 100.0])
def test_little_noise_and_few_reports(h: float, order: float) -> None:
    """All but nothing of the divergence of one report is left, or all but the factor n."""
    found = real_orders.log_moment(LognormalMean(h, 2), order)
    assert found is not None
    one = 0.5 * order * (order - 1.0) * h
    assert one - (order - 1.0) * math.log(2.0) <= found.upper
    assert found.lower <= min(one, one + math.log1p(2.0 ** (order - 1.0) * math.exp(-one)))


@pytest.mark.parametrize(
    ("randomizer", "n", "order"),
    [
        (CheckIn(Gaussian(0.6197, 1.0), 0.1), 5, 58.8),
        (Subsampled(Gaussian(1.0582, 1.0), 25), 50, 50.4),
        (Gaussian(0.5681, 1.0), 10**4, 50.3),
        (CheckIn(Gaussian(0.856, 1.0), 0.1), 10**4, 1.083),
        (CheckIn(Gaussian(5.0, 1.0), 0.1), 60_000, 551.5),
    ],
)
def test_real_orders_to_nine_digits_where_one_report_may_decide(
    randomizer: Randomizer, n: int, order: float
) -> None:
    found = gaussian_pair(randomizer, n).forward(order)
    assert found.upper == pytest.approx(found.lower, rel=2e-9, abs=0.0)


def test_between_two_orders_convexity_decides_where_no_form_is_accurate() -> None:
    ratio = GaussianPair(Gaussian(0.023**-0.5, 1.0), 26_454, check_in=0.107).ratio
    assert real_orders.log_moment(ratio, 1262.85) is None
    low, high = _between(ratio, 1262.85)
    table = [_between(ratio, 1262.85 + k * 1e-3) for k in (-1, 1)]
    assert low <= high <= low * 1.001
    assert table[0][0] <= high
    assert low <= table[1][1]


@pytest.mark.parametrize("h", [1e-8, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("n", [2, 50, 60_000, 10**9])
@pytest.mark.parametrize("order", [1.001, 2.5, 7.3, 40.9, 1000.5])
def test_real_orders_lie_between_their_neighbours(order: float, n: int, h: float) -> None:
    pair = GaussianPair(Gaussian(h**-0.5, 1.0), n)
    found = pair.forward(order)
    below, above = math.floor(order), math.ceil(order)
    low = pair.forward(below).lower if below > 1 else 0.0
    assert low * (1 - 1e-9) <= found.lower <= found.upper
    assert found.upper <= pair.forward(above).upper * (1 + 1e-9)


@pytest.mark.parametrize("rate", [1.0, 0.2])
def test_falls_with_n_and_stays_below_the_unshuffled(rate: float) -> None:
    """Conjecture 1, and Corollary 1."""
    tables = [
        GaussianPair(Gaussian(1.5, 1.0), n, check_in=rate).divergences(40)[2:]
        for n in (1, 2, 3, 5, 10, 100, 10**4, 10**8)
    ]
    for more, fewer in zip(tables[1:], tables[:-1], strict=True):
        assert np.all(more < fewer)
    assert np.all(tables[0] <= 0.5 * np.arange(2, 41) / 1.5**2 * (1 + 1e-12))


@pytest.mark.parametrize("sigma", [1e-3, 1e6])
@pytest.mark.parametrize("n", [1, 3, 1000, 10**9])
def test_extreme_noise_and_orders(sigma: float, n: int) -> None:
    for randomizer in (
        Gaussian(sigma, 1.0),
        CheckIn(Gaussian(sigma, 1.0), 0.1),
        Subsampled(Gaussian(sigma, 1.0), 1),
    ):
        pair = gaussian_pair(randomizer, n)
        top = 10_000 if n == 10**9 else 500
        table = pair.divergences(top)[2:]
        assert np.all(np.isfinite(table))
        assert np.all(table > 0.0)
        assert np.all(np.diff(table) >= -1e-9 * table[1:])
        assert np.all(table <= 0.5 * np.arange(2.0, top + 1.0) / sigma**2 * (1 + 1e-12))
        assert 0.0 < pair.reverse(1e4) <= 0.5e4 / sigma**2 * (1 + 1e-12)


def test_recurrence_and_squaring_agree() -> None:
    h, n = 0.01, 9
    size = 25  # from 2 (n + 1) on some terms are subtracted
    series = log_central_moments(h, size - 1) - log_factorials(size - 1)
    one, other = _by_recurrence(series, n), by_squaring(series, n)
    assert one is not None
    np.testing.assert_allclose(one[2:], other[2:], rtol=1e-12)
    longer = log_central_moments(h, 60) - log_factorials(60)
    assert _by_recurrence(longer, n) is None  # too much would be subtracted


def test_more_orders_than_usersby_squaring() -> None:
    h, n = 1e-9, 3
    table = GaussianPair(Gaussian(h**-0.5, 1.0), n).divergences(2000)
    assert table[2000] == pytest.approx(2000 * h / (2 * n), rel=1e-3, abs=0.0)


def test_rounds_add_up() -> None:
    one = gaussian_pair(CheckIn(Gaussian(2.0, 1.0), 0.3), 50)
    many = gaussian_pair(Repeated(CheckIn(Gaussian(2.0, 1.0), 0.3), 17), 50)
    for order in (1.5, 2.0, 9.0):
        assert many.renyi(order).upper == pytest.approx(
            17 * one.renyi(order).upper, rel=1e-13, abs=0.0
        )


def test_refusals() -> None:
    with pytest.raises(ParameterError):
        Repeated(Repeated(Gaussian(1.0), 2), 3)
    with pytest.raises(ParameterError, match="at most n"):
        Shuffled(Subsampled(Gaussian(1.0), 5), 4).bound("shuffle-gaussian", order=2)
    with pytest.raises(ConversionError):
        GaussianPair(Gaussian(1.0), 4).forward(1e6)


@pytest.mark.parametrize("h", [1e-8, 0.003, 0.2, 3.0])
@pytest.mark.parametrize("n", [1, 2, 7, 1000, 10**9])
def test_integer_orders_lie_within_their_own_errors(h: float, n: int) -> None:
    """E R^L - 1 for L = 2, 3, 4 in closed form, at 60 digits."""
    found, errors = LognormalMean(h, n).excess_moments(64)
    with mp.workdps(60):
        mean = [mp.exp(mp.mpf(h) * k * (k - 1) / 2) for k in range(5)]
        c2 = mean[2] - 1
        c3 = mean[3] - 3 * mean[2] + 2
        c4 = mean[4] - 4 * mean[3] + 6 * mean[2] - 3
        d2, d3 = c2 / n, c3 / mp.mpf(n) ** 2
        d4 = (c4 + 3 * (n - 1) * c2**2) / mp.mpf(n) ** 3
        for order, exact in ((2, d2), (3, 3 * d2 + d3), (4, 6 * d2 + 4 * d3 + d4)):
            off = abs(mp.expm1(mp.mpf(float(found[order])) - mp.log(exact)))
            assert off <= errors[order] < 2e-10


@pytest.mark.parametrize(("h", "n"), [(0.04, 3), (1e-3, 40), (1.0, 10), (0.3, 10**6)])
def test_many_orders_lie_within_their_own_errors(h: float, n: int) -> None:
    """The same sums with 80 digits, by repeated products of exact series."""
    top = 90
    found, errors = LognormalMean(h, n).excess_moments(top)
    with mp.workdps(120):
        mean = [mp.exp(mp.mpf(h) * k * (k - 1) / 2) for k in range(top + 1)]
        series = [mean[k] / mp.factorial(k) for k in range(top + 1)]
        power = [mp.mpf(1)] + [mp.mpf(0)] * top
        for j in range(1, top + 1):
            power[j] = (
                mp.fsum((i * (n + 1) - j) * series[i] * power[j - i] for i in range(1, j + 1)) / j
            )
        for order in range(2, top + 1):
            exact = power[order] * mp.factorial(order) / mp.mpf(n) ** order - 1
            off = abs(mp.expm1(mp.mpf(float(found[order])) - mp.log(exact)))
            assert off <= errors[order], order

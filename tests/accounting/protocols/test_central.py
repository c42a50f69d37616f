"""Training in the centre: quadrature for a few steps, published figures, laws, refusals."""

import itertools
import json
import math
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import CentralMinibatches, ParameterError, RandomAllocation, Rounds, Shuffled, Status
from shuffledp.accounting.bounds.allocation import AllocatedNoise
from shuffledp.accounting.bounds.identity import delta_lower, delta_upper
from shuffledp.accounting.bounds.largest_steps import (
    NODES_BELOW,
    RULES_ABOVE,
    RULES_BELOW,
    large_ratios,
)
from shuffledp.accounting.bounds.shuffle_gaussian import GaussianPair
from shuffledp.accounting.curves import GDPCurve
from shuffledp.accounting.protocols import describe, restore
from shuffledp.accounting.randomizers import KRR, Gaussian
from shuffledp.interfaces.cli import main
from shuffledp.ledger.entries import Entry
from shuffledp.ledger.losses import composed
from shuffledp.numerics.few_reports import expected_excess, expected_shortfall
from shuffledp.numerics.lognormal_cells import shortfalls, shortfalls_above
from shuffledp.numerics.lognormal_mean import LognormalMean
from shuffledp.numerics.sum_tests import large_ratio_tests, small_ratio_tests
from tests.oracles import central

EPSILONS = [0.0, 0.1, 0.5, 1.0, 2.0, 4.0]


def _inside(found, exact: float, within: float) -> None:
    assert found.status is Status.PROVEN
    assert found.lower <= exact * (1.0 + within) + 1e-15
    assert found.upper >= exact * (1.0 - within) - 1e-15


@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0])
def test_one_step_is_the_gaussian_mechanism(sigma):
    for epsilon in EPSILONS:
        exact = GDPCurve(1.0 / sigma).delta(epsilon)
        found = RandomAllocation(sigma, 1).delta(epsilon)
        _inside(found, exact, 1e-9)
        assert found.upper <= exact * (1.0 + 1e-6) + 1e-14


def _exact_delta(mu: float, epsilon: float) -> float:
    """Of Gaussian noise, in 60 digits."""
    with mpmath.workdps(60):
        cdf, m, e = mpmath.ncdf, mpmath.mpf(mu), mpmath.mpf(epsilon)
        return float(cdf(m / 2 - e / m) - mpmath.exp(e) * cdf(-m / 2 - e / m))


@pytest.mark.parametrize(
    ("sigma", "steps", "epochs", "delta"),
    [
        *((0.1, 1, 1, 1e-3), (0.1, 1, 1, 1e-6), (0.2, 1, 1, 1e-30), (0.3, 1, 1, 1e-20)),
        *((0.5, 4, 1, 1e-6), (1.0, 30, 1, 1e-6), (0.2, 1, 2, 1e-6), (5.0, 1, 1, 1e-6)),
    ],
)
def test_a_replaced_example_in_all_steps_is_twice_the_gaussian_mechanism(
    sigma, steps, epochs, delta
):
    """Also where epsilon is so large that nothing is left of 1 - (1 - e^-epsilon)."""
    made = RandomAllocation(sigma, steps, k=steps, neighbours="replace")
    found = (
        (made**epochs).guaranteed(delta=delta).value if epochs > 1 else made.epsilon(delta).upper
    )
    mu = 2.0 * math.sqrt(steps * epochs) / sigma
    assert _exact_delta(mu, found) <= delta * (1.0 + 1e-6)


@pytest.mark.parametrize("depth", [20.0, 36.5, 43.0, 52.0])
def test_small_ratios_at_great_depth(depth):
    """Simulated from below: seldom so far off."""
    rng = np.random.default_rng(5)
    ratio = np.exp(10.0 * rng.standard_normal((20_000, 2)) - 50.0).mean(axis=1)
    seen = np.maximum(1.0 - math.exp(depth) * ratio, 0.0).mean()
    (_, _), (low, high) = AllocatedNoise(0.1, 2).one(np.array([depth]))
    assert low[0] - 0.02 <= seen <= high[0] + 0.02
    assert high[0] <= 1.0


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_two_and_three_steps_in_both_directions(sigma, steps):
    """Certified quadratures of another module lie inside, and the ends are close."""
    ratio = LognormalMean(sigma**-2.0, steps)
    (low, high), (reverse_low, reverse_high) = AllocatedNoise(sigma, steps).one(np.array(EPSILONS))
    for i, epsilon in enumerate(EPSILONS):
        e = math.exp(epsilon)
        exact, back = expected_excess(ratio, e), expected_shortfall(ratio, 1.0 / e)
        assert low[i] <= exact.upper
        assert high[i] >= exact.lower
        assert reverse_low[i] <= e * back.upper
        assert reverse_high[i] >= e * back.lower
        if exact.lower > 1e-12:
            assert high[i] <= 1.03 * low[i]


@pytest.mark.parametrize(("sigma", "steps"), [(0.5, 100), (1.0, 1000), (2.0, 30), (10.0, 10**6)])
def test_the_other_engine_agrees(sigma, steps):
    outcomes = GaussianPair(Gaussian(sigma, sensitivity=1.0), steps).outcomes()
    deviation = math.sqrt(math.expm1(sigma**-2.0) / steps)
    epsilons = np.array([0.5, 2.0, 4.0, 6.0]) * min(deviation, 1.0)
    for way, (low, high) in zip(
        (outcomes, outcomes.swapped()), AllocatedNoise(sigma, steps).one(epsilons), strict=True
    ):
        for epsilon, below, above in zip(epsilons.tolist(), low, high, strict=True):
            assert below <= delta_upper(way, steps, epsilon, 1e-2)
            assert above >= delta_lower(way, steps, epsilon, 1e-2)


def test_published_figures():
    """Of the package of Feldman and Shenfeld: both intervals hold the truth, so they meet."""
    found = RandomAllocation(1.0, 1000).epsilon(1e-6)
    assert 0.1687 < found.lower < 0.1717 + 1e-4
    assert 0.1717 - 1e-4 < found.upper < 0.1757
    found = (RandomAllocation(2.0, 1000) ** 5).epsilon(1e-8)
    assert 0.1748 < found.lower < found.upper < 0.1783
    assert found.gap < 0.01


@pytest.mark.parametrize(
    ("sigma", "steps", "epochs", "delta"),
    [(10.0, 10**6, 10_000, 1e-8), (0.5, 1000, 10, 1e-8), (5.0, 20, 300, 1e-10), (1.0, 3, 40, 1e-5)],
)
def test_the_ends_are_within_a_percent(sigma, steps, epochs, delta):
    assert (RandomAllocation(sigma, steps) ** epochs).epsilon(delta).gap < 0.01


def test_two_epochs_of_two_steps():
    ratio, weights = central.merged(*central.allocation(1.0, 2, 1, 600), 1500)
    both, mass = (
        np.multiply.outer(ratio, ratio).ravel(),
        np.multiply.outer(weights, weights).ravel(),
    )
    for epsilon in (0.5, 2.0, 4.0):
        exact = max(central.deltas(both, mass, epsilon))
        found = (RandomAllocation(1.0, 2) ** 2).delta(epsilon)
        _inside(found, exact, 2e-3)
        assert found.upper <= 1.03 * exact


@pytest.mark.parametrize("sigma", [0.4, 1.5])
@pytest.mark.parametrize(("steps", "k"), [(3, 2), (2, 2), (5, 5)])
def test_several_steps_of_an_epoch(sigma, steps, k):
    """By quadrature, or, if an example is part of all steps, as Gaussian mechanisms compose."""
    epsilons = np.array([0.0, 0.2, 1.0, 2.0, 6.0])
    ends = AllocatedNoise(sigma, steps, k).one(epsilons)
    law = None if steps == k else central.allocation(sigma, steps, k, 120)
    for i, epsilon in enumerate(epsilons.tolist()):
        exact = (GDPCurve(math.sqrt(k) / sigma).delta(epsilon),) * 2
        exact = exact if law is None else central.deltas(*law, epsilon)
        within = 1e-9 if law is None else 6e-3
        for (low, high), truth in zip(ends, exact, strict=True):
            assert low[i] <= truth * (1.0 + within)
            assert high[i] >= truth * (1.0 - within)
            assert epsilon > 2.0 or low[i] >= (0.93 if epsilon <= 1.0 else 0.5) * truth
            if law is None and epsilon <= 2.0:
                assert high[i] <= 1.02 * truth


def test_in_all_steps_is_one_with_less_noise():
    for epsilon in EPSILONS:
        exact = GDPCurve(math.sqrt(50.0) / 7.0).delta(epsilon)
        found = RandomAllocation(7.0, 50, 50).delta(epsilon)
        _inside(found, exact, 1e-9)
        assert found.gap < 1e-6


@pytest.mark.parametrize(
    ("sigma", "steps", "k", "epochs"),
    [(1.0, 1000, 5, 1), (2.0, 100, 10, 1), (4.0, 10**5, 2, 1), (2.0, 1000, 10, 300)],
)
def test_several_steps_within_a_percent(sigma, steps, k, epochs):
    assert (RandomAllocation(sigma, steps, k) ** epochs).epsilon(1e-6).gap < 0.01


@pytest.mark.parametrize(("sigma", "k"), [(0.5, 2), (1.0, 10)])
def test_several_steps_against_a_simulation(sigma, k):
    """delta of 100 steps by importance sampling, within five standard errors of the interval."""
    steps, epsilon = 100, 3.2
    mean, error = central.simulated(sigma, steps, k, epsilon, 8000)
    found = RandomAllocation(sigma, steps, k).delta(epsilon)
    assert error < 0.05 * mean
    assert found.lower <= mean + 5.0 * error
    assert found.upper >= mean - 5.0 * error
    assert found.lower >= 0.85 * mean


@pytest.mark.parametrize(
    ("sigma", "steps", "k", "moved"),
    [(0.3, 10, 3, 1.8), (0.5, 100, 2, 2.2), (0.5, 100, 3, 2.2), (0.7, 10, 2, 2.4)],
)
def test_where_a_few_steps_decide(sigma, steps, k, moved):
    """Both ends within a percent, and delta there as simulated."""
    found = RandomAllocation(sigma, steps, k).epsilon(1e-6)
    assert found.gap < 0.01
    for epsilon, way in ((found.lower, 1.0), (found.upper, -1.0)):
        mean, error = central.simulated(sigma, steps, k, epsilon, 20_000, moved)
        assert error < 0.1 * mean
        assert way * (mean - 1e-6) > -5.0 * error


def _below_and_above(sigma: float, steps: int, k: int, epsilon: float) -> tuple[float, float]:
    largest = large_ratios(sigma**-2.0, steps, k)
    power, size = largest.tests()
    above = float(largest.above(np.array([math.expm1(epsilon)]))[0])
    return float((power - math.exp(epsilon) * size).max()), above


@pytest.mark.parametrize("sigma", [0.3, 0.6, 1.2])
def test_the_largest_steps_by_quadrature(sigma):
    """Laws above and below that of the ratio: two of three steps."""
    ratio, weights = central.allocation(sigma, 3, 2, 250)
    for epsilon in (0.0, 0.5, 2.0, 6.0, 15.0):
        exact = central.deltas(ratio, weights, epsilon)[0]
        below, above = _below_and_above(sigma, 3, 2, epsilon)
        assert below <= exact * 1.005 + 1e-12
        assert above >= exact * 0.995 - 1e-12


@pytest.mark.parametrize(
    ("sigma", "steps", "k", "epsilon"),
    [(0.3, 4, 2, 15.0), (0.3, 4, 3, 15.0), (0.6, 4, 3, 6.0), (0.15, 5, 2, 60.0), (1.4, 5, 3, 4.0)],
)
def test_the_largest_steps_against_a_simulation(sigma, steps, k, epsilon):
    runs = [central.simulated(sigma, steps, k, epsilon, 100_000, m) for m in (1.0, 1.5, 2.0)]
    mean, error = min(runs, key=lambda run: run[1] / run[0])
    below, above = _below_and_above(sigma, steps, k, epsilon)
    assert error < 0.05 * mean
    assert below <= mean + 5.0 * error
    assert above >= mean - 5.0 * error


def test_rules_of_the_largest_steps():
    """For all powers at once above, or below, the integral of (1 - v)^r v^j."""
    for r, (above, below) in enumerate(zip(RULES_ABOVE, RULES_BELOW, strict=True)):
        for j in range(400):
            exact = math.gamma(r + 1.0) / math.prod(j + 1.0 + i for i in range(r + 1))
            high = above[0] * (j == 0) + above[1] * 0.5**j + above[2]
            low = sum(w * v**j for w, v in zip(below, NODES_BELOW, strict=True))
            assert low <= exact * (1.0 + 1e-12)
            assert high >= exact * (1.0 - 1e-12)


def test_hardly_any_noise_on_several_steps():
    """Where e^-epsilon is lost next to 1: less than in all steps, more than in one of two."""
    found = RandomAllocation(0.12, 5, 3).guaranteed(delta=1e-30).value
    assert RandomAllocation(0.12, 2).epsilon(1e-30).lower < found
    assert found < RandomAllocation(0.12, 3, 3).epsilon(1e-30).upper * (1.0 + 1e-9)


def test_a_step_that_never_decides_is_not_forgotten():
    """Deep tails, where the largest steps leave something out, are those of the parts."""
    found = RandomAllocation(0.5, 20, 2).epsilon(1e-25)
    assert found.lower < found.upper < 2.0 * RandomAllocation(0.5, 10).epsilon(1e-25).upper


@given(
    sigma=st.floats(0.6, 5.0),
    steps=st.integers(8, 60),
    share=st.floats(0.0, 1.0),
    cells=st.integers(0, 10**6),
)
@settings(max_examples=5, deadline=None)
def test_no_test_beats_the_guarantee(sigma, steps, share, cells):
    """Powers and sizes of one and the same test: never more than what is proven."""
    k = 2 + int(share * (steps // 3 - 2))
    epsilon = 0.1 + 3.0 * (cells / 10**6) / sigma
    (low, high), (reverse_low, reverse_high) = AllocatedNoise(sigma, steps, k).ends(
        np.array([epsilon]), 1e-3
    )
    for tests, above in (
        (large_ratio_tests(sigma**-2.0, steps, k, math.expm1(epsilon)), high),
        (small_ratio_tests(sigma**-2.0, steps, k, epsilon), reverse_high),
    ):
        assert float((tests[0] - math.exp(epsilon) * tests[1]).max()) <= above[0]
    assert 0.0 <= low[0] <= high[0]
    assert 0.0 <= reverse_low[0] <= reverse_high[0]


def test_leaked_over_epochs_of_several_steps():
    """Two epochs, 2 of 3 steps, by quadrature; both directions at once."""
    ratio, weights = central.merged(*central.allocation(1.0, 3, 2, 150), 1500)
    both, mass = (
        np.multiply.outer(ratio, ratio).ravel(),
        np.multiply.outer(weights, weights).ravel(),
    )
    for epsilon in (0.5, 2.0, 4.0):
        exact = max(central.deltas(both, mass, epsilon))
        found = (RandomAllocation(1.0, 3, 2) ** 2).delta(epsilon)
        _inside(found, exact, 5e-3)
        assert found.lower >= 0.85 * exact


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_a_replaced_example(sigma):
    """Two steps, by quadrature: the other example's gradients are opposite, 0 or at an angle."""
    z, w = central.nodes(40, 8.0)
    x, y, u, v = np.meshgrid(z, z, z, z, indexing="ij")  # two steps of two coordinates
    weights = np.prod(np.meshgrid(w, w, w, w, indexing="ij"), axis=0)
    s = 1.0 / sigma

    def ratio(a: float, b: float) -> np.ndarray:
        norm = 0.5 * s * s * (a * a + b * b)
        return 0.5 * np.exp(s * (a * x + b * y) - norm) + 0.5 * np.exp(s * (a * u + b * v) - norm)

    protocol = RandomAllocation(sigma, 2, neighbours="replace")
    for other in ((-1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (-0.6, 0.8)):
        first, second = ratio(1.0, 0.0), ratio(*other)
        for epsilon in (0.0, 0.7, 3.0):
            e = math.exp(epsilon)
            one = float((weights * np.maximum(first - e * second, 0.0)).sum())
            two = float((weights * np.maximum(second - e * first, 0.0)).sum())
            assert max(one, two) <= protocol.delta(epsilon).upper * (1.0 + 1e-3) + 1e-9
    removed = RandomAllocation(sigma, 2).epsilon(1e-5)
    assert removed.lower * 0.999 <= protocol.epsilon(1e-5).lower
    assert removed.upper < protocol.epsilon(1e-5).upper < 2.3 * removed.upper


def test_replaced_records_in_a_book():
    entries = [Entry.of(RandomAllocation(1.0, 1000, neighbours="replace"), 5)]
    assert 0.7 < composed(entries, Decimal("1e-6")) < Decimal("0.8")
    entries.append(Entry.of(CentralMinibatches(20.0, 60, 600, neighbours="replace"), 1))
    assert Decimal("0.8") < composed(entries, Decimal("1e-6")) < Decimal("1.3")
    batches = CentralMinibatches(1.0, 60, 60_000, neighbours="replace").epsilon(1e-8)
    assert batches.upper == pytest.approx(GDPCurve(2.0).epsilon(1e-8), rel=1e-6, abs=0.0)


def test_adaptive_steps_leak_no_more():
    """Steps whose gradient depends on the outputs before: two steps, any rule, both directions."""
    sigma, epsilon = 1.0, 0.7
    z, w = central.nodes(200)
    found = RandomAllocation(sigma, 2).delta(epsilon)
    rng = np.random.default_rng(5)
    for _ in range(20):
        first = rng.uniform(-1.0, 1.0)
        second = rng.choice([-1.0, 0.0, 1.0, 0.5], size=z.size)
        ratio = 0.5 * np.exp(first * z / sigma - 0.5 * (first / sigma) ** 2)[
            :, None
        ] + 0.5 * np.exp(
            np.multiply.outer(second, z) / sigma - 0.5 * (second[:, None] / sigma) ** 2
        )
        weights = np.multiply.outer(w, w)
        assert max(central.deltas(ratio.ravel(), weights.ravel(), epsilon)) <= found.upper


def test_laws():
    delta = 1e-6
    values = [RandomAllocation(s, 100).epsilon(delta) for s in (0.5, 1.0, 2.0, 8.0)]
    assert all(a.lower > b.upper for a, b in itertools.pairwise(values))
    values = [RandomAllocation(1.0, t).epsilon(delta) for t in (1, 2, 10, 1000)]
    assert all(a.lower > b.upper for a, b in itertools.pairwise(values))
    values = [(RandomAllocation(2.0, 100) ** m).epsilon(delta) for m in (1, 3, 30)]
    assert all(a.upper < b.lower for a, b in itertools.pairwise(values))
    twice = RandomAllocation(2.0, 50) ** 2
    assert (
        twice
        == Rounds([(RandomAllocation(2.0, 50), 2)])
        == Rounds([RandomAllocation(2.0, 50)]) ** 2
    )


def test_far_ends():
    deep = RandomAllocation(1.0, 100).epsilon(1e-30)
    assert deep.gap < 0.02
    assert RandomAllocation(0.1, 10).epsilon(1e-6).lower > 80.0
    assert RandomAllocation(1e5, 10).epsilon(1e-4).upper == 0.0
    assert RandomAllocation(10.0, 10**9).delta(0.0).upper < 1e-5


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("batch", "n"), [(1, 1), (1, 2), (2, 5)])
def test_shuffled_batches_by_quadrature(sigma, batch, n):
    whole = n // batch
    for epsilon in (0.1, 1.0, 3.0):
        exact = central.batches(sigma, whole, whole * batch / n, epsilon, 800)
        found = CentralMinibatches(sigma, batch, n).delta(epsilon)
        assert found.lower <= exact * (1.0 + 1e-3) + 1e-12
        assert found.lower >= 0.45 * exact - 1e-9
        assert exact <= found.upper * (1.0 + 1e-3)
        assert found.upper <= GDPCurve(1.0 / sigma).delta(epsilon) * (1.0 + 1e-9)


def test_shuffled_batches_are_not_poisson_samples():
    """One epoch of 1,000 batches, delta = 1e-8: published between 5.106 and 5.64; by Poisson
    accounting 0.306."""
    found = CentralMinibatches(1.0, 60, 60_000).epsilon(1e-8)
    assert 5.106 <= found.lower < 5.64 < found.upper < 5.7761
    more = (CentralMinibatches(1.0, 60, 60_000) ** 10).epsilon(1e-8)
    assert found.lower < more.lower < more.upper <= GDPCurve(math.sqrt(10.0)).epsilon(1e-8) * 1.01


@pytest.mark.parametrize(
    "protocol",
    [
        RandomAllocation(1.5, 40, 3),
        RandomAllocation(1, 7, neighbours="replace"),
        CentralMinibatches(1, 6, 50),
    ],
)
def test_written_down_and_read_back(protocol):
    assert restore(json.loads(json.dumps(describe(protocol)))) == protocol


def test_refusals():
    with pytest.raises(ParameterError, match=r"'k'.*at most steps"):
        RandomAllocation(1.0, 3, 4)
    with pytest.raises(ParameterError, match="sigma"):
        RandomAllocation(0.01, 3)
    with pytest.raises(ParameterError, match=r"'batch'.*at most n"):
        CentralMinibatches(1.0, 11, 10)
    with pytest.raises(ParameterError, match="replaced values"):
        Entry.of(RandomAllocation(1.0, 3), 1)
    with pytest.raises(ParameterError, match="neighbours"):
        Rounds([RandomAllocation(1.0, 3), Shuffled(KRR(3, eps0=1.0), 10)])


def _run(*arguments: str):
    return CliRunner().invoke(main, ["account", *arguments])


@pytest.mark.parametrize("sigma", [0.2, 0.3, 0.5, 1.0, 4.0, 100.0])
@pytest.mark.parametrize("steps", [2, 30, 1000, 10**6])
def test_far_shortfalls_are_bounded(sigma, steps):
    depths = np.geomspace(1e-4, 30.0, 40)
    above = shortfalls_above(sigma**-2, steps, depths)
    assert np.all(above >= shortfalls(sigma**-2, steps, depths, 1e-2)[0])
    assert np.all(np.diff(above) <= 0.0)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 3.0])
def test_a_step_less_leaks_no_less(sigma):
    epsilons = np.array([0.01, 0.1, 0.3, 1.0])
    for more, fewer in zip(
        AllocatedNoise(sigma, 201).one(epsilons),
        AllocatedNoise(sigma, 200).one(epsilons),
        strict=True,
    ):
        assert np.all(more[0] <= fewer[1])
    assert AllocatedNoise(sigma, 602, 3)._parts() == [(AllocatedNoise(sigma, 200), 3)]


def test_on_the_command_line():
    asked = ("--mechanism", "allocation", "--sigma", "1", "--steps", "1000", "--delta", "1e-6")
    text = _run(*asked, "--epochs", "1")
    assert text.exit_code == 0
    assert "0.171869" in text.output
    assert "random-allocation-pair" in text.output
    data = json.loads(_run(*asked, "--epochs", "2", "--json").output)
    assert data["rounds"] == 2
    assert data["status"] == "PROVEN"
    assert data["epsilon"] == (RandomAllocation(1.0, 1000) ** 2).epsilon(1e-6).to_dict()
    batches = ("--mechanism", "minibatches", "--sigma", "1", "--batch", "60", "--delta", "1e-8")
    assert "5.10683" in _run(*batches, "--n", "6e4").output
    assert (
        "--steps must be given"
        in _run("--mechanism", "allocation", "--sigma", "1", "--delta", "0.1").output
    )
    assert "--epochs must be left out" in _run(*asked, "--epochs", "2", "--rounds", "2").output
    assert "--batch must be left out" in _run(*asked, "--batch", "2").output

"""Tests of the certified engine against slow, exact and independent computations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import ctx
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from shuffledp.numerics import positive_part as engine
from shuffledp.numerics.enclosure import Enclosure
from shuffledp.numerics.frequencies import Measure
from shuffledp.numerics.positive_part import Law, mean_positive_part
from shuffledp.numerics.rounding import roundings
from tests.oracles.positive_part import exact, lattice, rational, two_valued


@pytest.fixture(autouse=True)
def ball_precision() -> Iterator[None]:
    saved, ctx.prec = ctx.prec, 600
    yield
    ctx.prec = saved


def clone_law(eps0: float, eps: float) -> Law:
    big, e = math.exp(eps0), math.exp(eps)
    alpha = 1 / (big + 1)
    return Law([big - e, 1 - e * big, 0.0], [alpha, alpha, 1 - 2 * alpha])


def clone_oracle(eps0: float, eps: float, n: int) -> tuple[float, float]:
    """Closed form for clone_law; its bracket falls with c, so groups of c give two sides."""
    big, e = math.exp(eps0), math.exp(eps)
    w = 1 / (big + 1)
    k = 1 - w - w * e
    g = (e * (1 - w) - w) / k
    q = 2 * w
    middle, sd = (n - 1) * q, math.sqrt((n - 1) * q * (1 - q))
    low, high = max(0, int(middle - 12 * sd)), min(n - 1, int(middle + 12 * sd) + 1)
    edges = np.unique(np.linspace(low, high + 1, 200_001).astype(np.int64))
    mass = binom.cdf(edges[1:] - 1, n - 1, q) - binom.cdf(edges[:-1] - 1, n - 1, q)

    def bracket(c: np.ndarray) -> np.ndarray:
        t = np.floor(g * (c + 1) / (1 + g))
        return binom.sf(t - 1, c, 0.5) - g * binom.sf(t, c, 0.5)

    return k * float(mass @ bracket(edges[1:] - 1)), k * float(mass @ bracket(edges[:-1]))


# --- random cases --------------------------------------------------------------------------

Case = tuple[list[int], np.ndarray, int, float]


def random_case(rng: np.random.Generator) -> Case:
    """A lumpy law on few integers times an exact unit, and n <= 500."""
    n = int(rng.choice([1, 2, 3, 5, 8, 13, 20, 40, 80, 150, 300, 500]))
    reach = int(rng.choice([1, 2, 5, 10, 30]))
    size = min(int(rng.integers(2, 6)), 2 * reach + 1)
    values = [int(x) for x in rng.choice(np.arange(-reach, reach + 1), size, replace=False)]
    kind = rng.integers(0, 6)
    if kind == 0:
        weights = rng.dirichlet(np.ones(size))
    elif kind == 1:
        weights = rng.dirichlet(np.full(size, 0.1)) + 1e-12
    elif kind == 2:
        weights = 10.0 ** rng.uniform(-9, 0, size)
    elif kind == 3:  # a rare and large value
        weights = rng.dirichlet(np.ones(size))
        values[0], weights[0] = int(rng.choice([50, 200, 1000])), 1e-9
    elif kind == 4:  # a strong drift down
        weights = 10.0 ** rng.uniform(-3, 0, size)
        weights[int(np.argmin(values))] *= 1000
    else:
        weights = 10.0 ** rng.uniform(-30, 0, size)
    n = max(1, min(n, 20_000 // (max(values) - min(values))))
    unit = float(np.float32(rng.choice([1.0, 0.0123, 77.7, 1e-5])))
    return values, weights / weights.sum(), n, unit


def allowed_width(delta: float) -> float:
    return 5e-3 if delta >= 1e-12 else 2e-2


def without_enumeration(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "_MAX_ENUMERATION", 0)
    patch.setattr(engine, "_QUICK_ENUMERATION", 0)


def without_peeling(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "_peel_jumps", lambda part, n, width: (part, Enclosure(0.0, 0.0)))


def check_random_cases(seed: int, count: int) -> None:
    """Truth inside on every path; width as promised on the path users get."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        values, weights, n, unit = case = random_case(rng)
        law = Law(np.array(values) * unit, weights)
        truth = lattice(values, weights, n, unit)
        found = mean_positive_part(law, n)
        with pytest.MonkeyPatch.context() as patch:
            without_enumeration(patch)
            frequencies = mean_positive_part(law, n)
            without_peeling(patch)
            bare = mean_positive_part(law, n)
        for enclosure in (found, frequencies, bare):
            assert 0 <= enclosure.lower <= enclosure.upper < math.inf, case
            assert enclosure.lower == 0 or exact(enclosure.lower) <= truth, case
            assert exact(enclosure.upper) >= truth, case
        middle = float(truth.mid())
        if max(values) <= 0:
            assert found == Enclosure(0.0, 0.0)
        elif middle > 1e-30:
            assert found.upper - found.lower <= allowed_width(middle) * middle, case


def test_truth_inside_and_narrow() -> None:
    check_random_cases(seed=1, count=60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 14))
def test_truth_inside_and_narrow_many(seed: int) -> None:
    check_random_cases(seed, count=500)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.floats(-3, 3).filter(lambda x: x == 0 or abs(x) > 1e-9), st.floats(1e-6, 1)),
        min_size=2,
        max_size=4,
    ),
    st.integers(1, 6),
    st.booleans(),
)
def test_generic_values_against_rationals(
    atoms: list[tuple[float, float]], n: int, enumerate_too: bool
) -> None:
    total = math.fsum(w for _, w in atoms)
    values, weights = [v for v, _ in atoms], [w / total for _, w in atoms]
    truth = rational(values, weights, n)
    with pytest.MonkeyPatch.context() as patch:
        if not enumerate_too:
            without_enumeration(patch)
            without_peeling(patch)
        found = mean_positive_part(Law(values, weights), n)
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)


@pytest.mark.parametrize("n", [10, 1000, 20_000, 100_000])
@pytest.mark.parametrize("drop", [0.0, 1.0, 4.0, 8.0, 12.0, 30.0])
@pytest.mark.parametrize("enumerate_too", [True, False])
def test_two_valued(
    n: int, drop: float, enumerate_too: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight = 0.25
    gain, loss = 1.0, 0.25 / 0.75 + min(drop / math.sqrt(n), 2.0) / 0.75 * 0.5
    if not enumerate_too:
        without_enumeration(monkeypatch)
    found = mean_positive_part(Law([gain, -loss], [weight, 1 - weight]), n)
    truth = two_valued(gain, loss, weight, n)
    assert exact(found.lower) <= truth <= exact(found.upper)
    if truth > 1e-20:
        assert found.upper - found.lower <= 5e-3 * found.upper


@pytest.mark.parametrize(
    ("eps0", "eps", "n"),
    [
        (1.0, 0.1, 1000),
        (4.444, 0.4, 10**4),
        (4.444, 1.0, 10**4),
        (2.0, 0.01, 10**6),
        (3.0, 0.03, 10**6),
        (1.0, 1e-4, 10**9),
        (5.0, 1e-3, 10**9),
        (1.0, 4e-6, 10**12),
    ],
)
def test_clone_closed_form(eps0: float, eps: float, n: int) -> None:
    low, high = clone_oracle(eps0, eps, n)
    for width in (2e-3, 1e-5):
        found = mean_positive_part(clone_law(eps0, eps), n, width=width)
        assert found.upper - found.lower <= width * found.upper
        assert found.lower <= high * (1 + 1e-7)
        assert found.upper >= low * (1 - 1e-7)


# --- smooth laws, large n ------------------------------------------------------------------


def smooth_law(drift: float, atoms: int = 3000) -> Law:
    """A skewed law (capped log-normal) of mean -drift."""
    z = np.linspace(-8, 8, atoms)
    weights = np.exp(-z * z / 2)
    weights /= math.fsum(weights)
    values = np.minimum(np.exp(0.7 * z - 0.245), 30.0)
    return Law(values - values @ weights - drift, weights)


@pytest.mark.parametrize("n", [2, 10, 100, 10**4, 10**6, 10**9, 10**12, 10**15])
@pytest.mark.parametrize("z", [0.0, 2.0, 7.0])
def test_smooth_law_width(n: int, z: float) -> None:
    law = smooth_law(z * 0.79 / math.sqrt(n))
    coarse = mean_positive_part(law, n)
    assert coarse.upper - coarse.lower <= 2e-3 * coarse.upper
    fine = mean_positive_part(law, n, width=1e-5 if n <= 10**12 else 1e-3)
    assert fine.upper - fine.lower <= (1e-5 if n <= 10**12 else 1e-3) * fine.upper
    assert coarse.lower <= fine.upper
    assert fine.lower <= coarse.upper


@pytest.mark.parametrize("z", [-3.0, 0.0, 1.0, 4.0, 8.0])
def test_central_limit(z: float) -> None:
    """At n = 10^12 the normal formula is exact to about z^3 skewness / (6 sqrt n)."""
    n = 10**12
    law = smooth_law(0.0)
    sd = math.sqrt(float(law.weights @ law.values**2))
    law = Law(law.values - z * sd / math.sqrt(n), law.weights)
    mean = float(law.weights @ law.values) * math.sqrt(n) / sd
    expected = sd / math.sqrt(n) * (norm.pdf(mean) + mean * norm.cdf(mean))
    found = mean_positive_part(law, n, width=1e-4)
    assert found.lower * (1 - 3e-4) <= expected <= found.upper * (1 + 3e-4)


def test_rare_large_values_cost_nothing() -> None:
    """A heavy tail (values to 10^6) is peeled off: same width, bounded work."""
    z = np.linspace(-8, 8, 3000)
    weights = np.exp(-z * z / 2)
    weights /= math.fsum(weights)
    ratio = np.exp(2 * z - 2)
    for n in (2, 10, 100, 1000, 10**4):
        found = mean_positive_part(Law(ratio - math.exp(0.5), weights), n)
        assert found.upper - found.lower <= 2e-3 * found.upper


# --- exact and extreme cases ---------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 10**6, 10**12])
def test_trivial_laws(n: int) -> None:
    assert mean_positive_part(Law([-1.0, 0.0], [0.5, 0.5]), n) == Enclosure(0.0, 0.0)
    assert mean_positive_part(Law([-1.0], [1.0]), n) == Enclosure(0.0, 0.0)
    assert mean_positive_part(Law([0.3], [1.0]), n) == Enclosure(0.3, 0.3)
    found = mean_positive_part(Law([0.0, 1.0, 3.0], [0.25, 0.5, 0.25]), n)
    assert found.lower <= 1.25 <= found.upper <= 1.25 * (1 + 1e-14)


def test_one_report() -> None:
    found = mean_positive_part(Law([-3.0, 0.5, 2.0], [0.5, 0.25, 0.25]), 1)
    assert found.lower <= 0.625 <= found.upper <= found.lower * (1 + 1e-13)


@pytest.mark.parametrize("digits", [50, 150, 250, 290])
def test_tiny_values(digits: int) -> None:
    """Both of two rare gains: delta is about 10^-digits."""
    weight = 10.0 ** (-digits / 2)
    found = mean_positive_part(Law([1.0, -2.0], [weight, 1 - weight]), 2)
    truth = two_valued(1.0, 2.0, weight, 2)
    assert exact(found.lower) <= truth <= exact(found.upper)
    assert found.upper <= found.lower * (1 + 1e-9)


@pytest.mark.parametrize("n", [600, 4000, 10**6, 10**12])
def test_below_the_float_range(n: int) -> None:
    found = mean_positive_part(Law([1.0, -1.0], [0.01, 0.99]), n)
    assert found.lower == 0.0
    assert 0.0 < found.upper <= 1e-299


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.floats(-1e300, 1e300),
            st.floats(-320, 0).map(lambda x: 10.0**x),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([1, 2, 3, 50, 10**4, 10**7, 10**12, 10**20]),
)
@example([(35184372088832.0, 1.0), (4.96312206521097e-305, 1.0), (-1.0, 1.0)], 2)
def test_never_fails(atoms: list[tuple[float, float]], n: int) -> None:
    values = [v for v, _ in atoms]
    weights = np.array([w for _, w in atoms])
    weights[0] = 1.0
    weights /= weights.sum()
    with np.errstate(all="raise"):
        found = mean_positive_part(Law(values, weights), n)
    assert 0 <= found.lower <= found.upper < math.inf
    kept = [v for v, w in zip(values, weights, strict=True) if w > 0]
    assert (found.upper == 0) == (max(kept) <= 0)


# --- laws of the functional ----------------------------------------------------------------

laws = st.builds(
    lambda values, raw: Law(
        values[: len(raw)], np.array(raw[: len(values)]) / sum(raw[: len(values)])
    ),
    st.lists(st.integers(-64, 64).map(lambda k: k / 16), min_size=3, max_size=6),
    st.lists(st.floats(1e-4, 1), min_size=3, max_size=6),
)


@settings(max_examples=60)
@given(laws, st.integers(1, 2000), st.integers(1, 2000))
def test_falls_with_n(law: Law, m: int, extra: int) -> None:
    assert mean_positive_part(law, m + extra).lower <= mean_positive_part(law, m).upper


@settings(max_examples=60)
@given(laws, st.integers(1, 3000), st.sampled_from([0.5, 2.0**40]))
def test_scales(law: Law, n: int, factor: float) -> None:
    one, scaled = (mean_positive_part(Law(c * law.values, law.weights), n) for c in (1.0, factor))
    if one.lower > 1e-290:
        assert scaled == Enclosure(factor * one.lower, factor * one.upper)


@settings(max_examples=60)
@given(laws, st.integers(1, 3000), st.integers(0, 5), st.sampled_from([0.125, 1.0, 4.0]))
def test_rises_with_spread(law: Law, n: int, index: int, gap: float) -> None:
    i = index % law.values.size
    v = np.append(law.values, [law.values[i] - gap, law.values[i] + gap])
    w = np.append(law.weights, [law.weights[i] / 2] * 2)
    w[i] = 0.0
    assert mean_positive_part(law, n).lower <= mean_positive_part(Law(v, w), n).upper


# --- negative controls ---------------------------------------------------------------------


def test_window_charge_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the charge for the other windows the lower end passes the truth."""
    values, n = [200, -6, -5, 8, 0], 3
    weights = np.array([2e-9, 0.5465, 0.0521, 0.2024, 0.199 - 2e-9])
    truth = lattice(values, weights, n, 1.0)
    without_enumeration(monkeypatch)
    without_peeling(monkeypatch)
    assert exact(mean_positive_part(Law(values, weights), n).lower) <= truth
    window = engine._Sums.window
    monkeypatch.setattr(engine._Sums, "window", lambda self, target: (window(self, target)[0], 0.0))
    assert exact(mean_positive_part(Law(values, weights), n).lower) > truth


def test_weight_error_is_charged() -> None:
    """A sum of weights off by 10^-10 is accepted, and widens the result as n grows."""
    law = smooth_law(0.0, atoms=100)
    defect = Law(law.values, law.weights * (1 + 1e-10))
    assert defect.weight_error > 1e-10
    n = 10**18
    honest, charged = (mean_positive_part(x, n) for x in (law, defect))
    assert charged.lower < honest.lower
    assert charged.upper > 1.01 * honest.upper


# --- the constructor -----------------------------------------------------------------------


def test_law_sorts_merges_and_drops() -> None:
    law = Law([2, -1, 2, 5], [0.25, 0.5, 0.25, 0.0])
    assert law.values.tolist() == [-1.0, 2.0]
    assert law.weights.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        law.values[0] = 3.0


@pytest.mark.parametrize(
    ("values", "weights", "message"),
    [
        ([], [], "non-empty"),
        ([1.0, 2.0], [1.0], "equal length"),
        ([[1.0]], [[1.0]], "one-dimensional"),
        ([math.nan], [1.0], "finite"),
        ([1.0], [math.inf], "finite"),
        ([1.0, 2.0], [1.5, -0.5], ">= 0"),
        ([1.0, 2.0], [0.5, 0.4], "sum to 1"),
    ],
)
def test_law_rejects(values: list[float], weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Law(values, weights)


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_rejects_n(n: int) -> None:
    with pytest.raises(ValueError, match="'n' parameter"):
        mean_positive_part(Law([1.0], [1.0]), n)


@pytest.mark.parametrize("width", [0.0, -1.0, 1.0, math.nan])
def test_rejects_width(width: float) -> None:
    with pytest.raises(ValueError, match="'width' parameter"):
        mean_positive_part(Law([1.0], [1.0]), 5, width=width)


def _random_part(chance: np.random.Generator) -> Measure:
    size = int(chance.integers(2, 6))
    values = np.sort(chance.normal(size=size) * 10.0 ** chance.uniform(-2.0, 0.0, size))
    values[-1] = abs(values[-1]) + 0.01
    weights = chance.dirichlet(np.full(size, 0.5)) + 1e-9
    return Measure(np.sort(values), weights / weights.sum(), 0.0, roundings(4))


def test_log_mgf_and_its_error() -> None:
    """Against 200 bits; an error bound of 0 would not hold."""
    chance, exact = np.random.default_rng(3), 0
    with mpmath.workprec(200):
        for _ in range(100):
            part = _random_part(chance)
            thetas = chance.normal(size=4) * 10.0 ** chance.uniform(-6.0, 1.5, 4)
            # the weights are granted an error: their sum is taken to be 1
            total = mpmath.fsum(map(mpmath.mpf, part.w.tolist()))
            one_by_one = [part.log_mgf(float(theta)) for theta in thetas]
            for theta, *found in zip(
                thetas, one_by_one, zip(*part.log_mgfs(thetas), strict=True), strict=True
            ):
                pairs = zip(part.w.tolist(), part.v.tolist(), strict=True)
                mean = mpmath.fsum(w * mpmath.expm1(mpmath.mpf(float(theta)) * v) for w, v in pairs)
                truth = mpmath.log1p(mean / total)
                for value, error in found:
                    assert abs(mpmath.mpf(float(value)) - truth) <= float(error)
                    exact += mpmath.mpf(float(value)) == truth
    assert exact < 100


def test_what_lies_outside_a_small_box_is_charged() -> None:
    chance, charged = np.random.default_rng(4), 0
    for _ in range(60):
        part, n = _random_part(chance), int(chance.integers(2, 7))
        sums = engine._Sums(part, n)
        whole, _ = engine._enumerate(sums, [(0, n)] * part.v.size, 700.0)
        for depth in (0.5, 2.0, 8.0):
            found, _ = engine._enumerate(sums, sums.count_ranges(depth), depth)
            assert found.lower <= whole.upper
            assert whole.lower <= found.upper
            charged += found.lower < 0.999 * whole.lower
    assert charged > 10


@pytest.mark.parametrize("tiny", [1e-18, 1e-22, 1e-100])
def test_sums_of_tiny_values_beside_large_ones_keep_their_digits(tiny: float) -> None:
    """Errors are in proportion to what is summed, not to the largest value there is."""
    values, weights, n = [-3.0 * tiny, 2.0 * tiny, -0.7], [0.3, 0.5, 0.2], 5
    exact = Fraction(0)
    for counts in itertools.product(range(n + 1), repeat=3):
        if sum(counts) == n:
            total = sum(k * Fraction(v) for k, v in zip(counts, values, strict=True))
            chance = math.prod(Fraction(w) ** k for w, k in zip(weights, counts, strict=True))
            ways = math.factorial(n) // math.prod(map(math.factorial, counts))
            exact += ways * chance * max(total, Fraction(0))
    found = mean_positive_part(Law(values, weights), n)
    assert Fraction(found.lower) <= exact / n <= Fraction(found.upper)
    assert found.upper == pytest.approx(found.lower, rel=1e-9, abs=0.0)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([1, 7, 1000]), st.sampled_from([2e-4, 2e-3, 1e-2]))
def test_simpler_laws_enclose_the_law(seed: int, n: int, width: float) -> None:
    """Values over many orders of magnitude, some rare and huge: both sides hold, and are close."""
    generator = np.random.default_rng(seed)
    size = 1500
    spread = generator.choice([0.1, 1.0, 6.0])
    values = generator.normal(size=size) * np.exp(spread * np.abs(generator.normal(size=size)))
    weights = generator.exponential(size=size) * np.exp(-(np.abs(values) ** 0.3))
    weights /= weights.sum()
    law = Law(values - weights @ values - 0.1, weights)
    below, above = (law.simpler(width, above=side) for side in (False, True))
    assert below.values.size < law.values.size
    exact = mean_positive_part(law, n, width=1e-4)
    low, high = (mean_positive_part(each, n, width=1e-4) for each in (below, above))
    assert low.lower <= exact.upper
    assert high.upper >= exact.lower
    if n == 1:  # the sum itself, without an engine

        def mean(each: Law) -> float:
            return math.fsum((each.weights * np.maximum(each.values, 0.0)).tolist())

        assert mean(below) <= mean(law) * (1.0 + 1e-13) <= mean(above) * (1.0 + 2e-13)
        assert mean(above) - mean(below) <= 5.0 * width * mean(law)


def test_simpler_laws_of_values_that_differ_by_more_than_numbers_can() -> None:
    values = np.concatenate([1e-290 * np.arange(1, 1501), 1e140 * np.arange(1, 11)])
    law = Law(values, np.full(values.size, 1.0 / values.size))
    for above in (False, True):
        found = law.simpler(1e-2, above=above)
        assert found.values.size < values.size
        assert found.values @ found.weights == pytest.approx(values.mean(), rel=1e-12, abs=0.0)


def test_a_simpler_law_keeps_what_is_rare_and_huge_apart() -> None:
    """Nearly all values are 0, and the largest are far beyond doubles in units of the typical."""
    values = np.concatenate(
        [[0.0], -np.geomspace(1e-3, 1e-2, 600), np.geomspace(1e150, 1e290, 600)]
    )
    weights = np.concatenate([[1.0], np.full(600, 1e-9), np.geomspace(1e-170, 1e-300, 600)])
    law = Law(values, weights / math.fsum(weights.tolist()))
    for above in (False, True):
        found = law.simpler(1e-2, above=above)
        assert np.count_nonzero(found.values > 1e100) >= 600
        mean = [float(each.weights @ each.values) for each in (law, found)]
        assert mean[1] == pytest.approx(mean[0], rel=1e-9, abs=0.0)


@pytest.mark.parametrize("n", [2, 5, 8])
@pytest.mark.parametrize("far", [2.0**30, 2.0**80])
def test_rare_low_values_may_be_left_out(n: int, far: float) -> None:
    values = [-far, -3.0, -0.5, 0.25, 2.0, far]
    rare, rarer = 1e-3 / far, 1e-3 / far**2
    law = Law(values, [rarer, 0.25, 0.25, 0.25 - rare - rarer, 0.25, rare])
    truth = rational(values, law.weights.tolist(), n)
    unit = Measure(law.values / far, law.weights, 0.0, law.weight_error)
    for found, scale in (
        (engine._without_falls(unit, n, 2e-3), Fraction(far)),
        (mean_positive_part(law, n), Fraction(1)),
    ):
        assert Fraction(found.lower) * scale <= truth <= Fraction(found.upper) * scale
        assert found.upper - found.lower <= 2e-3 * found.upper

"""Devices: the reports follow exact laws, and the accountant's numbers are about these very laws."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    Channel,
    CheckIn,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscretePiecewise,
    Gaussian,
    GaussianVector,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    OneCoordinate,
    OnePrefix,
    ParameterError,
    Piecewise,
    Plateau,
    RoundedResponse,
    Shuffled,
    SubsetSelection,
    TruncatedLaplace,
    optimised_unary,
    rappor,
)
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.collection.devices import actual, device, secure
from tests.oracles.device_laws import law, misfit

SKEWED = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]]
CASES: list[tuple[Randomizer, list[Any]]] = [
    (BinaryRR(eps0=1.0), [0, 1]),
    (KRR(5, eps0=2.0), [0, 4]),
    (KRR(300, eps0=3.0), [7, 299]),
    (rappor(5, 1.5), [0, 3]),
    (optimised_unary(9, 1.0), [2, 8]),
    (SubsetSelection(6, eps0=1.0), [0, 5, 2]),
    (SubsetSelection(5, d=3, eps0=2.0), [1, 4]),
    (SubsetSelection(30, d=2, eps0=1.0), [0, 29]),
    (LocalHashing(eps0=1.0, k=4), [1, 2]),
    (LocalHashing(eps0=1.0, g=6, k=5), [3, 4]),
    (HadamardResponse(eps0=1.5, k=3), [0, 2]),
    (HadamardResponse(eps0=1.5, k=7), [0, 6]),
    (OneBitMean(eps0=1.0), [0.0, 0.25, 1.0]),
    (DiscretePiecewise(8, 3, eps0=2.0), [0.0, 0.5, 1.0]),
    (RoundedResponse(4, eps0=1.5), [0.0, 0.25, 0.5, 1.0]),
    (RoundedResponse(2, eps0=1.5), [0.0, 0.375, 1.0]),
    (OnePrefix(2, 1, eps0=1.0), [0, 3, 1]),
    (Channel(np.array(SKEWED)), [0, 1, 2]),
    (CheckIn(KRR(3, eps0=1.0), 0.3), [0, 2]),
    (OneCoordinate(OneBitMean(eps0=1.0), 3), [(0.0, 1.0, 0.5)]),
    (OneCoordinate(RoundedResponse(3, eps0=1.0), 2), [(0.75, 0.5)]),
]
N = 60_000


def _samples(randomizer: Randomizer, x: Any, n: int = N) -> Counter[Any]:
    reports = device(randomizer).encode(np.array([x] * n), secure())
    counted: Counter[Any] = Counter(map(tuple, reports.tolist()))
    if n > len(reports):
        counted[()] = n - len(reports)
    return counted


@pytest.mark.parametrize(("randomizer", "values"), CASES, ids=str)
def test_reports_follow_the_exact_law(randomizer: Randomizer, values: list[Any]) -> None:
    for x in values:
        exact = law(device(randomizer), x)
        assert sum(exact.values()) == 1
        expected = {report: float(p) for report, p in exact.items() if p}
        assert not misfit(_samples(randomizer, x), expected, N)


@pytest.mark.parametrize("wrong", [1.4, 2.6])
def test_a_wrong_budget_is_noticed(wrong: float) -> None:
    """Negative control: 30 % off fails."""
    expected = {report: float(p) for report, p in law(device(KRR(5, eps0=2.0)), 0).items()}
    assert misfit(_samples(KRR(5, eps0=wrong), 0), expected, N)


def _hockey_stick(first: dict[Any, Fraction], second: dict[Any, Fraction], e: Fraction) -> float:
    keys = first.keys() | second.keys()
    return float(sum(max(first.get(y, 0) - e * second.get(y, 0), Fraction(0)) for y in keys))


@pytest.mark.parametrize(("randomizer", "values"), CASES, ids=str)
def test_the_accountant_describes_what_runs(randomizer: Randomizer, values: list[Any]) -> None:
    """One user, every pair of values: the exact loss is inside the accountant's interval."""
    machine = device(randomizer)
    if isinstance(randomizer, OneCoordinate):
        d = randomizer.dimensions
        values = [(0.0,) * d, (1.0,) * d]
    laws = [law(machine, x) for x in values]
    for epsilon in (0.0, 0.2, 0.7):
        leaked = [_hockey_stick(a, b, Fraction(math.exp(epsilon))) for a in laws for b in laws]
        interval = Shuffled(machine.randomizer, 1).delta(epsilon)
        assert (
            interval.lower * (1 - 1e-6)
            <= max(leaked) + 1e-12
            <= interval.upper * (1 + 1e-9) + 2e-12
        )


@pytest.mark.parametrize(("randomizer", "values"), CASES, ids=str)
def test_no_report_is_likelier_than_the_budget_allows(
    randomizer: Randomizer, values: list[Any]
) -> None:
    """In rational numbers: every ratio of likelihoods is at most exp(eps0), actual <= asked."""
    import flint

    machine = device(randomizer)
    assert machine.randomizer.eps0 <= randomizer.eps0
    bound = flint.arb(machine.randomizer.eps0).exp()
    laws = [law(machine, x) for x in values]
    for a in laws:
        for b in laws:
            worst = max(a[y] / b[y] for y in a)
            assert not flint.arb(flint.fmpq(worst.numerator, worst.denominator)) > bound


@pytest.mark.parametrize("eps0", [1e-9, 0.01, 1.0, 4.44, 12.0, 60.0, 299.0])
@pytest.mark.parametrize(
    "build",
    [
        lambda e: BinaryRR(eps0=e),
        lambda e: KRR(1000, eps0=e),
        lambda e: rappor(4, e),
        lambda e: optimised_unary(4, e),
        lambda e: SubsetSelection(7, eps0=e),
        lambda e: LocalHashing(eps0=e, g=5, k=4),
        lambda e: HadamardResponse(eps0=e, k=4),
        lambda e: OneBitMean(eps0=e),
        lambda e: DiscretePiecewise(6, 2, eps0=e),
        lambda e: Piecewise(eps0=e),
        lambda e: Plateau(0.1, eps0=e),
        lambda e: RoundedResponse(7, eps0=e),
    ],
)
def test_rounding_never_raises_the_budget(build: Any, eps0: float) -> None:
    asked = build(eps0)
    found = actual(asked).eps0
    assert found <= asked.eps0
    if 0.01 <= eps0 <= 12.0:
        assert found >= asked.eps0 * (1 - 1e-6)


def test_channels_keep_their_ratio() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        rows = generator.dirichlet(np.full(4, 0.3), size=3)
        asked = Channel(rows)
        found = actual(asked)
        assert isinstance(found, Channel)
        assert found.eps0 <= asked.eps0 or math.isinf(asked.eps0)
        assert np.abs(found.matrix - asked.matrix).max() < 1e-6
        assert np.all(found.matrix * 2.0**48 == np.rint(found.matrix * 2.0**48))


@pytest.mark.parametrize("x", [0.0, 0.25, 1.0])
def test_discrete_laplace_report(x: float) -> None:
    machine = device(DiscreteLaplace(4, eps0=2.0))
    rate = float(machine.rate)  # type: ignore[attr-defined]
    shape = {y: math.exp(-rate * abs(y - 4 * x)) for y in range(-80, 80)}
    total = math.fsum(shape.values())
    expected = {(y,): mass / total for y, mass in shape.items()}
    assert not misfit(_samples(DiscreteLaplace(4, eps0=2.0), x), expected, N)


def test_numbers_are_clamped_to_their_range_and_a_clamped_report_stays_inside() -> None:
    stream = secure()
    reports = device(TruncatedLaplace(eps0=1.0)).encode([-5.0, 0.5, math.inf] * 500, stream)
    assert reports.min() >= 0
    assert reports.max() <= 1024
    wide = device(Laplace(eps0=50.0)).encode(np.full(1000, 1e9), stream)
    assert abs(float(wide.mean()) - 1024.0) < 10.0


@pytest.mark.parametrize("x", [0.0, 1.0])
def test_gaussian_report(x: float) -> None:
    machine = device(Gaussian(0.9, 3.0, scalar=True))
    assert isinstance(machine.randomizer, DiscreteGaussian)
    levels, variance = machine.randomizer.levels, machine.randomizer.variance
    assert variance / levels**2 >= 0.3**2
    assert variance / levels**2 == pytest.approx(0.3**2, rel=1e-3, abs=0.0)
    shape = {y: math.exp(-0.5 * (y - levels * x) ** 2 / variance) for y in range(-300, 400)}
    total = math.fsum(shape.values())
    expected = {(y,): mass / total for y, mass in shape.items()}
    assert not misfit(_samples(Gaussian(0.9, 3.0, scalar=True), x), expected, N)
    assert misfit(_samples(DiscreteGaussian(levels, 1.3 * variance), x), expected, N)


@pytest.mark.parametrize("sigma", [0.3, 1.5])
def test_the_account_of_a_gaussian_device_is_that_of_its_whole_numbers(sigma: float) -> None:
    """One report at either end: the exact loss of the law sampled above is inside the interval."""
    machine = device(Gaussian(sigma, 1.0, scalar=True))
    assert isinstance(machine.randomizer, DiscreteGaussian)
    levels, variance = machine.randomizer.levels, machine.randomizer.variance
    reports = np.arange(-40.0 * math.sqrt(variance), 40.0 * math.sqrt(variance) + levels + 1.0)
    reports = np.round(reports)
    near, far = (np.exp(-0.5 * (reports - x) ** 2 / variance) for x in (0.0, levels))
    near, far = near / near.sum(), far / far.sum()
    for epsilon in (0.0, 0.5, 2.0):
        leaked = float(np.maximum(near - math.exp(epsilon) * far, 0.0).sum())
        interval = Shuffled(machine.randomizer, 1).delta(epsilon)
        assert interval.lower * (1.0 - 1e-9) <= leaked <= interval.upper * (1.0 + 1e-9)


def test_gaussian_vectors_are_clipped_to_their_ball() -> None:
    """Mean and deviation of every coordinate within 6 standard errors."""
    machine = device(GaussianVector(0.2, 0.5, dimensions=3))
    assert machine.randomizer == Gaussian(0.2, 0.5, ball=True)
    n = 50_000
    values = np.tile([1.0, 0.5, 0.5], (n, 1))  # half a range off the middle: a quarter is kept
    reports = (machine.encode(values, secure()) + 0.5) * 2.0**24 * machine.step  # type: ignore[attr-defined]
    assert np.all(np.abs(reports.mean(axis=0) - [0.25, 0.0, 0.0]) < 6 * 0.2 / math.sqrt(n))
    assert np.all(np.abs(reports.std(axis=0) / 0.2 - 1.0) < 6 * math.sqrt(0.5 / n))
    correlation = np.corrcoef(reports.T)[np.triu_indices(3, 1)]
    assert np.all(np.abs(correlation) < 6 / math.sqrt(n))


@pytest.mark.parametrize(("dimensions", "sigma"), [(1, 0.01), (3, 1.0), (1000, 40.0)])
def test_gaussian_vectors_have_no_less_noise_than_accounted_for(
    dimensions: int, sigma: float
) -> None:
    """Steps of the grid between the farthest rounded vectors, over the deviation less its smoothing."""
    machine: Any = device(GaussianVector(sigma, 2.0, dimensions=dimensions))
    distance = Fraction(2.0) / Fraction(machine.step) + math.isqrt(dimensions) + 1
    deviation = Fraction(2**40) * (1 - Fraction(1, 2**40))
    assert distance / deviation <= Fraction(2.0) / Fraction(sigma)


@pytest.mark.parametrize(
    ("randomizer", "values", "message"),
    [
        (KRR(3, eps0=1.0), [0, 3], "0 to 2 (row 2)"),
        (KRR(3, eps0=1.0), [0.5], "integers"),
        (KRR(3, eps0=1.0), ["a"], "integers"),
        (Laplace(eps0=1.0), [0.1, math.nan], "row 2"),
        (Laplace(eps0=1.0), ["a"], "numbers"),
        (OneCoordinate(OneBitMean(eps0=1.0), 3), [[0.1, 0.2]], "rows of 3"),
    ],
)
def test_bad_values(randomizer: Randomizer, values: list[Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("(", r"\(").replace(")", r"\)")):
        device(randomizer).encode(np.array(values), secure())


@pytest.mark.parametrize("randomizer", [LDP(eps0=1.0), Gaussian(2.0)], ids=str)
def test_what_cannot_run_says_so(randomizer: Randomizer) -> None:
    with pytest.raises(ParameterError, match="randomizer"):
        device(randomizer)


def test_nobody_reports_nothing() -> None:
    assert device(KRR(3, eps0=1.0)).encode(np.array([], np.int64), secure()).shape == (0, 1)

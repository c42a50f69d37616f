"""Sums of several laws: the bound is above every choice of laws and near the worst, part by part."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from shuffledp.numerics import several_laws
from shuffledp.numerics.rounding import roundings
from shuffledp.numerics.several_laws import Cells, SeveralLaws, Sums
from tests.oracles.swap import expected_excess

ZERO, SURE = np.zeros(1), np.ones(1)


def _random(rng: np.random.Generator, rows: int, atoms: int, spread: float = 1.0) -> SeveralLaws:
    weights = rng.dirichlet(np.ones(atoms), rows)
    values = spread * (rng.uniform(-1.0, 1.0, (rows, atoms)) - rng.uniform(0.0, 0.6))
    return SeveralLaws(weights, values, rng.uniform(0.0, 2.0, (rows, atoms)), roundings(4.0))


@pytest.mark.parametrize("seed", range(24))
def test_above_every_choice_of_laws(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = _random(rng, 1 + seed % 3, 2 + seed % 2, 10.0 ** rng.uniform(-1.0, 1.0))
    m, lam = 1 + seed % 5, rng.choice([0.0, rng.uniform(0.0, 1.0)])
    first, chance = rng.uniform(-0.5, 1.5, 2), rng.dirichlet(np.ones(2))
    rows = list(zip(laws.weights, laws.values, laws.decays, strict=True))
    truth = max(
        expected_excess(list(choice), lam, first, chance)
        for choice in itertools.combinations_with_replacement(rows, m)
    )
    for width in (2e-3, 1e-2):
        found, _ = laws.log_excess([m], lam, first, chance, width)
        assert truth <= math.exp(found)


def _lattice(weights: list[float], values: list[int], m: int) -> np.ndarray:
    """Masses of a sum of m integers, from the smallest on."""
    one = np.zeros(max(values) - min(values) + 1)
    one[np.array(values) - min(values)] = weights
    power = np.ones(1)
    for _ in range(m):
        power = np.convolve(power, one)
    return power


@pytest.mark.parametrize(
    ("m", "depth", "most"),
    [
        *((50, depth, 1.015) for depth in (0.0, 1.0, 2.0, 4.0)),
        (50, 6.0, 1.05),  # few of the largest values decide
        *((400, depth, 1.015) for depth in (0.0, 1.0, 2.0, 4.0, 6.0)),
    ],
)
def test_near_the_truth_for_one_law(m: int, depth: float, most: float) -> None:
    """A term that is lost, or counted twice, is seen: there is a percent between truth and bound."""
    weights, values = [0.3, 0.45, 0.25], [-7, 0, 9]
    mean = float(np.dot(weights, values))
    sd = math.sqrt(np.dot(weights, np.square(values)) - mean**2)
    away = -m * mean - depth * sd * math.sqrt(m)
    sums = np.arange(min(values) * m, max(values) * m + 1) + away
    truth = float(np.maximum(sums, 0.0) @ _lattice(weights, values, m))
    rows = np.array([weights]), np.array([values], float) / 32.0, np.zeros((1, 3))
    law = SeveralLaws(*rows, roundings(4.0))
    found = math.exp(law.log_excess([m], 0.0, np.array([away / 32.0]), SURE, 2e-3)[0]) * 32.0
    assert truth <= found <= most * truth


def test_a_law_that_matters_less_changes_nothing() -> None:
    """The supremum is over laws of one spread: what is added to make them alike is little."""
    one = np.array([[0.5, 0.5]]), np.array([[-1.0, 1.0]]), np.zeros((1, 2))
    two = np.array([[0.5, 0.5]] * 2), np.array([[-1.0, 1.0], [-0.5, 0.5]]), np.zeros((2, 2))
    first = np.array([-20.0])
    alone, both = (
        SeveralLaws(*each, roundings(4.0)).log_excess([200], 0.0, first, SURE, 2e-3)[0]
        for each in (one, two)
    )
    assert alone <= both + 1e-9
    assert both <= alone + 1e-2


def test_log_mgf_and_its_error() -> None:
    """Against 200 bits; an error bound of 0 would not hold."""
    rng, exact = np.random.default_rng(3), 0
    with mpmath.workprec(200):
        for _ in range(60):
            laws = _random(rng, 2, 3, 10.0 ** rng.uniform(-6.0, 2.0))
            theta, lam = 10.0 ** rng.uniform(-3.0, 0.5), rng.choice([0.0, rng.uniform(0.0, 5.0)])
            values, errors, exponents = laws._log_mgf(theta, lam)
            assert exponents.shape == laws.values.shape
            for x in range(2):
                parts = [
                    [mpmath.mpf(float(y)) for y in each[x]]
                    for each in (laws.weights, laws.values, laws.decays)
                ]
                total = mpmath.fsum(parts[0])  # weights are granted an error: they sum to 1
                terms = (
                    w * mpmath.exp(mpmath.mpf(theta) * v - mpmath.mpf(float(lam)) * g)
                    for w, v, g in zip(*parts, strict=True)
                )
                truth = mpmath.log(mpmath.fsum(terms) / total)
                assert abs(mpmath.mpf(float(values[x])) - truth) <= float(errors[x])
                exact += mpmath.mpf(float(values[x])) == truth
                assert float(errors[x]) <= 1e-11 * (1.0 + abs(float(truth)))
    assert exact < 100


def _modulus(weights: np.ndarray, values: np.ndarray, t: float) -> float:
    """|E e^(itW)|^2 - 1, to 200 bits."""
    with mpmath.workprec(200):
        terms = zip(weights.tolist(), values.tolist(), strict=True)
        mean = mpmath.fsum(w * mpmath.expjpi(t * v / mpmath.pi) for w, v in terms)
        return float(abs(mean / mpmath.fsum(weights.tolist())) ** 2 - 1)


def test_moduli_are_not_below_the_truth() -> None:
    rng = np.random.default_rng(5)
    laws, edges = _random(rng, 2, 3), np.array([0.0, 1e-9, 1e-3, 0.5, 2.0, 40.0])
    found = several_laws._moduli(laws.weights, laws.values, np.stack([edges, edges]))
    for x, t in itertools.product(range(2), range(edges.size)):
        truth = _modulus(laws.weights[x], laws.values[x], float(edges[t]))
        assert found[x, t] >= truth * (1.0 + 1e-14)
        assert found[x, t] == pytest.approx(truth, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("count", [64, 65, 100, 577])
def test_moduli_at_even_distances_are_not_below_the_truth(count: int) -> None:
    """Each edge is its own; what is charged is more than roundings."""
    rng = np.random.default_rng(count)
    laws, step = _random(rng, 2, 1 + count % 5), np.array([0.03, 1.7])
    edges = np.hstack([np.zeros((2, 1)), 0.4 + step[:, None] * np.arange(count)])
    found = laws._modulus(laws.weights, laws.values, Cells(edges, 1, step))
    assert found.shape == edges.shape
    for x, t in itertools.product(range(2), {0, 1, 2, 8, 9, 10, count // 2, count - 1, count}):
        truth = _modulus(laws.weights[x], laws.values[x], float(edges[x, t]))
        blur = 6.0 * roundings(edges[x, t])  # of t: the slope is charged for it
        assert found[x, t] >= truth - blur
        assert found[x, t] <= truth + 1e-13 + blur


@pytest.mark.parametrize("seed", range(8))
def test_above_every_choice_within_classes(seed: int) -> None:
    """So many users of each class of laws."""
    rng = np.random.default_rng(50 + seed)
    both = _random(rng, 3, 2)
    laws = SeveralLaws(both.weights, both.values, both.decays, both.error, (0, 2))
    rows = list(zip(laws.weights, laws.values, laws.decays, strict=True))
    counts, lam = [1 + seed % 3, 2], rng.uniform(0.0, 0.5)
    choices = (
        itertools.combinations_with_replacement(each, m)
        for each, m in zip((rows[:2], rows[2:]), counts, strict=True)
    )
    truth = max(
        expected_excess([*one, *two], lam, ZERO, SURE) for one, two in itertools.product(*choices)
    )
    assert truth <= math.exp(laws.log_excess(counts, lam, ZERO, SURE, 2e-3)[0])


@pytest.mark.parametrize("m", [1, 2, 3, 10, 1000, 10**9])
def test_shares_are_at_most_1_and_above_the_chord(m: int) -> None:
    rng, share = np.random.default_rng(m), np.linspace(0.0, 1.0, 21)
    lack = -np.minimum(10.0 ** rng.uniform(-12.0, 0.0, (200, 2)), 1.0)
    rise = 10.0 ** rng.uniform(-14.0, 0.0, (200, 1))
    left, right = several_laws._shares(lack, rise, float(m))
    true = np.minimum(lack[:, :1] * (1.0 - share) + lack[:, 1:] * share + rise, 0.0)
    assert (left * (1.0 - share) + right * share >= true - 1e-15).all()
    assert (np.maximum(left, right) <= max(1.0 / m, 1e-15)).all()


@pytest.mark.parametrize("counts", [[1], [2], [3], [1000], [1, 1], [4, 9], [1, 700, 30], [10**9]])
def test_chords_lie_above_products_of_powers(counts: list[int]) -> None:
    rng, share = np.random.default_rng(len(counts)), np.linspace(0.0, 1.0, 41)
    users = np.array(counts, float)
    left, right = -np.minimum(10.0 ** rng.uniform(-12.0, 0.0, (2, users.size, 300)), 1.0 - 1e-15)
    begin, end = several_laws._ends(left, right, users)
    between = left[:, :, None] * (1.0 - share) + right[:, :, None] * share
    power = np.exp(np.einsum("k,kcs->cs", 0.5 * users, np.log1p(between)))
    chord = np.exp(begin)[:, None] * (1.0 - share) + np.exp(end)[:, None] * share
    assert (chord >= power * (1.0 - 1e-13)).all()
    ends = np.maximum(power[:, 0], power[:, -1])
    largest = np.maximum(left, right)
    assert (chord[:, 0] <= np.exp(0.5 * users @ np.log1p(largest)) * (1.0 + 2e-6)).all()
    if users.size == 1 and users.sum() >= 2.0:
        assert (chord.max(axis=1) <= ends * (1.0 + 2e-6)).all()


@pytest.mark.parametrize("theta", [1e-3, 1.0, 50.0])
def test_weights_integrate_linear_functions(theta: float) -> None:
    edges = np.array([0.0, 1e-6, 1e-3, 0.02, 0.7, 1.0, 30.0])
    left, right = several_laws._weights(edges, theta)
    with mpmath.workdps(40):
        for i, (low, high) in enumerate(itertools.pairwise(map(mpmath.mpf, edges.tolist()))):
            for found, end in ((left[i], high), (right[i], low)):
                truth = mpmath.quad(
                    lambda t, end=end: abs(t - end) / (high - low) / (theta**2 + t * t),  # noqa: B023
                    mpmath.linspace(low, high, 9),
                )
                assert found >= truth
                assert found == pytest.approx(float(truth), rel=1e-6, abs=0.0)


@pytest.mark.parametrize("width", [2e-3, 1e-2])
@pytest.mark.parametrize(
    ("theta", "sd", "deviation"), [(1e-3, 1.0, 1.0), (0.5, 30.0, 1.0), (5.0, 80.0, 2.0)]
)
def test_cells_reach_as_far_as_is_not_charged(
    theta: float, sd: float, deviation: float, width: float
) -> None:
    cells, (smoothing,) = Cells.of(*map(np.array, ([theta], [sd], [deviation])), width)
    (edges,) = cells.edges
    assert edges[0] == 0.0
    assert (np.diff(edges) > 0.0).all()
    assert edges[-1] * smoothing >= several_laws._CUT * (1.0 - 1e-12)
    assert edges[1] * sd <= math.sqrt(2.4 * width) * (1.0 + 1e-12)
    assert np.diff(edges).max() * deviation <= several_laws._WIDEST * (1.0 + 1e-9)
    assert smoothing <= 0.2 * max(sd, 1.0 / theta)


def test_sums_of_other_sizes_have_cells_of_their_own() -> None:
    """Each begins with those it has alone; what is added is farther out."""
    sums = [(1e-3, 1.0, 1.0), (5.0, 80.0, 2.0), (1e9, 1e-9, 1e9)]
    cells, smooth = Cells.of(*np.array(sums).T, 2e-3)
    edges = cells.edges
    for k, one in enumerate(sums):
        alone, (smoothing,) = Cells.of(*np.array([one]).T, 2e-3)
        (places,) = alone.edges
        assert edges[k, : places.size].tolist() == places.tolist()
        assert smooth[k] == smoothing
        even = edges[k, cells.head] + cells.step[k] * np.arange(edges.shape[1] - cells.head)
        assert even == pytest.approx(edges[k, cells.head :], rel=1e-15, abs=0.0)
    assert (np.diff(edges) > 0.0).all()
    assert edges.shape[1] < 2000


@pytest.mark.parametrize("seed", range(8))
def test_sums_asked_together_are_those_asked_alone(seed: int) -> None:
    """Each with laws, users, rate and Y of its own; both are above every choice of laws."""
    rng = np.random.default_rng(80 + seed)
    laws, starts = _random(rng, 5, 2, 10.0 ** rng.uniform(-1.0, 0.5)), (0, 2, 3)
    together = SeveralLaws(laws.weights, laws.values, laws.decays, laws.error, starts)
    users = np.array([[3.0, 2.0, 0.0], [0.0, 0.0, 2.0 + seed % 3]])
    lam, chance = rng.uniform(0.0, 0.7, 2), rng.dirichlet(np.ones(2), 2)
    first = rng.uniform(-0.5, 1.0, (2, 2))
    found, thetas = together.log_excesses(Sums(users, lam, first, chance), 2e-3)
    rows = list(zip(laws.weights, laws.values, laws.decays, strict=True))
    for k, (begin, end, inner) in enumerate([(0, 3, (0, 2)), (3, 5, (0,))]):
        part = (x[begin:end] for x in (laws.weights, laws.values, laws.decays))
        alone = SeveralLaws(*part, laws.error, inner)
        counts = [int(m) for m in users[k] if m]
        log, theta = alone.log_excess(counts, float(lam[k]), first[k], chance[k], 2e-3)
        assert found[k] == pytest.approx(log, rel=0.0, abs=2e-2)
        assert thetas[k] == pytest.approx(theta, rel=0.1, abs=0.0)
        choices = [
            itertools.combinations_with_replacement(rows[begin + i : begin + j], m)
            for i, j, m in zip(inner, (*inner[1:], end - begin), counts, strict=True)
        ]
        truth = max(
            expected_excess(list(itertools.chain(*each)), float(lam[k]), first[k], chance[k])
            for each in itertools.product(*choices)
        )
        assert truth <= math.exp(found[k])

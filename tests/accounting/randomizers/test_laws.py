"""The described laws against channels written out outcome by outcome."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import mpmath
import numpy as np
import pytest

from shuffledp import (
    KRR,
    BinaryRR,
    Channel,
    CheckIn,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    Piecewise,
    Shuffled,
    SubsetSelection,
    TruncatedLaplace,
    UnaryEncoding,
    optimised_unary,
    rappor,
)
from shuffledp.accounting.bounds.blanket import WorstDataset
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.outcomes import Outcomes
from tests.oracles import explicit
from tests.oracles.brute_force import worst_delta

EPS0 = (0.1, 1.0, 3.0, 7.0)
GRID = [-1.0, 1.0, 0.0, -0.5, 0.25, 0.5]


class Case(NamedTuple):
    name: str
    randomizer: Randomizer
    matrix: np.ndarray
    """Rows 0 and 1: the victim's values; row 2, if any: a third value."""
    whole: bool = True
    """The matrix holds enough inputs for its columnwise minimum to be the blanket."""


def cases(eps0: float) -> list[Case]:
    half = math.exp(eps0 / 2)
    keep, flip = half / (half + 1), 1 / (half + 1)
    levels = [
        Case(
            f"discrete-{m}",
            DiscreteLaplace(m, eps0=eps0),
            explicit.discrete_laplace(m, eps0, 5)[[0, m, *range(1, m)]],
        )
        for m in (1, 2, 5)
    ]
    return [
        *(
            Case(f"{k}-RR", KRR(k, eps0=eps0), explicit.randomized_response(k, eps0))
            for k in (2, 3, 5)
        ),
        Case("RR", BinaryRR(eps0=eps0), explicit.randomized_response(2, eps0)),
        *(Case(f"rappor-{k}", rappor(k, eps0), explicit.unary(k, keep, flip)) for k in (2, 3, 4)),
        *(
            Case(
                f"oue-{k}",
                optimised_unary(k, eps0),
                explicit.unary(k, 0.5, 1 / (math.exp(eps0) + 1)),
            )
            for k in (2, 3, 5)
        ),
        Case("unary", UnaryEncoding(3, 0.7, 0.2), explicit.unary(3, 0.7, 0.2)),
        *(
            Case(f"subset-{d}-{k}", SubsetSelection(k, d, eps0=eps0), explicit.subsets(k, d, eps0))
            for d, k in ((1, 2), (1, 4), (2, 3), (2, 4), (3, 4), (3, 6))
        ),
        Case(
            "hadamard",
            HadamardResponse(eps0=eps0),
            explicit.hadamard([1, 2, 4], 8, eps0),
            whole=False,
        ),
        *(
            Case(f"olh-{g}", LocalHashing(g, eps0=eps0), explicit.hashing(3, g, eps0), whole=False)
            for g in (2, 3, 5)
        ),
        Case("olh-2-of-4", LocalHashing(2, eps0=eps0), explicit.hashing(4, 2, eps0), whole=False),
        Case("one-bit", OneBitMean(eps0=eps0), explicit.one_bit([-1.0, 1.0], eps0)),
        Case("piecewise", Piecewise(eps0=eps0), explicit.piecewise(GRID, eps0)),
        *levels,
    ]


ALL = [pytest.param(case, id=f"{case.name}-{eps0:g}") for eps0 in EPS0 for case in cases(eps0)]


def table(outcomes: Outcomes) -> np.ndarray:
    """(first / base, second / base, base) with equal ratios merged."""
    silence = [outcomes.silent] if outcomes.silent else []
    first, second, base = (
        np.append(masses, silence) for masses in (outcomes.first, outcomes.second, outcomes.base)
    )
    ratios = np.array([first / base, second / base]).T
    keys = np.round(np.log(ratios), 9) + 0.0
    _, index = np.unique(keys, axis=0, return_inverse=True)
    mass = np.bincount(index.ravel(), weights=base)
    place = np.unique(index.ravel(), return_index=True)[1]
    return np.column_stack([ratios[place], mass])


@pytest.mark.parametrize("case", ALL)
def test_laws_sum_to_one(case: Case) -> None:
    for scene in [*case.randomizer.blankets(), *case.randomizer.datasets()]:
        laws = scene.outcomes
        assert math.fsum(laws.first) == pytest.approx(1.0, abs=1e-13)
        assert math.fsum(laws.second) == pytest.approx(1.0, abs=1e-13)
        assert laws.unseen == ()
    for scene in case.randomizer.datasets():
        assert math.fsum(scene.outcomes.base) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("case", ALL)
def test_budget_is_the_largest_ratio(case: Case) -> None:
    matrix = case.matrix
    largest = float(np.log(matrix.max(axis=0) / matrix.min(axis=0)).max())
    assert case.randomizer.eps0 == pytest.approx(largest, rel=1e-12, abs=0.0)
    assert Channel(matrix).eps0 == pytest.approx(largest, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("case", ALL)
def test_blanket_is_below_every_law(case: Case) -> None:
    """Every outcome's kind keeps base <= its smallest likelihood, and loses none of it."""
    (scene,) = case.randomizer.blankets()
    true = case.matrix.min(axis=0)
    mass = math.fsum(scene.outcomes.base)
    assert mass <= math.fsum(true) * (1 + 1e-13)
    if case.whole:
        assert mass == pytest.approx(math.fsum(true), rel=1e-12, abs=0.0)
    # where the ratios say base = b, the explicit outcomes of that kind have a minimum >= b
    for first, second, base in table(scene.outcomes):
        kind = np.isclose(case.matrix[0] / case.matrix[1], first / second, rtol=1e-9)
        assert base <= true[kind].sum() * (1 + 1e-12)


@pytest.mark.parametrize("case", ALL)
def test_grouped_blanket_is_the_written_out_one(case: Case) -> None:
    (scene,) = case.randomizer.blankets()
    base = case.matrix.min(axis=0)
    if not case.whole:  # a bigger domain has a value that finds this outcome unlikely
        base = np.full_like(base, case.matrix.min())
    ours = table(scene.outcomes)
    theirs = table(Outcomes.discrete(case.matrix[0], case.matrix[1], base, 1.0 - math.fsum(base)))
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-11)


@pytest.mark.parametrize("case", ALL)
def test_grouped_datasets_are_written_out_ones(case: Case) -> None:
    """Each data set of the description is one of the matrix's: base row 0, 1, 2."""
    rows = min(len(case.matrix), 3)
    theirs = [
        table(Outcomes.discrete(case.matrix[0], case.matrix[1], case.matrix[r]))
        for r in range(rows)
    ]
    if isinstance(case.randomizer, DiscreteLaplace):
        points = [0.0, 1.0, 1.0 / case.randomizer.levels]
        theirs += [
            table(Outcomes.discrete(case.matrix[0], case.matrix[1], case.matrix[-1])),
        ]
        scenes = case.randomizer.datasets(points)
    else:
        scenes = case.randomizer.datasets()
    for scene in scenes:
        ours = table(scene.outcomes)
        assert any(
            ours.shape == other.shape and np.allclose(ours, other, rtol=1e-11, atol=0.0)
            for other in theirs
        ), scene


@pytest.mark.parametrize(
    "case",
    [p.values[0] for p in ALL if p.values[0].randomizer.eps0 == 3.0],
    ids=lambda c: f"{c.name}-{c.randomizer.eps0:g}",
)
@pytest.mark.parametrize("n", [1, 7, 100])
def test_same_answers_as_the_channel(case: Case, n: int) -> None:
    epsilon = min(0.3 * case.randomizer.eps0, 2.0 / math.sqrt(n))
    ours = Shuffled(case.randomizer, n).bound("blanket", epsilon=epsilon).value
    theirs = Shuffled(Channel(case.matrix), n).bound("blanket", epsilon=epsilon).value
    if case.whole:
        assert ours == pytest.approx(theirs, rel=5e-4, abs=0.0)
    else:
        assert ours >= theirs * (1 - 5e-4)
    leaked = Shuffled(case.randomizer, n).bound("dataset", epsilon=epsilon).value
    best = Shuffled(Channel(case.matrix[:3]), n).bound("dataset", epsilon=epsilon).value
    assert 0.0 < leaked <= best * (1 + 5e-4)


@pytest.mark.parametrize("case", ALL)
def test_check_in_is_an_erasure_column(case: Case) -> None:
    rate = 0.3
    silent = np.full((len(case.matrix), 1), 1.0 - rate)
    channel = Channel(np.hstack([rate * case.matrix, silent]))
    checked = CheckIn(case.randomizer, rate)
    assert checked.eps0 == pytest.approx(channel.eps0, rel=1e-12, abs=0.0)
    ours = table(checked.blankets()[0].outcomes)
    if case.whole:
        scene = next(s for s in channel.blankets() if s.victim == "1 against 2")
        np.testing.assert_allclose(ours, table(scene.outcomes), rtol=1e-11)
    assert ours[:, 2].sum() == pytest.approx(
        1.0 - rate + rate * table(case.randomizer.blankets()[0].outcomes)[:, 2].sum(),
        rel=1e-12,
        abs=0.0,
    )


@pytest.mark.parametrize("eps0", [1.0, 3.0])
def test_piecewise_ends_are_the_worst_pair(eps0: float) -> None:
    """Channel tries every pair of the grid; the description only -1 against 1."""
    whole = Channel(explicit.piecewise([-1.0, -0.8, -0.3, 0.0, 0.1, 0.6, 1.0], eps0))
    for n in (1, 4, 100):
        for epsilon in (0.0, 0.1, 0.5):
            grid = Shuffled(whole, n).bound("blanket", epsilon=epsilon).value
            ends = Shuffled(Piecewise(eps0=eps0), n).bound("blanket", epsilon=epsilon).value
            assert grid == pytest.approx(ends, rel=5e-4, abs=1e-290)


@pytest.mark.parametrize("eps0", [1.0, 3.0])
def test_one_bit_ends_are_the_worst_pair(eps0: float) -> None:
    whole = Channel(explicit.one_bit([-1.0, -0.4, 0.0, 0.7, 1.0], eps0))
    for n in (1, 4, 100):
        grid = Shuffled(whole, n).bound("blanket", epsilon=0.1).value
        ends = Shuffled(OneBitMean(eps0=eps0), n).bound("blanket", epsilon=0.1).value
        assert grid == pytest.approx(ends, rel=5e-4, abs=0.0)


@pytest.mark.parametrize("words", [[1, 2], [1, 2, 3]])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_lower_end_of_hadamard_is_real_on_small_domains(words: list[int], n: int) -> None:
    """Two or three values: no data set of theirs leaks less than what is called leaked."""
    matrix = explicit.hadamard(words, 4, 2.0)
    channel = tuple(tuple(Fraction(x) for x in row) for row in matrix)
    for epsilon in (0.1, 0.5, 1.0):
        leaked = Shuffled(HadamardResponse(k=len(words), eps0=2.0), n).delta(epsilon).lower
        worst = worst_delta(channel, n, Fraction(math.exp(epsilon)))
        assert Fraction(leaked) <= worst * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("eps0", [1e-9, 1e-6, 1e-3, 15.0, 40.0, 60.0, 90.0])
@pytest.mark.parametrize(
    "build",
    [
        lambda e: KRR(7, eps0=e),
        lambda e: Laplace(eps0=e),
        lambda e: TruncatedLaplace(eps0=e),
        lambda e: DiscreteLaplace(9, eps0=e),
        lambda e: rappor(5, e),
        lambda e: optimised_unary(5, e),
        lambda e: LocalHashing(eps0=e),
        lambda e: HadamardResponse(eps0=e),
        lambda e: SubsetSelection(9, eps0=e),
        lambda e: OneBitMean(eps0=e),
        lambda e: Piecewise(eps0=e),
    ],
    ids=[
        "krr",
        "laplace",
        "truncated",
        "discrete",
        "rappor",
        "oue",
        "olh",
        "hadamard",
        "subset",
        "one-bit",
        "piecewise",
    ],
)
def test_every_allowed_budget_gives_laws(build, eps0: float) -> None:
    """From tiny to huge eps0 all laws sum to 1, the budget is kept and an answer comes out."""
    randomizer = build(eps0)
    assert eps0 * (1.0 - 1e-9) - 2e-14 <= randomizer.eps0 <= eps0  # flips are rounded to more noise
    for scene in [*randomizer.blankets(), *randomizer.datasets()]:
        laws = scene.outcomes
        assert math.fsum(laws.first) == pytest.approx(1.0, abs=1e-12)
        assert math.fsum(laws.second) == pytest.approx(1.0, abs=1e-12)
    if not isinstance(randomizer, Laplace):  # thousands of cells: slow for few users
        found = Shuffled(randomizer, 10).delta(eps0 / 2)
        assert 0.0 < found.lower <= found.upper <= 1.0


@pytest.mark.parametrize("k", [3, 10, 1000])
def test_more_values_never_cost_privacy(k: int) -> None:
    """k-RR: at the same eps0 the blanket bound falls as k grows."""
    small = Shuffled(KRR(k, eps0=3.0), 1000).bound("blanket", epsilon=0.2).value
    large = Shuffled(KRR(10 * k, eps0=3.0), 1000).bound("blanket", epsilon=0.2).value
    assert large <= small * (1 + 5e-4)


def test_gaussian_is_not_pure() -> None:
    assert Gaussian(sigma=1.0).eps0 == math.inf


def test_the_local_budget_of_nearly_equal_laws_is_never_below_the_truth() -> None:
    """In 200 bits: a ratio near 1 loses its digits in a difference of logarithms."""
    chance = np.random.default_rng(1)
    with mpmath.workprec(200):
        for _ in range(500):
            flip = float(chance.uniform(0.01, 0.9))
            keep = flip + (1.0 - flip) * 10.0 ** float(chance.uniform(-14.0, -0.1))
            kept, flipped = mpmath.mpf(keep), mpmath.mpf(flip)
            truth = mpmath.log(kept * (1 - flipped) / (flipped * (1 - kept)))
            assert truth <= UnaryEncoding(3, keep, flip).eps0 <= truth * (1 + 1e-13)
            first = chance.dirichlet(np.ones(3))
            second = first * (1.0 + 1e-6 * chance.normal(size=3))
            channel = Channel([first, second / second.sum()])
            one, other = (
                [x / mpmath.fsum(row) for x in map(mpmath.mpf, row)]
                for row in channel.matrix.tolist()
            )
            truth = max(abs(mpmath.log(a / b)) for a, b in zip(one, other, strict=True))
            # up to what the rows, as numbers, lack of 1
            assert truth <= channel.eps0 <= truth * (1 + 1e-13) + 1e-15


def test_the_data_set_that_leaks_most_is_found() -> None:
    """In whatever order they are tried, and each direction alone."""
    chance = np.random.default_rng(5)
    for _ in range(25):
        rows = chance.dirichlet(np.full(3, 0.7), 3) + 0.003
        shuffled = Shuffled(
            Channel(rows / rows.sum(axis=1, keepdims=True)), int(chance.integers(2, 40))
        )
        delta = float(10.0 ** chance.uniform(-5.0, -2.0))
        worst = shuffled.curve("dataset")
        assert isinstance(worst, WorstDataset)
        each = [way.epsilon(delta) for curve in worst.curves for way in curve.one_way()]
        assert worst.epsilon(delta) == pytest.approx(max(each), rel=1e-3, abs=1e-9)

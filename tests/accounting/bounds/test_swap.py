"""The swap bounds: above every data set, and near the worst of them."""

from __future__ import annotations

import itertools
import math
from contextlib import suppress

import numpy as np
import pytest

from shuffledp import (
    KRR,
    LDP,
    BinaryRR,
    Channel,
    CheckIn,
    DiscretePiecewise,
    HadamardResponse,
    Laplace,
    LocalHashing,
    OneBitMean,
    Piecewise,
    RegimeError,
    Shuffled,
    SubsetSelection,
    optimised_unary,
    rappor,
)
from shuffledp.accounting.bounds import swap
from shuffledp.accounting.curves import PureEnd
from shuffledp.accounting.curves.gdp import gaussian_delta
from shuffledp.accounting.randomizers.swaps import any_randomizer, windows
from shuffledp.numerics.enclosure import Enclosure
from tests.oracles.swap import binary_deltas, channel_deltas

TINY = 1.0 + 1e-9
"""The oracles' own rounding."""


def _below(randomizer, n, epsilons, truth, theorem="swap"):
    for epsilon, delta in zip(epsilons, truth, strict=True):
        claimed = Shuffled(randomizer, n).bound(theorem, epsilon=epsilon).value
        assert claimed * TINY >= delta, (randomizer, n, epsilon, claimed, delta)


@pytest.mark.parametrize(
    ("eps0", "n", "depth"),
    [(0.1, 60, 5.0), (0.5, 200, 5.0), (1.0, 300, 6.0), (2.0, 300, 4.0), (4.0, 400, 3.0)],
)
def test_above_all_data_sets_of_binary_response(eps0: float, n: int, depth: float) -> None:
    unit = 2.0 * math.sinh(0.5 * eps0) / math.sqrt(n)
    epsilons = [unit * k * depth / 5.0 for k in range(6) if unit * k * depth / 5.0 < 0.95 * eps0]
    _below(BinaryRR(eps0=eps0), n, epsilons, binary_deltas(eps0, n, epsilons, range(n)))


def test_near_the_worst_data_set_of_binary_response() -> None:
    """Tight: an inequality that is broken anywhere by a percent falls below the truth here."""
    n, epsilons = 2000, [0.0, 0.02, 0.04, 0.06, 0.08]
    held = range(0, n, 37)
    truth = binary_deltas(1.0, n, epsilons, held)
    for epsilon, delta in zip(epsilons, truth, strict=True):
        claimed = Shuffled(BinaryRR(eps0=1.0), n).bound("swap", epsilon=epsilon).value
        assert delta <= claimed * TINY <= 1.05 * delta


@pytest.mark.slow
@pytest.mark.parametrize("eps0", [0.2, 1.0, 3.0])
def test_above_every_composition_of_two_thousand(eps0: float) -> None:
    n, unit = 2000, 2.0 * math.sinh(0.5 * eps0) / math.sqrt(2000)
    epsilons = [0.0, unit, 2.0 * unit, 4.0 * unit]
    _below(BinaryRR(eps0=eps0), n, epsilons, binary_deltas(eps0, n, epsilons, range(n)))


def _random_channel(rng: np.random.Generator, inputs: int, outputs: int, spread: float):
    rows = np.exp(spread * rng.uniform(-1.0, 1.0, (inputs, outputs)))
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(8))
def test_above_all_data_sets_of_random_channels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = _random_channel(rng, 2 + seed % 2, 3, [0.1, 0.3, 0.6, 1.0][seed % 4])
    epsilons = [0.0, 0.02, 0.1, 0.3]
    _below(Channel(rows), 12, epsilons, channel_deltas(rows, 12, epsilons))


@pytest.mark.parametrize("seed", range(6))
def test_above_all_data_sets_of_any_ldp_randomizer(seed: int) -> None:
    """Staircases, and rows between: each is eps0-LDP, so the bound for the class holds."""
    rng = np.random.default_rng(100 + seed)
    eps0 = [0.1, 0.3, 0.6][seed % 3]
    base = rng.dirichlet(np.ones(3))
    rows = base * np.exp(eps0 * rng.integers(0, 2, (3, 3)))
    rows /= rows.sum(axis=1, keepdims=True)
    actual = Channel(rows).eps0
    epsilons = [0.0, 0.02, 0.1]
    _below(LDP(max(actual, 1e-3)), 12, epsilons, channel_deltas(rows, 12, epsilons), "swap-ldp")


def _explicit(randomizer, values: int):
    """Rows of small named randomizers, written out."""
    big = math.exp(randomizer.eps0)
    if isinstance(randomizer, HadamardResponse):
        words = np.arange(8)
        likely = np.array(
            [[(int(w & x).bit_count() + 1) % 2 for w in words] for x in range(1, values + 1)]
        )
    elif isinstance(randomizer, DiscretePiecewise):
        places = np.arange(randomizer.levels + randomizer.window)
        likely = np.array(
            [(places >= x) & (places < x + randomizer.window) for x in range(randomizer.levels + 1)]
        )
    else:
        likely = np.eye(values)
    rows = np.where(likely, big, 1.0)
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("randomizer", "values"),
    [
        (KRR(3, eps0=0.6), 3),
        (DiscretePiecewise(2, 1, eps0=0.5), 3),
    ],
)
def test_above_all_data_sets_of_named_randomizers(randomizer, values: int) -> None:
    rows = _explicit(randomizer, values)
    epsilons = [0.0, 0.05, 0.2]
    _below(randomizer, 11, epsilons, channel_deltas(rows, 11, epsilons))


@pytest.mark.parametrize("k", [4, 7])
def test_hadamard_laws_are_those_of_the_codewords(k: int) -> None:
    """Every third value is in one of the relations listed, with the masses listed."""
    randomizer = HadamardResponse(k=k, eps0=1.3)
    rows = _explicit(randomizer, k)
    listed = [
        sorted(np.round(np.stack([x.mass, x.first, x.second], axis=1), 9).tolist())
        for x in randomizer.swaps()[0].laws
    ]
    for third in range(k):
        atoms: dict[tuple[float, float], float] = {}
        for a, b, r in zip(rows[0], rows[1], rows[third], strict=True):
            key = (round(a / r, 9), round(b / r, 9))
            atoms[key] = atoms.get(key, 0.0) + r
        explicit = sorted([round(mass, 9), *key] for key, mass in atoms.items())
        merged = []
        for law in listed:
            sums: dict[tuple[float, float], float] = {}
            for mass, first, second in law:
                sums[(first, second)] = sums.get((first, second), 0.0) + mass
            merged.append(sorted([round(mass, 8), *key] for key, mass in sums.items()))
        assert [[round(x[0], 8), *x[1:]] for x in explicit] in merged


def test_a_code_of_three_values_may_hold_the_sum_of_two() -> None:
    """Ours does not, others do: a guarantee that does not know the code covers it."""
    claimed = Shuffled(HadamardResponse(eps0=2.0), 10_000).bound("swap", epsilon=0.1).value
    leaked = Shuffled(HadamardResponse(k=4, eps0=2.0), 10_000).bound("dataset", epsilon=0.1).value
    assert leaked <= claimed


NAMED = [
    lambda e: LDP(e),
    lambda e: BinaryRR(eps0=e),
    lambda e: OneBitMean(eps0=e),
    lambda e: Laplace(eps0=e),
    lambda e: Piecewise(eps0=e),
    lambda e: rappor(10, e),
    lambda e: optimised_unary(10, e),
    lambda e: LocalHashing(eps0=e),
    lambda e: HadamardResponse(k=2, eps0=e),
    lambda e: HadamardResponse(k=8, eps0=e),
    lambda e: SubsetSelection(10, eps0=e),
    lambda e: KRR(10, eps0=e),
]


@pytest.mark.parametrize("make", NAMED)
@pytest.mark.parametrize(("eps0", "n", "most"), [(1.0, 10**5, 1.01), (2.0, 10**3, 1.05)])
def test_both_ends_meet(make, eps0: float, n: int, most: float) -> None:
    _meet(Shuffled(make(eps0), n), most)


def _meet(protocol: Shuffled, most: float) -> None:
    """The best guarantee, swap bounds included, is near what is leaked."""
    found, proven = protocol.epsilon(1e-6), []
    for theorem in ("swap", "swap-ldp", "swap-laplace"):
        with suppress(RegimeError):
            proven.append(protocol.bound(theorem, delta=1e-6).value)
    assert found.lower <= min(proven)
    assert min(found.upper, *proven) <= most * found.lower


@pytest.mark.slow
@pytest.mark.parametrize("make", NAMED)
@pytest.mark.parametrize("eps0", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("n", "most"), [(10**4, 1.03), (10**5, 1.01), (10**6, 1.01)])
def test_both_ends_meet_everywhere(make, eps0: float, n: int, most: float) -> None:
    test_both_ends_meet(make, eps0, n, most)


@pytest.mark.parametrize("make", [NAMED[0], NAMED[2]])
def test_check_in(make) -> None:
    _meet(Shuffled(CheckIn(make(2.0), 0.1), 10**5), 1.02)


@pytest.mark.parametrize("n", [10, 100, 10**4, 10**8, 10**12])
@pytest.mark.parametrize("eps0", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-12])
def test_never_below_what_is_leaked(n: int, eps0: float, delta: float) -> None:
    for randomizer in (LDP(eps0), OneBitMean(eps0=eps0)):
        found = Shuffled(randomizer, n).epsilon(delta)
        theorem = "swap-ldp" if isinstance(randomizer, LDP) else "swap"
        assert Shuffled(randomizer, n).bound(theorem, delta=delta).value >= found.lower


def test_six_laws_have_means_one() -> None:
    for eps0 in (1e-4, 1.0, 30.0):
        family = any_randomizer(eps0)
        assert len(family.laws) == 6
        for law in family.laws:
            for ratio in (np.ones_like(law.mass), law.first, law.second, law.swap):
                assert float(law.mass @ ratio) == pytest.approx(1.0, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(("gap", "window"), [(2.0, 0.5), (2.0, 5.0), (3.0, 3.0)])
def test_every_window_is_a_mixture_of_corners(gap: float, window: float) -> None:
    """Masses of another window's law, at random places, lie in the hull of the corners."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(3)
    eps0, length = 1.0, gap + 2.0 * window
    unit = 1.0 / (length + math.expm1(eps0) * window)
    for pair, (low, high) in zip(
        windows(eps0, gap, window),
        [(0.0, 0.02), (0.02, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 1.0)],
        strict=True,
    ):
        columns = []
        for law in pair.laws:
            column = {}
            for mass, first, second, swap_ratio in zip(
                law.mass, law.first, law.second, law.swap, strict=True
            ):
                key = (round(float(first), 9), round(float(second), 9), round(float(swap_ratio), 9))
                column[key] = column.get(key, 0.0) + float(mass)
            columns.append(column)
        for _ in range(20):
            overlap = window * rng.uniform(low, high)
            start = rng.uniform(0.0, length - 2.0 * window + overlap)
            places = [
                (start, start + window),
                (start + window - overlap, start + 2.0 * window - overlap),
            ]
            third = rng.uniform(0.0, length - window)
            places.append((third, third + window))
            cuts = sorted({0.0, length, *(x for place in places for x in place)})
            wanted: dict[tuple[float, ...], float] = {}
            for one, two in itertools.pairwise(cuts):
                middle = 0.5 * (one + two)
                a, b, r = (math.e if x <= middle <= y else 1.0 for x, y in places)
                key = (round(a / r, 9), round(b / r, 9), round(1.0 / (length * unit * r), 9))
                wanted[key] = wanted.get(key, 0.0) + (two - one) * unit * r
            keys = sorted({key for column in (*columns, wanted) for key in column})
            matrix = np.array([[column.get(key, 0.0) for column in columns] for key in keys])
            target = np.array([wanted.get(key, 0.0) for key in keys])
            slack = np.hstack([matrix, np.eye(len(keys)), -np.eye(len(keys))])
            cost = np.r_[np.zeros(len(columns)), np.ones(2 * len(keys))]
            assert linprog(cost, A_eq=slack, b_eq=target).fun < 1e-7


@pytest.mark.parametrize(
    ("randomizer", "theorem", "n"),
    [
        (LDP(31.0), "swap-ldp", 100),
        (LDP(1.0), "swap-ldp", 9),
        (LDP(1.0, sequential=True), "swap-ldp", 1000),
        (LDP(1.0, 1e-9), "swap-ldp", 1000),
        (CheckIn(BinaryRR(eps0=1.0), 1e-7), "swap", 1000),
        (Channel([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]), "swap", 1000),
        (Laplace(eps0=13.0), "swap-laplace", 1000),
        (Laplace(eps0=1.0), "swap-laplace", 99),
        (BinaryRR(eps0=1.0), "swap-laplace", 1000),
    ],
)
def test_refuses_outside_its_regime(randomizer, theorem: str, n: int) -> None:
    with pytest.raises(RegimeError, match=theorem):
        Shuffled(randomizer, n).bound(theorem, delta=1e-6)


def test_training_in_order_does_not_use_it() -> None:
    asked = Shuffled(LDP(1.0, sequential=True), 10**5).candidates()[0]
    assert "swap-ldp" not in {bound.theorem.id for bound in asked}


@pytest.mark.parametrize(
    ("low", "high", "least"), [(900.0, 1100.0, 0.0), (100.0, 3000.0, 0.0), (600.0, 1500.0, 5e-4)]
)
def test_exponentials_cover_the_reciprocal(low: float, high: float, least: float) -> None:
    factors, rates = swap.exponentials(low, high, least)
    t = np.linspace(low, high, 4001)
    sums = np.exp(-np.multiply.outer(t, rates)) @ factors
    assert (rates >= least).all()
    assert (sums * t >= 1.0).all()
    assert (sums * t).max() <= 1.0 + 0.5 * math.log(high / low) ** 2


def test_deviations_of_sums() -> None:
    """Against the exact tails of a sum of two-valued g."""
    laws = any_randomizer(1.0).laws[1:2]
    m, law = 50, laws[0]
    values = np.sort(law.swap)
    p = float(law.mass[np.argmax(law.swap)])
    sums = values[0] * np.arange(m, -1, -1) + values[1] * np.arange(m + 1)
    weights = np.array([math.comb(m, j) * p**j * (1.0 - p) ** (m - j) for j in range(m + 1)])
    for chance in (1e-2, 1e-5):
        for sign in (-1.0, 1.0):
            away = swap.deviation([(m, laws)], math.log(chance), sign)
            assert weights[sign * (sums - m) > away].sum() <= chance


@pytest.mark.parametrize(
    ("randomizer", "theorem"),
    [
        (LDP(1.0), "swap-ldp"),
        (LDP(3.0), "swap-ldp"),
        (OneBitMean(eps0=2.0), "swap"),
        (Laplace(eps0=1.0), "swap-laplace"),
    ],
)
@pytest.mark.parametrize("n", [1000, 10**5])
def test_delta_falls(randomizer, theorem: str, n: int) -> None:
    curve = Shuffled(randomizer, n).curve(theorem)
    unit = curve.start(1e-6).x / 4.0
    values = [curve.delta(unit * k) for k in range(9)]
    assert values == sorted(values, reverse=True)
    for delta in (1e-3 * values[0], 1e-6):
        assert curve.delta(curve.epsilon(delta)) <= delta


@pytest.mark.parametrize("n", [200, 10**5])
def test_every_question_is_answered_by_the_same_curve(n: int) -> None:
    protocol = Shuffled(LDP(1.0), n)
    curve = protocol.curve("swap-ldp")
    for alpha in (0.0, 0.05, 0.9, 1.0):
        found = protocol.tradeoff(alpha)
        lines = [
            1.0 - curve.delta(x) - math.exp(x) * alpha
            for x in np.linspace(0.0, 3.0, 7) * curve.start(0.05 / math.sqrt(n)).x
        ]
        assert max(lines) - 1e-3 / math.sqrt(n) <= found.lower <= found.upper
    for order in (1.5, 16.0):
        found = protocol.renyi(order)
        assert found.theorem == "swap-ldp"
        assert found.upper < protocol.bound("stronger-clones", order=order).value


@pytest.mark.parametrize(("rounds", "before"), [(2, 0.0180), (365, 0.296)])
def test_rounds_gain(rounds: int, before: float) -> None:
    found = (Shuffled(LDP(1.0), 10**5) ** rounds).epsilon(1e-6)
    assert found.upper <= 1.02 * found.lower
    assert found.upper < 0.92 * before


@pytest.mark.parametrize("randomizer", [LDP(1.0), Laplace(eps0=1.0), OneBitMean(eps0=1.0)])
def test_what_is_asked_of_exact_ends_only_is_the_same_by_both_ways(randomizer) -> None:
    protocol = Shuffled(randomizer, 5000)
    assert protocol.guaranteed(delta=1e-6) == protocol.epsilon(1e-6).guarantee


def test_users_visited_in_order_are_not_covered() -> None:
    """Nor inside a check-in."""
    inner = LDP(1.0, sequential=True)
    for randomizer in (inner, CheckIn(inner, 0.5)):
        for theorem in ("swap", "swap-ldp", "swap-laplace"):
            with pytest.raises(RegimeError):
                Shuffled(randomizer, 1000).bound(theorem, delta=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_an_answer_is_never_worse_than_the_bounds_before(seed: int) -> None:
    """Any mechanism, budget, crowd and check-in; above all where the range of a bound begins."""
    rng = np.random.default_rng(seed)
    eps0, delta = math.exp(rng.uniform(math.log(0.01), math.log(5.0))), 10.0 ** rng.uniform(-12, -2)
    rate = 10.0 ** rng.uniform(-2.0, 0.0) if seed % 3 == 0 else 1.0
    few = 8.0 * math.exp(1.5 * eps0) / rate * rng.uniform(1.0, 2.0)
    n = int(max(few if seed % 2 else 10.0 ** rng.uniform(2.0, 12.0), 100.0))
    for randomizer in (LDP(eps0), OneBitMean(eps0=eps0), Laplace(eps0=eps0)):
        protocol = Shuffled(randomizer if rate == 1.0 else CheckIn(randomizer, rate), n)
        found = protocol.epsilon(delta).upper
        for theorem in ("stronger-clones", "blanket"):
            with suppress(RegimeError):
                assert found <= protocol.bound(theorem, delta=delta).value * (1.0 + 1e-9)


@pytest.mark.parametrize("eps0", [0.4, 1.0, 3.0])
def test_what_arrives_from_any_randomizer(eps0: float) -> None:
    """rho / r where both of the victim's values make an outcome likely, neither, or one of them."""
    big = math.exp(eps0)
    (apart,), (both,), (neither,) = any_randomizer(eps0).arrivals
    for kind, (a, b) in ((apart, (big, 1.0)), (both, (big, big)), (neither, (1.0, 1.0))):
        possible = sorted(0.5 * (a + b) / r for r in (1.0, big))
        for law in range(len(any_randomizer(eps0).laws)):
            met = sorted(low for i, low, high in kind.partners if i == law and low == high)
            assert met == pytest.approx(possible, rel=1e-13, abs=0.0)
        assert kind.first[0] == pytest.approx(2.0 * a / (a + b), rel=1e-13, abs=0.0)
        assert kind.second[0] == pytest.approx(2.0 * b / (a + b), rel=1e-13, abs=0.0)
    assert apart.first.tolist() == apart.second[::-1].tolist()
    assert apart.mass.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("count", [1, 2, 41, 42])
@pytest.mark.parametrize("mu", [0.01, 0.5])
def test_samples_joined_by_chords_lie_above(mu: float, count: int) -> None:
    """A convex profile, of which the upper ends alone are known: every one of its samples."""
    curve = swap.SwapCurve(
        lambda epsilon, _width: Enclosure(0.0, gaussian_delta(mu, epsilon)), PureEnd(30.0)
    )
    epsilons = (mu * np.linspace(0.0, 6.0, count) ** 1.3).tolist()
    truth = [gaussian_delta(mu, epsilon) for epsilon in epsilons]
    for low, high in curve.sampled(epsilons):
        assert low.tolist() == high.tolist()
        assert (high >= truth).all()
        assert (high <= 1.3 * np.array(truth) + 1e-3 * mu).all()


@pytest.mark.parametrize("depth", [0.5, 3.0, 4.1, 8.0])
def test_where_a_bound_fails_smaller_epsilons_answer(depth: float) -> None:
    mu, asked = 0.1, list[float]()

    def delta(epsilon: float, _width: float) -> float:
        asked.append(epsilon)
        return gaussian_delta(mu, epsilon) if epsilon < 4.0 * mu else 1.0

    found = swap.falling(delta, mu)(depth * mu, 1e-3).upper
    assert max(asked) == depth * mu
    truth = gaussian_delta(mu, depth * mu)
    assert truth <= found <= (truth if depth < 4.0 else gaussian_delta(mu, 3.2 * mu))

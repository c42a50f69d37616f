"""Every data set of random small channels, in exact fractions, against the interval."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest
from flint import arb, fmpq

from shuffledp import Channel, RegimeError, Shuffled
from tests.oracles.brute_force import Channel as Exact
from tests.oracles.brute_force import hockey_stick, local_ratio, shuffled_law, worst_delta

ROUNDING = Fraction(1, 2**51)


def random_channel(rng: random.Random, zeros: bool) -> Exact:
    """2 to 4 inputs, 2 to 6 outputs; columns of one, two or many levels."""
    inputs, outputs = rng.randint(2, 4), rng.randint(2, 6)
    big = rng.choice([2, 3, 7, 20, 150])
    columns = []
    for _ in range(outputs):
        levels = rng.choice([[1, big], list(range(1, big + 1)), [1]])
        if zeros and rng.random() < 0.4:
            levels = [0, *levels]
        scale = rng.choice([1, 1, 2, 5, 40])
        columns.append([scale * rng.choice(levels) for _ in range(inputs)])
    rows = list(zip(*columns, strict=True))
    if any(sum(row) == 0 for row in rows) or (zeros and all(min(row) > 0 for row in rows)):
        return random_channel(rng, zeros)
    channel = tuple(tuple(Fraction(x, sum(row)) for x in row) for row in rows)
    return channel if len(set(channel)) > 1 else random_channel(rng, zeros)


def stream(seed: int, count: int, zeros: bool = False) -> Iterator[tuple[Exact, random.Random]]:
    rng = random.Random(seed)
    for _ in range(count):
        yield random_channel(rng, zeros), rng


def attack(channel: Exact, n: int, epsilon: float) -> None:
    """lower <= the worst of all data sets <= each proven bound; e is enclosed by two fractions."""
    e = Fraction(math.exp(epsilon))
    least, most = (worst_delta(channel, n, e * (1 + sign * ROUNDING)) for sign in (1, -1))
    protocol = Shuffled(Channel([[float(x) for x in row] for row in channel]), n)
    case = (channel, n, epsilon)
    assert Fraction(protocol.bound("blanket", epsilon=epsilon).value) >= least, case
    try:
        generic = protocol.bound("stronger-clones", epsilon=epsilon).value
    except RegimeError:
        assert protocol.randomizer.eps0 == math.inf
    else:
        assert Fraction(generic) >= least, case
    assert Fraction(protocol.bound("dataset", epsilon=epsilon).value) <= most, case


def choose(channel: Exact, rng: random.Random, most_users: int) -> tuple[int, float]:
    """Few users; epsilon from 0 to nearly the budget."""
    crowded = len(channel) * len(channel[0]) > 12
    n = rng.randint(1, most_users - crowded)
    top = 4.0 if any(min(row) == 0 for row in channel) else math.log(local_ratio(channel))
    return n, top * rng.choice([0.0, 0.03, 0.15, 0.4, 0.7, 0.95])


@pytest.mark.parametrize("seed", range(10))
def test_random_channels(seed: int) -> None:
    for channel, rng in stream(seed, 22):
        attack(channel, *choose(channel, rng, 5))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_random_channels(seed: int) -> None:
    for channel, rng in stream(seed, 55):
        attack(channel, *choose(channel, rng, 5))


@pytest.mark.parametrize("seed", range(5))
def test_channels_with_zeros(seed: int) -> None:
    for channel, rng in stream(seed, 22, zeros=True):
        attack(channel, *choose(channel, rng, 4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 220))
def test_many_channels_with_zeros(seed: int) -> None:
    for channel, rng in stream(seed, 30, zeros=True):
        attack(channel, *choose(channel, rng, 4))


@pytest.mark.parametrize("seed", range(2))
def test_epsilon_holds_and_is_leaked(seed: int) -> None:
    """epsilon(delta): no data set exceeds delta at the upper end, one reaches it at the lower."""
    for channel, rng in stream(300 + seed, 8):
        n, delta = rng.randint(1, 3), rng.choice([0.2, 0.02, 1e-3, 1e-6])
        found = Shuffled(Channel([[float(x) for x in row] for row in channel]), n).epsilon(delta)
        above = Fraction(math.exp(found.upper)) * (1 + ROUNDING)
        assert worst_delta(channel, n, above) <= Fraction(delta) * (1 + ROUNDING * 1000)
        if found.lower > 0.0:
            below = Fraction(math.exp(found.lower)) * (1 - ROUNDING)
            assert worst_delta(channel, n, below) >= Fraction(delta)


def neighbours(channel: Exact, n: int) -> Iterator[tuple[dict, dict]]:
    """Laws of all neighbouring data sets, both orders."""
    values = range(len(channel))
    for others in itertools.combinations_with_replacement(values, n - 1):
        for x, y in itertools.permutations(values, 2):
            yield shuffled_law(channel, (*others, x)), shuffled_law(channel, (*others, y))


@pytest.mark.slow
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_renyi_encloses_the_worst_data_set(order: float) -> None:
    for channel, rng in stream(int(10 * order), 3):
        n = rng.randint(1, 3)
        worst = 0.0
        for p, q in neighbours(channel, n):
            total = math.fsum(float(q[z]) * float(p[z] / q[z]) ** order for z in p if q[z])
            worst = max(worst, math.log(total) / (order - 1))
        found = Shuffled(Channel([[float(x) for x in row] for row in channel]), n).renyi(order)
        assert found.lower <= worst * (1 + 1e-9) + 1e-13
        assert worst <= found.upper * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("alpha", [0.01, 0.2])
def test_tradeoff_encloses_the_worst_data_set(alpha: float) -> None:
    for channel, rng in stream(int(100 * alpha), 3):
        n = rng.randint(1, 3)
        worst = 1.0
        for p, q in neighbours(channel, n):
            # most powerful test of p against q: reject where q / p is largest
            left, missed = alpha, 1.0
            for z in sorted(p, key=lambda z: -(q[z] / p[z]) if p[z] else -math.inf):
                share = 1.0 if not p[z] else min(1.0, left / float(p[z]))
                left -= share * float(p[z])
                missed -= share * float(q[z])
            worst = min(worst, missed)
        found = Shuffled(Channel([[float(x) for x in row] for row in channel]), n).tradeoff(alpha)
        assert found.lower <= worst + 1e-12
        assert worst <= found.upper + 1e-12


# --- channels without a pure budget ---------------------------------------------------------

DISJOINT = [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 59.9, 60.0, 61.0, 700.0])
@pytest.mark.parametrize("n", [1, 2, 5, 1000])
def test_mass_the_blanket_misses_is_kept_at_every_epsilon(epsilon: float, n: int) -> None:
    found = Shuffled(Channel(DISJOINT), n).delta(epsilon)
    assert found.upper >= 0.5
    assert found.lower <= 0.5 + 1e-12 or epsilon == 0.0


def test_unreachable_delta_is_no_finite_epsilon() -> None:
    """delta(eps) >= 1/2 for every eps: no number is a guarantee at delta = 1e-6."""
    try:
        found = Shuffled(Channel(DISJOINT), 5).epsilon(1e-6)
    except ValueError:
        return
    assert found.upper == math.inf


def test_renyi_of_disjoint_supports_is_no_number() -> None:
    try:
        found = Shuffled(Channel(DISJOINT), 5).renyi(2.0)
    except ValueError as error:
        assert "eps0" in str(error) or "pure" in str(error)  # noqa: PT017
        return
    assert found.upper == math.inf


def test_tradeoff_of_disjoint_supports() -> None:
    """A test with no false alarm still catches half: f(0) = 1/2 exactly."""
    found = Shuffled(Channel(DISJOINT), 5).tradeoff(0.0)
    assert found.lower <= 0.5
    truth = shuffled_law(tuple(tuple(Fraction(x) for x in row) for row in DISJOINT), (0,) * 5)
    assert sum(truth.values()) == 1
    assert found.upper <= 0.5 + 1e-9


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_identity_channel_is_not_private(epsilon: float) -> None:
    found = Shuffled(Channel([[1.0, 0.0], [0.0, 1.0]]), 4).delta(epsilon)
    assert found.lower == pytest.approx(1.0)
    assert found.upper == 1.0


def test_equal_rows_leak_nothing() -> None:
    protocol = Shuffled(Channel([[0.25, 0.75], [0.25, 0.75]]), 3)
    assert protocol.delta(0.0).upper <= 1e-15
    assert protocol.epsilon(1e-6).upper == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_leaked_beyond_the_budget_only(seed: int) -> None:
    """At epsilon = eps0 as reported delta = 0 is claimed: then eps0 must not be rounded down."""
    ((channel, _),) = stream(400 + seed, 1)
    floats = Channel([[float(x) for x in row] for row in channel])
    exact = tuple(tuple(Fraction(x) for x in row) for row in floats.matrix.tolist())
    ratio = local_ratio(exact)
    true = arb(fmpq(ratio.numerator, ratio.denominator)).log()
    if Shuffled(floats, 1).delta(floats.eps0).upper == 0.0:
        assert not bool(arb(floats.eps0) < true)


def test_extreme_entries_get_an_answer_or_a_clear_error() -> None:
    for tiny in (1e-100, 1e-290, 1e-305, 5e-324):
        try:
            found = Shuffled(Channel([[tiny, 1.0], [0.5, 0.5]]), 3).delta(1.0)
        except ValueError as error:
            assert "row" in str(error) or "matrix" in str(error)  # noqa: PT017
        else:
            assert found.lower <= 0.5 <= found.upper * (1 + 1e-12)


def test_search_agrees_with_the_definition() -> None:
    for channel, _ in stream(7, 3, zeros=True):
        e = Fraction(3, 2)
        plain = max(hockey_stick(p, q, e) for p, q in neighbours(channel, 2))
        assert plain == worst_delta(channel, 2, e)

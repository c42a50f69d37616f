"""Sums only, thresholded counts, dummies: every data set of a few users, references, refusals."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    LDP,
    Aggregated,
    BinaryRR,
    BinomialNoise,
    DiscreteGaussian,
    DiscreteGaussianNoise,
    DiscreteLaplace,
    NegativeBinomialNoise,
    NoiseShare,
    PairedDummies,
    ParameterError,
    PoissonNoise,
    PolyaNoise,
    Rounds,
    SampleThreshold,
    Shuffled,
    SkellamNoise,
    Stated,
    Status,
    UnaryEncoding,
    WithDummies,
    optimised_unary,
    rappor,
)
from shuffledp.accounting.bounds import get_theorem
from shuffledp.accounting.bounds.counters import BitCounter, Bits, cells
from shuffledp.accounting.protocols import Counted, describe, restore
from shuffledp.ledger import Ledger
from tests.oracles import counters

TIMES = [Fraction(1), Fraction(9, 8), Fraction(3, 2), Fraction(3), Fraction(8)]


def _holds(protocol: Counted, exact: Fraction, t: Fraction, tight: float) -> None:
    """The truth is inside, and both ends are near it."""
    found = protocol.delta(math.log(t))
    assert found.status is Status.PROVEN
    assert found.lower <= float(exact) * (1.0 + 1e-9) + 1e-15
    assert found.upper >= float(exact) * (1.0 - 1e-9)
    assert found.upper <= tight * float(exact) + 1e-9
    assert found.lower >= float(exact) / tight - 1e-9


@pytest.mark.parametrize("t", TIMES, ids=str)
@pytest.mark.parametrize("removed", [True, False], ids=["removed", "replaced"])
@pytest.mark.parametrize(
    ("keep", "flip"), [(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 2), Fraction(1, 8))]
)
@pytest.mark.parametrize(("k", "n"), [(2, 4), (3, 3)])
def test_sums_of_unary_encodings(
    k: int, n: int, keep: Fraction, flip: Fraction, removed: bool, t: Fraction
) -> None:
    exact = counters.worst(counters.unary_sums(k, keep, flip), k, n, removed, t)
    protocol = Aggregated(
        UnaryEncoding(k, float(keep), float(flip)), n, "remove" if removed else "replace"
    )
    _holds(protocol, exact, t, 1.0 + 1e-6 if removed else 2.0)


@pytest.mark.parametrize("t", TIMES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_sums_of_randomized_responses(n: int, t: Fraction) -> None:
    keep = Fraction(1.0 / (1.0 + math.exp(-2.0)))
    exact = counters.worst(counters.binary_sums(keep), 2, n, False, t)
    _holds(Aggregated(BinaryRR(eps0=2.0), n), exact, t, 1.0 + 1e-6)


BINOMIAL = {z: Fraction(math.comb(6, z), 2**6) for z in range(7)}


@pytest.mark.parametrize("t", TIMES, ids=str)
@pytest.mark.parametrize("removed", [True, False], ids=["removed", "replaced"])
def test_binomial_dummies_and_shares_of_noise(removed: bool, t: Fraction) -> None:
    exact = counters.worst(counters.noisy_counts(3, BINOMIAL), 3, 2, removed, t)
    neighbours = "remove" if removed else "replace"
    for protocol in (
        WithDummies(BinomialNoise(6), 2, neighbours),
        WithDummies(BinomialNoise(3), 2, neighbours, by_users=True),
        Aggregated(NoiseShare(BinomialNoise(3), k=3), 2, neighbours),
        Aggregated(NoiseShare(BinomialNoise(3), k=3), 5, neighbours, colluders=2, minimum_batch=4),
    ):
        _holds(protocol, exact, t, 1.0 + 1e-6 if removed else 1.02)


@pytest.mark.parametrize("t", TIMES, ids=str)
@pytest.mark.parametrize("removed", [True, False], ids=["removed", "replaced"])
@pytest.mark.parametrize(("threshold", "spread"), [(1, 0), (2, 0), (2, 1)])
def test_samples_with_a_threshold(threshold: int, spread: int, removed: bool, t: Fraction) -> None:
    rate, n = Fraction(1, 4), 5
    exact = counters.worst(counters.thresholded(3, rate, threshold, spread), 3, n, removed, t)
    protocol = SampleThreshold(
        float(rate), threshold, spread, n, "remove" if removed else "replace"
    )
    _holds(protocol, exact, t, 1.0 + 1e-6 if removed else 1.6)


def test_the_threshold_of_a_browser() -> None:
    deployed = SampleThreshold(rate=0.105, threshold=20)
    assert deployed.delta(1.0).upper == pytest.approx(6.48e-15, rel=1e-3, abs=0.0)
    found = deployed.epsilon(1e-8)
    assert found.upper == pytest.approx(0.31804, rel=1e-4, abs=0.0)
    assert found.gap < 1e-4


def test_runs_of_data_sets_hold_for_each_of_them() -> None:
    """Small rates group numbers of holders: the bound for a run is above each of its data sets."""
    import numpy as np

    from shuffledp.accounting.bounds.counters import ThresholdCounter, _threshold_pair

    epsilons = np.array([0.0, 0.05, 0.3])
    for threshold, spread in ((3, 0), (3, 2)):
        run = _threshold_pair(0.05, threshold, spread, 40, 47).deltas(epsilons)
        for holders in range(40, 48):
            one = ThresholdCounter(0.05, threshold, spread, None, holders).one(epsilons)
            for way in (0, 1):
                assert np.all(one[way][0] <= run[way][1] * (1.0 + 1e-9) + 1e-30)


def test_the_ietf_table_holds_and_its_worst_data_set() -> None:
    for eps0, printed, removed, replaced in (
        (5.0, 0.317, 0.2120, 0.2972),
        (6.5, 0.906, 0.5150, 0.7000),
        (7.0, 1.528, 0.7148, 0.9503),
    ):
        encoding = rappor(10, 2.0 * eps0)
        for neighbours, leaked in (("remove", removed), ("replace", replaced)):
            found = Aggregated(encoding, 10**5, neighbours).epsilon(1e-9)
            assert found.lower == pytest.approx(leaked, rel=1e-3, abs=0.0)
            assert found.gap < 0.01
            assert found.upper < printed


@pytest.mark.parametrize("n", [10**4, 10**7])
@pytest.mark.parametrize("make", [rappor, optimised_unary])
def test_intervals_are_narrow_for_any_number_of_users(make: object, n: int) -> None:
    found = Aggregated(make(20, 4.0), n).epsilon(1e-8)  # type: ignore[operator]
    assert found.gap < 0.01


def test_dummies_at_the_reference_point() -> None:
    found = WithDummies(PoissonNoise(42.7), 10**6).delta(1.0)
    assert found.upper < 1e-6
    assert WithDummies(PoissonNoise(42.0), 10**6).delta(1.0).lower > 1e-6
    assert found.gap < 0.01


def test_shares_that_make_up_discrete_laplace_noise_are_pure() -> None:
    whole = Aggregated(NoiseShare(PolyaNoise(1.0 / 1000, 2.0), k=5), 1000, "remove")
    assert whole.epsilon(1e-9).upper == pytest.approx(0.5, rel=1e-6, abs=0.0)
    assert whole.delta(0.5001).upper == 0.0
    assert Aggregated(NoiseShare(PolyaNoise(1.0, 2.0)), 1).epsilon(1e-9).upper == pytest.approx(
        0.5, rel=1e-6, abs=0.0
    )


@pytest.mark.parametrize(
    "noise",
    [
        SkellamNoise(0.05),
        PolyaNoise(0.002, 1.5),
        BinomialNoise(2, 0.3),
        NegativeBinomialNoise(0.2, 0.6),
        DiscreteGaussianNoise(0.5),
        PoissonNoise(0.05),
    ],
    ids=str,
)
def test_colluders_and_dropouts_take_shares_away(noise: object) -> None:
    share = NoiseShare(noise, k=4)  # type: ignore[arg-type]
    few = Aggregated(share, 300)
    alike = [
        Aggregated(share, 500, colluders=200),
        Aggregated(share, 500, minimum_batch=300),
        Aggregated(share, 500, minimum_batch=400, colluders=100),
    ]
    assert len({each.epsilon(1e-4) for each in (few, *alike)}) == 1
    assert Aggregated(share, 500).epsilon(1e-4).upper < few.epsilon(1e-4).lower


def test_numbers_with_noise_of_each_user() -> None:
    """One user is the local guarantee; more of them hide each other."""
    assert Aggregated(DiscreteLaplace(levels=5, eps0=1.5), 1).epsilon(1e-12).upper == pytest.approx(
        1.5, rel=1e-6, abs=0.0
    )
    sums = [Aggregated(DiscreteGaussian(10, 400.0), n).epsilon(1e-6) for n in (1, 4, 100)]
    assert sums[0].lower > sums[1].upper > sums[1].lower > sums[2].upper
    # a sum of discrete Gaussians is nearly one: variance 1600 against 4 of 400
    assert sums[1].upper == pytest.approx(
        Aggregated(DiscreteGaussian(10, 1600.0), 1).epsilon(1e-6).upper, rel=1e-6, abs=0.0
    )


def test_peaked_noise_is_tried_at_every_move() -> None:
    """With less than one whole share the largest move need not be the worst: all are looked at."""
    share = NoiseShare(PolyaNoise(0.05, 4.0), levels=6)
    found = Aggregated(share, 3, "remove")
    smaller = [
        Aggregated(NoiseShare(PolyaNoise(0.05, 4.0), levels=s), 3, "remove") for s in range(1, 6)
    ]
    for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
        assert found.delta(epsilon).upper >= max(x.delta(epsilon).upper for x in smaller)


@settings(max_examples=25, deadline=None)
@given(
    others=st.integers(0, 5000),
    one=st.floats(0.3, 0.99),
    share=st.floats(0.001, 0.9),
)
def test_cells_cover_every_number_of_holders(others: int, one: float, share: float) -> None:
    bits = Bits(one, 1.0 - one, one * share, 1.0 - one * share)
    if bits.variances[0] < bits.variances[1]:
        bits = bits.mirrored()
    runs = cells(bits, others)
    covered = [h for first, last in runs for h in range(first, last + 1)]
    assert covered == list(range(others + 1))


def test_every_number_of_holders_is_below_the_guarantee() -> None:
    import numpy as np

    epsilons = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
    for bits in (Bits(0.9, 0.1, 0.1, 0.9), Bits(0.5, 0.5, 0.02, 0.98), Bits(0.98, 0.02, 0.5, 0.5)):
        counter = BitCounter(bits, 600, 0)
        (_, most), (_, reverse) = counter.worst(epsilons)
        for holders in range(0, 601, 7):
            ends = BitCounter(bits, 600, holders).one(epsilons)
            assert np.all(ends[0][0] <= most * (1 + 1e-12))
            assert np.all(ends[1][0] <= reverse * (1 + 1e-12))


def test_rounds_of_different_shapes() -> None:
    one = WithDummies(PoissonNoise(300.0), 10**5)
    both = Rounds(
        [(one, 2), Aggregated(rappor(8, 6.0), 10**5), Shuffled(LDP(eps0=0.5), 10**5), Stated(0.1)]
    )
    found = both.epsilon(1e-6)
    assert found.lower < found.upper < 2.0
    assert (one**3).epsilon(1e-6).upper == pytest.approx(
        Rounds([one, one, one]).epsilon(1e-6).upper
    )
    assert (one**1).epsilon(1e-6) == one.epsilon(1e-6)
    with pytest.raises(ParameterError, match="neighbours"):
        Rounds([Shuffled(LDP(eps0=0.5), 100), SampleThreshold(0.1, 20)])


PROTOCOLS = [
    Aggregated(rappor(4, 2.0), 100, "remove", 3, 50),
    Aggregated(BinaryRR(eps0=1.0), 7),
    Aggregated(NoiseShare(PolyaNoise(0.1, 2.0), levels=4), 30),
    Aggregated(NoiseShare(DiscreteGaussianNoise(2.0), k=4), 30),
    SampleThreshold(0.2, 5, 2, 50, "replace"),
    WithDummies(NegativeBinomialNoise(0.5, 0.9), 10, by_users=True),
    PairedDummies(NegativeBinomialNoise(0.1, 0.5), NegativeBinomialNoise(0.4, 0.9), 10, "remove"),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_descriptions_come_back(protocol: Counted) -> None:
    text = json.dumps(describe(protocol), allow_nan=False)
    assert restore(json.loads(text)) == protocol


def test_a_ledger_books_them(tmp_path: object) -> None:
    book = Ledger.open(f"{tmp_path}/book.db")
    book.create("users", "2", "1e-5")
    receipt = book.spend("users", WithDummies(PoissonNoise(200.0), 10**5), 2)
    assert receipt.entry.what == WithDummies(PoissonNoise(200.0), 10**5)
    assert 0 < float(receipt.lost["epsilon"]) < 1.2
    with pytest.raises(ParameterError, match="replaced values"):
        book.spend("users", SampleThreshold(0.105, 20), 1)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="added up"):
        Aggregated(KRR(k=3, eps0=1.0), 10)
    with pytest.raises(ParameterError, match="no value 'none'"):
        Aggregated(BinaryRR(eps0=1.0), 10, "remove")
    with pytest.raises(ParameterError, match="neighbours"):
        Aggregated(rappor(3, 1.0), 10, "swap")
    with pytest.raises(ParameterError, match="colluders"):
        Aggregated(rappor(3, 1.0), 10, colluders=10)
    with pytest.raises(ParameterError, match="minimum_batch"):
        WithDummies(PoissonNoise(1.0), 10, minimum_batch=11)
    with pytest.raises(ParameterError, match="dummies"):
        WithDummies(SkellamNoise(1.0), 10)
    with pytest.raises(ParameterError, match="rate"):
        SampleThreshold(1.0, 20)
    with pytest.raises(ParameterError, match="levels"):
        NoiseShare(PoissonNoise(1.0), k=3, levels=2)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 0.6, 1.5])
@pytest.mark.parametrize("neighbours", ["replace", "remove"])
def test_dummies_that_cancel(epsilon: float, neighbours: str) -> None:
    """Both numbers of every value, listed: geometric noise under a flood."""
    p, q, shape, size = 0.6, 0.5, 2.0, 40
    noise = [(1.0 - p) * p**k for k in range(size)]
    flood = [(k + 1.0) * (1.0 - q) ** 2 * q**k for k in range(size)]
    law: dict[tuple[int, int], float] = {}
    for a in range(size):
        for b in range(size):
            law[a, b] = math.fsum(
                flood[f] * noise[a - f] * noise[b - f] for f in range(min(a, b) + 1)
            )
    one = [(law.get((a - 1, b), 0.0), law[a, b]) for a, b in law]
    few = sorted(one, key=lambda pair: -pair[1])[:200]  # the others hold next to nothing
    pairs = one if neighbours == "remove" else [(x * w, y * v) for x, y in few for v, w in few]
    t = math.exp(epsilon)
    ways = [math.fsum(max(a - t * b, 0.0) for a, b in each) for each in (pairs, _turned(pairs))]
    protocol = PairedDummies(
        NegativeBinomialNoise(0.25, p), NegativeBinomialNoise(shape / 4.0, q), 4, neighbours
    )
    found = protocol.delta(epsilon)
    slack = 1e-8 if neighbours == "remove" else 0.05
    assert found.lower - slack <= max(ways) <= found.upper + 1e-8
    assert found.upper <= max(ways) + slack


def _turned(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(b, a) for a, b in pairs]


def test_cancelling_dummies_lose_what_colluders_know() -> None:
    noise, pairs = NegativeBinomialNoise(1e-3, 0.6), NegativeBinomialNoise(0.01, 0.95)
    whole = PairedDummies(noise, pairs, 1000).epsilon(1e-6)
    assert whole.gap < 0.05
    fewer = [
        PairedDummies(noise, pairs, 1000, colluders=300).epsilon(1e-6),
        PairedDummies(noise, pairs, 1000, minimum_batch=700).epsilon(1e-6),
        PairedDummies(noise, pairs, 700).epsilon(1e-6),
    ]
    assert len(set(fewer)) == 1
    assert fewer[0].lower > whole.upper
    with pytest.raises(ParameterError, match="pairs"):
        PairedDummies(noise, PoissonNoise(1.0), 10)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["counters", "counters-dataset"])
def test_the_proof_is_written(name: str) -> None:
    from tests.accounting.bounds.test_registry import DOCS

    theorem = get_theorem(name)
    assert theorem.proof is not None
    assert f"`{name}`" in (DOCS / theorem.proof).read_text(encoding="utf-8")


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_rounds_of_removed_values_count_both_directions(epsilon: float) -> None:
    """Two Poisson counts moved up are told from unmoved ones less well than the other way round."""
    rate, t = 2.0, math.exp(epsilon)
    law = [math.exp(-rate) * rate**k / math.factorial(k) for k in range(60)]
    moved = [0.0, *law[:-1]]
    ways = [
        math.fsum(max(a[i] * a[j] - t * b[i] * b[j], 0.0) for i in range(60) for j in range(60))
        for a, b in ((moved, law), (law, moved))
    ]
    assert ways[1] > ways[0]
    found = (WithDummies(PoissonNoise(rate), 100, "remove") ** 2).guaranteed(epsilon=epsilon)
    assert max(ways) * (1.0 - 1e-9) <= found.value <= max(ways) * (1.0 + 1e-6)

"""Known numbers of known deployments, and the order of the bounds."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import KRR, BinaryRR, HadamardResponse, Laplace, Piecewise, Shuffled, Status, rappor
from shuffledp.accounting.bounds import get_bound

TEN = Shuffled(KRR(k=10, eps0=3.0), n=1000)


def test_ten_values() -> None:
    found = TEN.epsilon(delta=1e-6)
    assert round(found.upper, 5) == 0.66336
    assert 0.66312 <= round(found.lower, 5) <= 0.66336
    assert found.status is Status.PROVEN
    assert found.theorem == "blanket"


def test_published_variation_ratio_is_refuted() -> None:
    """Claims less than the data set with all others on a third symbol leaks."""
    claim = TEN.bound("variation-ratio-2024", delta=1e-6)
    # 0.66198341 by summing the pair's histograms; print it as 0.66198, or rounded up 0.66199
    assert claim.value == pytest.approx(0.66198341, abs=2e-8)
    assert claim.status is Status.REFUTED
    case = get_bound("variation-ratio-2024").theorem.refutation
    assert case is not None
    leaked = TEN.bound(case.witness, delta=1e-6).value
    assert round(leaked, 5) == pytest.approx(case.leaked, abs=1.1e-5)
    assert leaked > claim.value + 1e-3


@pytest.mark.parametrize(("epsilon", "leaked"), [(0.1, 1.37e-3), (0.2, 1.36e-5), (0.3, 2.43e-8)])
def test_laplace_lower_end(epsilon: float, leaked: float) -> None:
    found = Shuffled(Laplace(eps0=4.0), n=10_000).delta(epsilon)
    assert leaked <= found.lower <= 1.1 * leaked
    assert found.lower <= found.upper
    generic = Shuffled(Laplace(eps0=4.0), n=10_000).bound("stronger-clones", epsilon=epsilon).value
    assert found.upper < generic


RANDOMIZERS = st.one_of(
    st.builds(lambda k, e: KRR(k, eps0=e), st.integers(2, 2000), st.floats(0.05, 6.0)),
    st.builds(lambda e: HadamardResponse(eps0=e), st.floats(0.05, 6.0)),
    st.builds(lambda e: Piecewise(eps0=e), st.floats(0.05, 6.0)),
    st.builds(rappor, st.integers(2, 500), st.floats(0.05, 6.0)),
)


@settings(max_examples=60)
@given(RANDOMIZERS, st.floats(0, 5), st.floats(0.0, 0.8))
def test_order_of_the_bounds(randomizer, power: float, share: float) -> None:
    """dataset <= blanket <= safe variation-ratio <= generic, up to the engine's width."""
    protocol = Shuffled(randomizer, int(10**power))
    epsilon = share * min(randomizer.eps0, 6.0 * math.sqrt(math.exp(randomizer.eps0) / protocol.n))
    low, blanket, ratio, generic = (
        protocol.bound(name, epsilon=epsilon).value
        for name in ("dataset", "blanket", "variation-ratio", "stronger-clones")
    )
    slack = 1 + 1e-3
    assert low <= blanket
    assert blanket <= ratio * slack + 1e-290
    assert ratio <= generic * slack + 1e-290


@settings(max_examples=25)
@given(RANDOMIZERS, st.integers(1, 10**6), st.floats(0.0, 0.5))
def test_interval_never_worse_than_generic(randomizer, n: int, share: float) -> None:
    protocol = Shuffled(randomizer, n)
    found = protocol.delta(share * randomizer.eps0)
    generic = protocol.bound("stronger-clones", epsilon=share * randomizer.eps0).value
    assert found.lower <= found.upper <= generic


def test_two_values_are_nearly_exact() -> None:
    """2-RR's blanket is the generic pair; the interval is narrow."""
    for n in (10, 1000, 10**5):
        protocol = Shuffled(BinaryRR(eps0=1.5), n)
        epsilon = 2.0 / math.sqrt(n)
        found = protocol.delta(epsilon)
        generic = protocol.bound("stronger-clones", epsilon=epsilon).value
        assert protocol.bound("blanket", epsilon=epsilon).value == pytest.approx(
            generic, rel=5e-4, abs=0.0
        )
        assert found.upper <= generic


@pytest.mark.parametrize("randomizer", [KRR(1000, eps0=2.0), Laplace(eps0=2.0)], ids=str)
def test_monotone(randomizer) -> None:
    """Falls with epsilon and with n, rises with eps0 (up to the engine's width)."""
    slack = 1 + 5e-4
    values = [Shuffled(randomizer, 2000).delta(e).upper for e in (0.0, 0.02, 0.05, 0.1, 0.2)]
    assert all(b <= a * slack for a, b in itertools.pairwise(values))
    values = [Shuffled(randomizer, n).delta(0.05).upper for n in (10, 100, 1000, 10_000)]
    assert all(b <= a * slack for a, b in itertools.pairwise(values))


def test_one_user_is_not_amplified() -> None:
    for randomizer in (KRR(5, eps0=2.0), Laplace(eps0=2.0)):
        found = Shuffled(randomizer, 1).delta(0.5)
        assert found.lower == pytest.approx(found.upper, rel=1e-3, abs=0.0)


@pytest.mark.parametrize("epsilon", [2.0, 2.5, 100.0])
def test_nothing_beyond_the_budget(epsilon: float) -> None:
    assert Shuffled(KRR(5, eps0=2.0), 50).delta(epsilon).upper == 0.0

"""Bands for pictures: never narrower than the truth, hardly wider than single answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import KRR, LDP, BinaryRR, CheckIn, Laplace, Repeated, Shuffled
from shuffledp.accounting.bounds import get_bound
from shuffledp.accounting.curves import ProfileCurve, PureEnd
from shuffledp.accounting.curves.convert import tradeoff_from_profile
from shuffledp.errors import ParameterError
from shuffledp.labels import Direction
from shuffledp.numerics.enclosure import FINE

PROTOCOLS = {
    "ldp": Shuffled(LDP(2.0), 10_000),
    "ldp-few": Shuffled(LDP(4.0), 12),
    "ldp-many": Shuffled(LDP(5.0), 10**9),
    "krr": Shuffled(KRR(k=8, eps0=3.0), 1000),
    "rr": Shuffled(BinaryRR(eps0=1.0), 500),
    "check-in": Shuffled(CheckIn(KRR(k=4, eps0=2.0), rate=0.3), 5000),
    "laplace": Shuffled(Laplace(eps0=2.0), 1000),
    "rounds": Shuffled(Repeated(LDP(1.0), 10), 10_000),
    "approximate": Shuffled(LDP(1.0, delta0=1e-9), 10_000),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_close_to_single_answers(name: str) -> None:
    protocol = PROTOCOLS[name]
    top = protocol.epsilon(1e-6).upper
    for question, points, relative, absolute in (
        ("epsilon", [0.0, 0.3 * top, 0.9 * top], 0.03, 1e-12),
        ("delta", [1e-3, 1e-8], 0.01, 1e-9),
        ("alpha", [0.01, 0.3, 0.8], 0.0, 4e-3),
    ):
        band = protocol.band(**{question: points})
        for x, lower, upper in zip(points, *band, strict=True):
            one = protocol.ask(**{question: x})
            assert lower <= one.upper
            assert upper >= one.lower
            assert lower >= one.lower * (1.0 - relative) - absolute
            assert upper <= one.upper * (1.0 + relative) + absolute


EXACT = ("stronger-clones", "feldman-2021", "dataset-3rr", "dataset-2rr")


@settings(max_examples=25, deadline=None)
@given(
    theorem=st.sampled_from(EXACT),
    eps0=st.floats(0.1, 8.0),
    n=st.integers(1, 10**7),
    alpha=st.floats(0.0, 1.0),
    share=st.floats(0.0, 1.0),
)
def test_sketches_are_on_the_sound_side_of_the_exact_pair(
    theorem: str, eps0: float, n: int, alpha: float, share: float
) -> None:
    curve = get_bound(theorem).curve(LDP(eps0), n)
    assert isinstance(curve, ProfileCurve)
    (delta,) = curve.sketched("delta", [share * eps0])
    (beta,) = curve.sketched("tradeoff", [alpha])
    exact = curve.enclose(share * eps0, FINE)
    reverse = curve.reverse or curve.forward
    sides = [
        tradeoff_from_profile(first, second, alpha, PureEnd(eps0))
        for first, second in ((curve.forward, reverse), (reverse, curve.forward))
    ]
    if curve.direction is Direction.UPPER:
        assert delta >= exact.lower
        assert beta <= min(side.upper for side in sides)
    else:
        assert delta <= exact.upper
        assert beta >= min(side.lower for side in sides)


def test_exactly_one_question() -> None:
    with pytest.raises(ParameterError, match="exactly one of"):
        PROTOCOLS["ldp"].band(epsilon=[0.1], delta=[1e-6])
    with pytest.raises(ParameterError, match="delta"):
        PROTOCOLS["ldp"].band(delta=[1e-6, 2.0])

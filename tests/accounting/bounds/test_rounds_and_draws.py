"""Theorems about one round of all users say nothing about several rounds or about drawn users."""

import pytest

from shuffledp import KRR, LDP, Repeated, Shuffled, Status, Subsampled
from shuffledp.labels import Direction

ONE = Shuffled(LDP(1.0), 1000).epsilon(1e-6).upper


@pytest.mark.parametrize("inner", [LDP(1.0), KRR(k=4, eps0=1.0)], ids=str)
def test_no_bound_takes_ten_rounds_for_one(inner):
    found = Shuffled(Repeated(inner, 10), 1000).bounds(delta=1e-6)
    claims = [x for x in found if x.direction is Direction.UPPER and x.status is Status.PROVEN]
    leaked = Shuffled(KRR(k=4, eps0=1.0), 1000).epsilon(1e-6).lower
    assert all(x.value > 2.0 * leaked for x in claims)


@pytest.mark.parametrize("inner", [LDP(1.0), KRR(k=4, eps0=1.0)], ids=str)
def test_no_bound_takes_all_users_for_the_drawn(inner):
    """Ten of a thousand users: whoever was drawn hides among ten."""
    found = Shuffled(Subsampled(inner, 999), 1000).bounds(delta=1e-6)
    claims = [x for x in found if x.direction is Direction.UPPER and x.status is Status.PROVEN]
    assert all(x.value > 0.99 * Shuffled(inner, 999).epsilon(1e-6).lower for x in claims)

"""OpenDP runs our randomizers with the privacy map they deserve."""

import secrets

import opendp.prelude as dp
import pytest

from shuffledp import KRR, LDP, CheckIn, Gaussian, ParameterError
from shuffledp.interop.opendp import make_measurement

dp.enable_features("contrib", "honest-but-curious")
RESPONSE = KRR(k=4, eps0=1.0)
CATEGORIES = dp.atom_domain(bounds=(0, 3))
NUMBERS = dp.atom_domain(bounds=(0.0, 1.0), nan=False)


def respond(value: int) -> int:
    """4-ary randomized response, eps0 <= 1, by exact integers: 475,366 of 10^6, else another."""
    if secrets.randbelow(10**6) < 475_366:
        return value
    return (value + 1 + secrets.randbelow(3)) % 4


def test_a_pure_randomizer():
    measurement = make_measurement(RESPONSE, respond, CATEGORIES, int)
    assert measurement.map(0) == 0.0
    assert measurement.map(1) == 1.0
    assert measurement.check(1, 1.0)
    assert not measurement.check(1, 0.999)
    reports = [measurement(2) for _ in range(4000)]
    assert set(reports) == {0, 1, 2, 3}
    # seven standard deviations: a false alarm once in 10^11 runs
    assert abs(reports.count(2) - 1901) < 7 * 32


def test_reports_compose_in_opendp():
    several = dp.c.make_composition([make_measurement(RESPONSE, respond, CATEGORIES, int)] * 3)
    assert several.map(1) == pytest.approx(3.0)
    assert len(several(1)) == 3


def test_approximate_and_gaussian_randomizers():
    approximate = make_measurement(LDP(1.0, 1e-6), lambda value: value, NUMBERS, float)
    assert approximate.map(1) == (1.0, 1e-6)
    assert approximate.map(0) == (0.0, 0.0)
    gaussian = make_measurement(Gaussian(2.0, 1.0), lambda value: value, NUMBERS, float)
    assert 0.125 <= gaussian.map(1) <= 0.125 * (1 + 1e-14)


def test_what_has_no_map_is_refused():
    with pytest.raises(ParameterError, match="pure, approximate, or Gaussian"):
        make_measurement(CheckIn(LDP(1.0, 1e-6), 0.5), respond, CATEGORIES)
    with pytest.raises(ParameterError, match="a randomizer such as"):
        make_measurement(1.0, respond, CATEGORIES)

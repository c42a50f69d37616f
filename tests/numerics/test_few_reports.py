"""Two and three lognormal reports against slow integration at high precision."""

import mpmath as mp
import pytest

from shuffledp.numerics.few_reports import expected_excess, expected_shortfall
from shuffledp.numerics.lognormal_mean import LognormalMean


def _black_scholes(strike: mp.mpf, h: mp.mpf, sign: int) -> mp.mpf:
    if strike <= 0:
        return max(sign * (1 - strike), mp.mpf(0))
    root = mp.sqrt(h)
    d = -mp.log(strike) / root + root / 2
    return sign * (mp.ncdf(sign * d) - strike * mp.ncdf(sign * (d - root)))


def _two(strike: mp.mpf, h: mp.mpf, sign: int) -> mp.mpf:
    """Over the first report plainly; the integrand turns where it alone reaches the strike."""
    root = mp.sqrt(h)
    turn = (mp.log(strike) + h / 2) / root

    def inner(v: mp.mpf) -> mp.mpf:
        return mp.npdf(v) * _black_scholes(strike - mp.exp(root * v - h / 2), h, sign)

    places = sorted({mp.mpf(-14), *(turn + shift for shift in (-2, 0, 2)), mp.mpf(0), mp.mpf(16)})
    return mp.quad(inner, [x for x in places if -14 <= x <= 16])


@pytest.mark.parametrize("h", [0.01, 0.3, 2.0, 16.0, 25.0])
@pytest.mark.parametrize("c", [0.7, 1.0, 1.5, 8.0])
def test_two_reports(h: float, c: float) -> None:
    with mp.workdps(30):
        two = LognormalMean(h, 2)
        for sign, found in ((1, expected_excess(two, c)), (-1, expected_shortfall(two, c))):
            exact = _two(2 * mp.mpf(c), mp.mpf(h), sign) / 2
            assert found.lower <= exact <= found.upper
            assert found.upper - found.lower <= 1e-9 * c


@pytest.mark.parametrize("h", [0.01, 1.0, 20.0])
@pytest.mark.parametrize(("thin", "share"), [(1.0, 1.0), (0.3, 1.0), (1.0, 0.5)])
@pytest.mark.parametrize("c", [0.8, 1.2])
def test_parity_of_three_reports(h: float, thin: float, share: float, c: float) -> None:
    """E(R - c)+ - E(c - R)+ = 1 - c."""
    ratio = LognormalMean(h, 3, thin, share)
    above, below = expected_excess(ratio, c), expected_shortfall(ratio, c)
    assert above.lower - below.upper <= 1.0 - c <= above.upper - below.lower
    assert above.upper - above.lower < 1e-9

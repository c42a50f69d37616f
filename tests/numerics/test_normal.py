"""Normal masses of wide and of narrow cells, against forty digits."""

import mpmath
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from shuffledp.numerics.normal import CELL_ERROR, cdf, cell_masses


@given(st.floats(-38.0, 38.0), st.floats(-15.0, 0.5))
@example(37.0, -2.12)  # as wide as the series is used for
@example(-12.0, -2.59)
def test_cells(z: float, log_width: float) -> None:
    """The width is what counts: both ends may round to the same number."""
    width = 10.0**log_width
    left, right = z - 0.5 * width, z + 0.5 * width
    root = np.sqrt(2.0)
    found = float(cell_masses(*(np.array([x]) / root for x in (left, right, width)))[0])
    with mpmath.workdps(60):
        ends = (mpmath.mpf(z) - mpmath.mpf(width) / 2, mpmath.mpf(z) + mpmath.mpf(width) / 2)
        if ends[0] + ends[1] < 0:
            ends = (-ends[1], -ends[0])
        truth = (mpmath.erfc(ends[0] / mpmath.sqrt(2)) - mpmath.erfc(ends[1] / mpmath.sqrt(2))) / 2
        assert abs(found - truth) <= CELL_ERROR * truth + 1e-320


def test_cells_add_up() -> None:
    edges = np.sort(
        np.concatenate([np.linspace(-6.0, 6.0, 77), 1.0 + np.geomspace(1e-14, 1.0, 50)])
    )
    masses = cell_masses(edges[:-1], edges[1:], np.diff(edges))
    total = cdf(np.sqrt(2.0) * edges)
    assert np.allclose(np.cumsum(masses), total[1:] - total[0], rtol=1e-12, atol=1e-15)

"""Several laws whose atoms lie at the same places: sines are taken once for all of them."""

from __future__ import annotations

import numpy as np

from shuffledp.numerics.frequencies import product
from shuffledp.numerics.rounding import Array, down, roundings
from shuffledp.numerics.several_laws import Cells, SeveralLaws


class SharedPlaces(SeveralLaws):
    """As ``SeveralLaws`` of a single sum, every row of ``values`` being the same."""

    def _modulus(self, p: Array, centred: Array, cells: Cells) -> Array:
        # |E e^(itW)| does not change when W is moved: one place is taken for the centre of all rows
        places = centred[int(np.argmin(np.abs(centred).max(axis=1)))]
        angle = np.multiply.outer(places, cells.edges[0])
        half = np.sin(0.5 * angle)
        re = -2.0 * product(p, half * half)
        im = product(p, np.sin(angle))
        found: Array = down(2.0 * re + re * re + im * im, roundings(8.0))
        return found

"""Random discrete laws, zeros and ties included, and the obvious slow Neyman-Pearson."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st


@st.composite
def law(draw, size: int):
    """Integer weights over their sum: many zeros, many ties."""
    counts = draw(st.lists(st.integers(0, 6), min_size=size, max_size=size).filter(any))
    return np.array(counts) / sum(counts)


@st.composite
def pair(draw, least: int = 2, most: int = 6):
    """Two laws on the same outcomes."""
    size = draw(st.integers(least, most))
    return draw(law(size)), draw(law(size))


def random_law(generator: np.random.Generator, size: int) -> np.ndarray:
    """Dirichlet, with some outcomes emptied."""
    values = generator.dirichlet(np.full(size, 0.5))
    if size > 2 and generator.random() < 0.3:
        values[generator.integers(size)] = 0.0
        values /= values.sum()
    return values


def brute_force(p, q, alpha: float) -> float:
    """min over tests: reject greedily by likelihood ratio in exact arithmetic."""
    atoms = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(p, q, strict=True) if a or b]
    atoms.sort(key=lambda ab: (ab[0] != 0, -(ab[1] / ab[0]) if ab[0] else 0))
    left, power = Fraction(alpha), Fraction(0)
    for a, b in atoms:
        share = Fraction(1) if a <= left else left / a
        power += share * b
        left -= share * a
        if share < 1:
            break
    return float(1 - power)

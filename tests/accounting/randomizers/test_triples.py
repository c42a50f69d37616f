"""Every triple of a domain lies below one of finitely many."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.accounting.randomizers.triples import (
    DOMAINS,
    TripleClass,
    separation,
    triple_classes,
    worst_separation,
)

DIAMETERS = (0.01, 0.2, 1.0, 2.0)


def _values(domain: str, diameter: float, rng: np.random.Generator) -> np.ndarray:
    """Three points of the domain, often at its border, in up to three dimensions."""
    while True:
        if domain == "line":
            points = diameter * np.sort(rng.random(3) ** rng.choice([0.1, 1.0]))[:, None]
            points[rng.integers(3)] = diameter * rng.integers(2)
            return rng.permutation(points)
        points = rng.standard_normal((3, rng.integers(2, 4)))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        points *= 0.5 * diameter * np.where(rng.random((3, 1)) < 0.7, 1.0, rng.random((3, 1)))
        if domain == "set":
            points *= 2.0 * rng.random((3, 1)) ** 0.2
            gaps = [np.linalg.norm(points[i] - points[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
            points *= diameter / max(*gaps, 1e-9) * (1.0 if rng.random() < 0.7 else rng.random())
        elif rng.random() < 0.5:  # the pair a diameter apart, or nearly
            points[1] = -points[0] + 1e-3 * diameter * rng.random() * points[1]
            points[1] *= min(1.0, 0.5 * diameter / np.linalg.norm(points[1]))
        return points


def _classes_of(classes: tuple[TripleClass, ...], half: float) -> list[TripleClass]:
    """Those that hold pairs so far apart: the last whose largest distance is not smaller."""
    return [
        x
        for x, y in zip(classes, [*classes[1:], None], strict=True)
        if half <= x.half and (y is None or half >= y.half * (1.0 - 1e-9))
    ]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("diameter", DIAMETERS)
def test_every_triple_is_dominated(domain: str, diameter: float) -> None:
    classes = triple_classes(domain, diameter, 4e-3)
    rng = np.random.default_rng(round(1000 * diameter) + DOMAINS.index(domain))
    for _ in range(300):
        a, b, x = _values(domain, diameter, rng)
        m, d = 0.5 * (a + b) - x, 0.5 * (a - b)
        gram = np.array([[m @ m, m @ d], [m @ d, d @ d]])
        half = math.sqrt(gram[1, 1])
        (found,) = _classes_of(classes, half)[-1:]
        assert math.sqrt(gram[0, 0]) <= found.third
        rows = [
            np.array([[t.along**2 + t.across**2, t.along * t.half], [t.along * t.half, t.half**2]])
            for t in found.triples
        ]
        above = max(np.linalg.eigvalsh(row - gram)[0] for row in rows)
        assert above >= -1e-15 * diameter**2


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("diameter", [0.05, 0.5, 1.0])
def test_rows_separate_little_more_than_the_worst_triple(domain: str, diameter: float) -> None:
    most = worst_separation(domain, diameter)
    classes = triple_classes(domain, diameter, 4e-3)
    rows = [t for each in classes for t in each.triples]
    assert (
        max(separation(t.along**2 + t.across**2, t.along * t.half, t.half**2) for t in rows)
        <= most * 1.0041
    )
    assert len(rows) < 700


def test_the_worst_separations() -> None:
    """E (a - b)^2 / r^2 of the triangle, and of the third value at one of the two."""
    assert worst_separation("set", 1.0) == pytest.approx(2.0 * (math.e - math.exp(0.5)))
    assert worst_separation("ball", 1.0) == pytest.approx(math.e - 1.0)
    assert worst_separation("line", 1.0) == pytest.approx(math.e - 1.0)
    assert separation(0.75, 0.0, 0.25) == pytest.approx(worst_separation("set", 1.0))
    assert separation(0.25, 0.25, 0.25) == pytest.approx(math.e - 1.0)

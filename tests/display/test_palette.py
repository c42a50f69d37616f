"""The colours of labels differ for every kind of colour vision, and can be read."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.display.palette import COLOURS, DARK_COLOURS
from shuffledp.labels import Status

VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.01182, 0.04294, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.3039],
        ]
    ),
}
"""What is left of linear red, green and blue (Machado, Oliveira, Fernandes 2009)."""
GROUNDS = {"light": (COLOURS, "#ffffff"), "dark": (DARK_COLOURS, "#1b2025")}


def _linear(colour: str) -> NDArray[np.float64]:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _lab(linear: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIE L*a*b*, in which 2.3 is just noticeable."""
    weights = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x = np.array(weights) @ np.clip(linear, 0.0, 1.0) / np.array([0.9505, 1.0, 1.089])
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


def _luminance(colour: str) -> float:
    return float(np.array([0.2126, 0.7152, 0.0722]) @ _linear(colour))


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("ground", GROUNDS)
def test_any_two_labels_differ(ground: str, vision: str) -> None:
    seen = {name: _lab(VISION[vision] @ _linear(x)) for name, x in GROUNDS[ground][0].items()}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 20.0, (one, other)


def test_the_measure_sees_a_bad_pair() -> None:
    """A negative control: blue and purple of equal light are one colour to some."""
    pair = [_lab(VISION["deuteranopia"] @ _linear(x)) for x in ("#1f6fb4", "#7a4fb0")]
    assert np.linalg.norm(pair[0] - pair[1]) < 5.0


@pytest.mark.parametrize("ground", GROUNDS)
def test_labels_can_be_read(ground: str) -> None:
    colours, behind = GROUNDS[ground]
    assert list(colours) == [status.value for status in Status]
    for name, colour in colours.items():
        light, dark = sorted((_luminance(colour), _luminance(behind)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, name

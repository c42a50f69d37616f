"""Randomizers by name, as the command line and the page know them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp.accounting.randomizers.base import Randomizer
from shuffledp.accounting.randomizers.continuous import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    TruncatedLaplace,
)
from shuffledp.accounting.randomizers.finite import (
    KRR,
    BinaryRR,
    Channel,
    HadamardResponse,
    LocalHashing,
    OneBitMean,
    Piecewise,
    SubsetSelection,
    optimised_unary,
    rappor,
)
from shuffledp.accounting.randomizers.ldp import LDP
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import Array

MECHANISMS: dict[str, tuple[Callable[..., Randomizer], tuple[str, ...], tuple[str, ...]]] = {
    # name: builder, parameters it needs, parameters it may take
    "ldp": (LDP, ("eps0",), ("delta0",)),
    "rr": (BinaryRR, ("eps0",), ()),
    "krr": (KRR, ("eps0", "k"), ()),
    "laplace": (Laplace, ("eps0",), ()),
    "truncated-laplace": (TruncatedLaplace, ("eps0",), ()),
    "discrete-laplace": (DiscreteLaplace, ("eps0", "levels"), ()),
    "gaussian": (Gaussian, ("sigma",), ("sensitivity", "scalar")),
    "rappor": (rappor, ("eps0", "k"), ()),
    "oue": (optimised_unary, ("eps0", "k"), ()),
    "olh": (LocalHashing, ("eps0",), ("g", "k")),
    "hadamard": (HadamardResponse, ("eps0",), ("k",)),
    "subset": (SubsetSelection, ("eps0", "k"), ("d",)),
    "one-bit": (OneBitMean, ("eps0",), ()),
    "piecewise": (Piecewise, ("eps0",), ()),
    "channel": (lambda channel: Channel(read_channel(channel)), ("channel",), ()),
}


def build(mechanism: str, given: Mapping[str, Any]) -> Randomizer:
    """The named randomizer from the parameters given (None means not given)."""
    if mechanism not in MECHANISMS:
        raise ParameterError("mechanism", "one of " + ", ".join(MECHANISMS), mechanism)
    builder, needed, optional = MECHANISMS[mechanism]
    present = {name: value for name, value in given.items() if value is not None}
    for name in needed:
        if name not in present:
            raise ParameterError(name, f"given for mechanism {mechanism!r}", None)
    for name in present:
        if name not in (*needed, *optional):
            raise ParameterError(name, f"left out for mechanism {mechanism!r}", present[name])
    return builder(**present)


def read_channel(path: str | Path) -> Array:
    """A channel matrix from a CSV file: one row per input, no header."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError("channel", "a readable CSV file", str(path)) from error
    matrix = []
    for i, row in enumerate(rows, start=1):
        try:
            matrix.append([float(cell) for cell in row])
        except ValueError:
            raise ParameterError("channel", f"numbers only in row {i}", row) from None
        if len(row) != len(rows[0]):
            raise ParameterError("channel", f"as many columns in row {i} as in row 1", len(row))
    return np.array(matrix)

"""Every mechanism, once: what it is called, how it is built, who asks for it."""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accounting import randomizers as r
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.errors import ParameterError


@dataclass(frozen=True)
class Parameter:
    """What a person gives by name: an option of the command line, a field of the page."""

    kind: type
    words: str

    def help(self, name: str) -> str:
        """In words, with the mechanisms that take it if most do not."""
        takers = [row.name for row in OFFERED.values() if name in row.parameters]
        few = 0 < len(takers) < len(OFFERED) / 2
        return f"{self.words} ({', '.join(takers)})." if few else f"{self.words}."


PARAMETERS = {
    "eps0": Parameter(float, "Local privacy budget of each user"),
    "delta0": Parameter(float, "Local delta, if approximate"),
    "k": Parameter(int, "Number of values; of allocation: how many steps an example joins"),
    "g": Parameter(int, "Hash range, the optimum unless given"),
    "d": Parameter(int, "Subset size, the optimum unless given"),
    "levels": Parameter(int, "Largest value"),
    "width": Parameter(
        float, "Width of the likely window, a share of the range; about the best unless given"
    ),
    "sigma": Parameter(float, "Noise deviation"),
    "sensitivity": Parameter(
        float,
        "Largest distance of two values, 2 unless given: the diameter of the unit ball, for values"
        " clipped to it",
    ),
    "scalar": Parameter(bool, "Values are numbers in an interval, not vectors: a better guarantee"),
    "ball": Parameter(
        bool,
        "Values lie in a ball whose diameter is the sensitivity, as vectors clipped to a norm do: a"
        " better guarantee",
    ),
    "sequential": Parameter(
        bool, "Shuffled data visited in order: what is reported may depend on earlier reports"
    ),
    "channel": Parameter(Path, "CSV file, one row of probabilities per input"),
    "check_in": Parameter(float, "Probability that a user reports"),
    "drawn": Parameter(int, "Users drawn each round, without replacement"),
    "rounds": Parameter(int, "Rounds of reports by the same users"),
}


@dataclass(frozen=True)
class Mechanism:
    """A row of the table."""

    name: str
    kind: type[Randomizer]
    title: str = ""
    """In words, for those who choose."""
    task: str = ""
    """What the planner considers it for."""
    builder: Callable[..., Randomizer] | None = None
    """What makes one from its parameters, unless it is the class itself."""
    described: str = ""
    """The name of the class in descriptions, unless it is the name of the mechanism."""
    wraps_by: str = ""
    """The parameter that puts it around another mechanism."""
    no_device: str = ""
    """Why no device runs it."""

    @property
    def build(self) -> Callable[..., Randomizer]:
        """From its parameters, by name."""
        return self.builder or self.kind

    @cached_property
    def parameters(self) -> dict[str, bool]:
        """Names of its parameters, and whether it needs them."""
        found = inspect.signature(self.build).parameters.values()
        budget_first = sorted(found, key=lambda each: each.name != "eps0")
        return {each.name: each.default is inspect.Parameter.empty for each in budget_first}

    @property
    def needs(self) -> list[str]:
        """Parameters without which there is no such mechanism."""
        return [name for name, needed in self.parameters.items() if needed]

    @property
    def takes(self) -> list[str]:
        """Parameters it may be given, too."""
        return [name for name, needed in self.parameters.items() if not needed]

    def of_strength(self, strength: float, known: Mapping[str, Any]) -> Randomizer:
        """Where strength is eps0, or for Gaussian noise the sensitivity over sigma."""
        given = {name: value for name, value in known.items() if name in self.parameters}
        if "eps0" in self.needs:
            return self.build(eps0=strength, **given)
        return self.build(sigma=given["sensitivity"] / strength, **given)


def _channel_file(channel: str | Path) -> Randomizer:
    """A channel from a CSV file of its matrix: one row per input, no header."""
    try:
        with Path(channel).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError("channel", "a readable CSV file", str(channel)) from error
    matrix = []
    for i, row in enumerate(rows, start=1):
        try:
            matrix.append([float(cell) for cell in row])
        except ValueError:
            raise ParameterError("channel", f"numbers only in row {i}", row) from None
        if len(row) != len(rows[0]):
            raise ParameterError("channel", f"as many columns in row {i} as in row 1", len(row))
    return r.Channel(np.array(matrix))


_OFFERED = (
    Mechanism("ldp", r.LDP, "any eps0-LDP randomizer", no_device="it stands for a whole class"),
    Mechanism("rr", r.BinaryRR, "randomized response"),
    Mechanism("krr", r.KRR, "k-ary randomized response", "histogram"),
    Mechanism("laplace", r.Laplace, "Laplace noise on [0, 1]", "mean"),
    Mechanism("truncated-laplace", r.TruncatedLaplace, "clamped Laplace noise", "mean"),
    Mechanism("discrete-laplace", r.DiscreteLaplace, "discrete Laplace noise"),
    Mechanism("gaussian", r.Gaussian, "Gaussian noise", "mean"),
    Mechanism("rappor", r.UnaryEncoding, "RAPPOR", "histogram", r.rappor, "unary"),
    Mechanism(
        "oue", r.UnaryEncoding, "optimised unary encoding", "histogram", r.optimised_unary, "unary"
    ),
    Mechanism("olh", r.LocalHashing, "local hashing", "histogram"),
    Mechanism("hadamard", r.HadamardResponse, "Hadamard response", "histogram"),
    Mechanism("subset", r.SubsetSelection, "subset selection", "histogram"),
    Mechanism("one-bit", r.OneBitMean, "one-bit mean", "mean"),
    Mechanism("piecewise", r.Piecewise, "piecewise mechanism", "mean"),
    Mechanism("plateau", r.Plateau, "plateau over a uniform floor", "mean"),
    Mechanism("rounding", r.RoundedResponse, "rounding to levels, randomized response", "mean"),
    Mechanism("channel", r.Channel, "any finite channel", builder=_channel_file),
)
"""People ask for these by name."""
_RUN = (
    Mechanism("discrete-gaussian", r.DiscreteGaussian),
    Mechanism("discrete-piecewise", r.DiscretePiecewise),
    Mechanism("gaussian-vector", r.GaussianVector, task="vector"),
    Mechanism("one-coordinate", r.OneCoordinate),
    Mechanism("prefix", r.OnePrefix, task="heavy-hitters", described="one-prefix"),
)
"""Devices run these where others, or tasks, are asked for."""
_WRAPPERS = (
    Mechanism("check-in", r.CheckIn, wraps_by="check_in"),
    Mechanism("drawn", r.Subsampled, wraps_by="drawn", no_device="devices do not draw users"),
    Mechanism("repeated", r.Repeated, wraps_by="rounds", no_device="a device runs once a round"),
)
"""From the innermost."""

OFFERED = {row.name: row for row in _OFFERED}
WRAPPERS = {row.wraps_by: row for row in _WRAPPERS}
MECHANISMS = {row.name: row for row in (*_OFFERED, *_RUN, *_WRAPPERS)}
BY_CLASS = {row.kind: row for row in MECHANISMS.values()}
DESCRIBED = {row.described or row.name: row.kind for row in MECHANISMS.values()}
"""Classes by their names in descriptions."""


def build(mechanism: str, **given: Any) -> Randomizer:
    """The named randomizer from its parameters and its wrappers' (None means not given)."""
    row = OFFERED[checks.one_of("mechanism", mechanism, OFFERED)]
    present = {name: value for name, value in given.items() if value is not None}
    around = {name: present.pop(name) for name in WRAPPERS if name in present}
    for name in row.needs:
        if name not in present:
            raise ParameterError(name, f"given for mechanism {mechanism!r}", None)
    for name in present:
        if name not in row.parameters:
            raise ParameterError(name, f"left out for mechanism {mechanism!r}", present[name])
    randomizer = row.build(**present)
    for name, value in around.items():
        kind = WRAPPERS[name].kind
        _inner, own = inspect.signature(kind).parameters
        try:
            randomizer = kind(randomizer, value)  # type: ignore[call-arg]
        except ParameterError as error:
            if error.parameter != own:
                raise
            raise ParameterError(name, error.condition, value) from None
        if isinstance(randomizer, r.Repeated) and randomizer.rounds == 1:
            randomizer = randomizer.randomizer
    return randomizer

"""Protocols as plain data: what a file, a table or a message can hold, and back, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from shuffledp.accounting.protocols.central import CentralMinibatches, RandomAllocation
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.paired import PairedDummies
from shuffledp.accounting.protocols.shapes import Aggregated, SampleThreshold, WithDummies
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.protocols.split import SplitAndMix
from shuffledp.accounting.randomizers import LDP, Channel, Randomizer
from shuffledp.accounting.randomizers.catalogue import DESCRIBED
from shuffledp.accounting.randomizers.noise import NOISES, Noise, NoiseShare
from shuffledp.errors import ParameterError

_SHARE = "noise-share"
_NAMES = {kind: name for name, kind in DESCRIBED.items()}


_COUNTED: dict[str, type[Counted]] = {
    "aggregated": Aggregated,
    "sample-threshold": SampleThreshold,
    "dummies": WithDummies,
    "allocation": RandomAllocation,
    "minibatches": CentralMinibatches,
    "split-and-mix": SplitAndMix,
    "paired-dummies": PairedDummies,
}
"""Protocols of which only numbers are seen, by their names in descriptions."""


def describe(protocol: Shuffled | Counted) -> dict[str, Any]:
    """The protocol as JSON-ready data; equal protocols have equal descriptions.

    Parameters
    ----------
    protocol
        Any protocol of a mechanism in the catalogue.

    Returns
    -------
    dict
        What ``restore`` reads.

    Examples
    --------
    >>> from shuffledp import KRR, Shuffled
    >>> describe(Shuffled(KRR(4, eps0=1.0), n=100))["n"]
    100
    """
    if isinstance(protocol, Counted):
        (name,) = (name for name, kind in _COUNTED.items() if type(protocol) is kind)
        return {"protocol": name, **_fields(protocol)}
    data: dict[str, Any] = {"randomizer": _describe(protocol.randomizer), "n": protocol.n}
    if protocol.colluders:
        data["colluders"] = protocol.colluders
    if protocol.minimum_batch is not None:
        data["minimum_batch"] = protocol.minimum_batch
    return data


def restore(description: Mapping[str, Any]) -> Shuffled | Counted:
    """The protocol of a description.

    Parameters
    ----------
    description
        As ``describe`` made it, or read from JSON.

    Returns
    -------
    Shuffled or Counted
        Equal to the one described, bit for bit.

    Examples
    --------
    >>> from shuffledp import KRR, Shuffled
    >>> protocol = Shuffled(KRR(4, eps0=1.0), n=100)
    >>> restore(describe(protocol)) == protocol
    True
    """
    try:
        given = dict(description)
        if "protocol" in given:
            kind = _COUNTED[given.pop("protocol")]
            return kind(**{name: _value(value) for name, value in given.items()})
        return Shuffled(_restore(given.pop("randomizer")), **given)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("description", "what describe() returns", description) from error


def _describe(randomizer: Randomizer) -> dict[str, Any]:
    kind = type(randomizer)
    if kind not in _NAMES:
        raise ParameterError("randomizer", "one of " + ", ".join(DESCRIBED), kind.__name__)
    return {"mechanism": _NAMES[kind], **_fields(randomizer)}


def _fields(described: Any) -> dict[str, Any]:
    return {
        field.name: _plain(getattr(described, field.name))
        for field in fields(described)
        # younger fields than some books are told where they say something
        if field.init and ("described" not in field.metadata or getattr(described, field.name))
    }


def _value(value: Any) -> Any:
    """A field of a protocol or of a share of noise."""
    if not isinstance(value, Mapping):
        return value
    given = {name: _value(each) for name, each in value.items() if name != "mechanism"}
    if "noise" in given and isinstance(given["noise"], str):
        return NOISES[given.pop("noise")](**given)
    if value["mechanism"] == _SHARE:
        return NoiseShare(**given)
    return _restore(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Randomizer):
        return _describe(value)
    if isinstance(value, NoiseShare):
        return {"mechanism": _SHARE, **_fields(value)}
    if isinstance(value, Noise):
        (name,) = (name for name, kind in NOISES.items() if type(value) is kind)
        return {"noise": name, **_fields(value)}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _restore(description: Mapping[str, Any]) -> Randomizer:
    given = dict(description)
    kind = DESCRIBED[given.pop("mechanism")]
    if kind is LDP:  # descriptions that do not say may be of users visited in order
        given.setdefault("sequential", True)
    if "randomizer" in given:
        given["randomizer"] = _restore(given["randomizer"])
    randomizer = kind(**given)
    if isinstance(randomizer, Channel):  # already normalised: once more would move the last bit
        object.__setattr__(randomizer, "matrix", np.array(given["matrix"], dtype=np.float64))
    return randomizer

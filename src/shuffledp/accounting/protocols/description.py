"""Protocols as plain data: what a file, a table or a message can hold, and back, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import LDP, Channel, Randomizer
from shuffledp.accounting.randomizers.catalogue import DESCRIBED
from shuffledp.errors import ParameterError

_NAMES = {kind: name for name, kind in DESCRIBED.items()}


def describe(protocol: Shuffled) -> dict[str, Any]:
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
    data: dict[str, Any] = {"randomizer": _describe(protocol.randomizer), "n": protocol.n}
    if protocol.colluders:
        data["colluders"] = protocol.colluders
    if protocol.minimum_batch is not None:
        data["minimum_batch"] = protocol.minimum_batch
    return data


def restore(description: Mapping[str, Any]) -> Shuffled:
    """The protocol of a description.

    Parameters
    ----------
    description
        As ``describe`` made it, or read from JSON.

    Returns
    -------
    Shuffled
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
        return Shuffled(_restore(given.pop("randomizer")), **given)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("description", "what describe() returns", description) from error


def _describe(randomizer: Randomizer) -> dict[str, Any]:
    kind = type(randomizer)
    if kind not in _NAMES:
        raise ParameterError("randomizer", "one of " + ", ".join(DESCRIBED), kind.__name__)
    data: dict[str, Any] = {"mechanism": _NAMES[kind]}
    for field in fields(randomizer):  # type: ignore[arg-type]
        if field.init:
            data[field.name] = _plain(getattr(randomizer, field.name))
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, Randomizer):
        return _describe(value)
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

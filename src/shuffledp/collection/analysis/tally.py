"""Which estimator counts the reports of a device."""

from __future__ import annotations

from functools import singledispatch

from shuffledp.collection.analysis.frequencies import Frequencies
from shuffledp.collection.analysis.means import Means
from shuffledp.collection.analysis.prefixes import FrequentWords
from shuffledp.collection.devices import Device
from shuffledp.collection.devices.categorical import Categorical
from shuffledp.collection.devices.checkin import CheckInDevice
from shuffledp.collection.devices.numeric import Numeric
from shuffledp.collection.devices.prefixes import PrefixDevice
from shuffledp.collection.devices.vectors import Vector
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.errors import ParameterError

Tally = Frequencies | Means | FrequentWords


@singledispatch
def tally(device: Device, memory: int = MEMORY) -> Tally:
    """An empty count of a device's reports.

    Parameters
    ----------
    device
        What the users ran.
    memory
        Bytes, where reports have to be kept.

    Examples
    --------
    >>> from shuffledp import KRR
    >>> from shuffledp.collection.devices import device
    >>> type(tally(device(KRR(4, eps0=1.0)))).__name__
    'Frequencies'
    """
    raise ParameterError("device", "one whose reports can be counted", device.randomizer)


tally.register(Categorical, lambda device, memory=MEMORY: Frequencies(device))
tally.register(Numeric, lambda device, memory=MEMORY: Means(device))
tally.register(Vector, lambda device, memory=MEMORY: Means(device))
tally.register(PrefixDevice, lambda device, memory=MEMORY: FrequentWords(device, memory=memory))


@tally.register
def _(device: CheckInDevice, memory: int = MEMORY) -> Tally:
    return tally.dispatch(type(device.inner))(device, memory)

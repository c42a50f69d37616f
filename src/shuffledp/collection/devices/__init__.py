"""Running randomizers: exact integers from a cryptographic stream."""

from shuffledp.collection.devices import categorical, channel, checkin, numeric, prefixes, vectors
from shuffledp.collection.devices.device import Device, actual, device
from shuffledp.collection.devices.stream import SIMULATED, Stream, secure, simulation

__all__ = ["SIMULATED", "Device", "Stream", "actual", "device", "secure", "simulation"]

del categorical, channel, checkin, numeric, prefixes, vectors

"""Running randomizers: exact integers from a cryptographic stream."""

from shuffledp.sampling import categorical, channel, checkin, numeric, prefixes, vectors
from shuffledp.sampling.device import Device, actual, device
from shuffledp.sampling.stream import SIMULATED, Stream, secure, simulation

__all__ = ["SIMULATED", "Device", "Stream", "actual", "device", "secure", "simulation"]

del categorical, channel, checkin, numeric, prefixes, vectors

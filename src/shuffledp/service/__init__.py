"""A shuffler to run: devices report over the network, sealed twice; nobody sees who said what."""

from shuffledp.service.device import Device, SealedReport
from shuffledp.service.task import Task

__all__ = ["Device", "SealedReport", "Task"]

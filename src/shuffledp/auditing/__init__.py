"""Attacking what runs, to see whether it keeps what is claimed."""

from shuffledp.auditing.attack import Release
from shuffledp.auditing.audit import Audit, Power, all_trials, audit
from shuffledp.auditing.orders import OrderTest, order_tests
from shuffledp.auditing.path import EmbeddedPath, EnginePath, Path

__all__ = [
    "Audit",
    "EmbeddedPath",
    "EnginePath",
    "OrderTest",
    "Path",
    "Power",
    "Release",
    "all_trials",
    "audit",
    "order_tests",
]

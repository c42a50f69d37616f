"""Attacking what runs, to see whether it keeps what is claimed."""

from shuffledp.collection.auditing.attack import Release
from shuffledp.collection.auditing.audit import Audit, Power, all_trials, audit
from shuffledp.collection.auditing.orders import OrderTest, order_tests
from shuffledp.collection.auditing.path import EmbeddedPath, EnginePath, Path

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

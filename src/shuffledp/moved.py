"""Rooms keep their first addresses: ``shuffledp.bounds`` is ``shuffledp.accounting.bounds``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_FLOORS = {
    "accounting": ("randomizers", "curves", "bounds", "protocols"),
    "collection": ("shuffling", "analysis", "planning", "pipeline", "auditing"),
    "research": ("atlas", "reproduce"),
    "interfaces": ("cli", "web"),
}
_ADDRESSES = {
    f"shuffledp.{room}": f"shuffledp.{floor}.{room}"
    for floor, rooms in _FLOORS.items()
    for room in rooms
} | {"shuffledp.sampling": "shuffledp.collection.devices", "shuffledp.reports": "shuffledp.display"}


class _Forward(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        known = ".".join(fullname.split(".")[:2]) in _ADDRESSES
        return ModuleSpec(fullname, self) if known else None

    def exec_module(self, module: ModuleType) -> None:
        first, second, *rest = module.__name__.split(".")
        address = ".".join([_ADDRESSES[f"{first}.{second}"], *rest])
        sys.modules[module.__name__] = importlib.import_module(address)


def forward() -> None:
    """Make the first addresses importable: each is the same module as the new one."""
    if not any(isinstance(finder, _Forward) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Forward())

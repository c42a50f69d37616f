"""Where reports wait, in SQLite or PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from shuffledp.service.store.base import UNFINISHED, State, Store, StoredBatch, StoredTask, Upload

__all__ = [
    "UNFINISHED",
    "State",
    "Store",
    "StoredBatch",
    "StoredTask",
    "Upload",
    "open_store",
]


def open_store(where: str | Path, timeout: float = 60.0, *, make: bool = True) -> Store:
    """The store in an SQLite file or at a postgresql:// URL; its tables are made if there are none,
    unless one that exists is asked for."""
    if isinstance(where, str) and "://" in where:  # a mistyped one is not quoted either
        from shuffledp.service.store.postgres import PostgresStore

        store: Store = PostgresStore(where, timeout)
    else:
        from shuffledp.service.store.sqlite import SQLiteStore

        store = SQLiteStore(where, timeout)
    store.open(make)
    return store

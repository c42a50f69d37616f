"""Every test of the book runs on both stores."""

from itertools import count
from pathlib import Path

import pytest

from shuffledp.ledger import Ledger
from tests.cluster import Cluster

_NUMBERS = count()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new ledger can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "book.db")
    running: Cluster = request.getfixturevalue("postgres")
    return running.database(f"book{next(_NUMBERS)}")


@pytest.fixture
def ledger(store: str) -> Ledger:
    return Ledger.open(store)

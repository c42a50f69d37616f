"""Every test of the store runs on both."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from shuffledp.service.store import Store, open_store
from tests.cluster import Cluster

_NUMBERS = count()


@pytest.fixture(scope="session")
def database(postgres: Cluster) -> str:
    """One for all stores: schemas are made faster."""
    return postgres.database("service")


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    database: str = request.getfixturevalue("database")
    schema = f"store{next(_NUMBERS)}"
    with psycopg.connect(database) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return f"{database}?options=-csearch_path%3D{schema}"


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    opened = open_store(where)
    yield opened
    assert opened.verify() == []
    opened.close()

"""One Hypothesis profile for every run: the same examples each time, no clock. One thread per process."""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when NumPy and PyTorch start: workers share the cores

from collections.abc import Iterator  # noqa: E402
from typing import Any  # noqa: E402

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "shuffledp",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shuffledp")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """One server (tests.cluster.Cluster) for all tests of a process."""
    from tests.cluster import cluster  # not everybody who runs tests has PostgreSQL

    with cluster() as running:
        yield running

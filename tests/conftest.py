"""One Hypothesis profile for every run: the same examples each time, no clock. One thread per process."""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # read when NumPy and PyTorch start: workers share the cores

from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "shuffledp",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("shuffledp")

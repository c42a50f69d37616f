"""How long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(task: Callable[[], object], at_least: float = 0.3) -> float:
    """Median time of one call, over enough repetitions to matter."""
    task()
    times: list[float] = []
    while sum(times) < at_least or len(times) < 3:
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]

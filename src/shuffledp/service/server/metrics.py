"""Counts for Prometheus, too coarse to tell when somebody reported."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

STEP = 1000
"""Reports and requests are shown in full thousands."""
STILL = 60.0
"""Seconds for which the same counts are shown."""
_HELP = {
    "shuffledp_reports_stored": "Reports on the disk, repeated ones too, in full thousands.",
    "shuffledp_reports_refused": "Reports refused, by reason, in full thousands.",
    "shuffledp_requests_refused": "Requests refused, by reason, in full thousands.",
    "shuffledp_batches_released": "Batches in the outbox.",
    "shuffledp_releases_refused": "Releases asked for and not made.",
    "shuffledp_storing": "Whether reports can be stored.",
}
_EXACT = {"shuffledp_batches_released", "shuffledp_releases_refused", "shuffledp_storing"}


class Metrics:
    """Counters of one process since its start. No times, not even of the start."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._shown, self._clock, self._until = self._counts.copy(), clock, 0.0

    def add(self, name: str, number: int = 1, reason: str = "") -> None:
        """Count."""
        self._counts[name, reason] += number

    def text(self, *, storing: bool) -> str:
        """In Prometheus' text format."""
        if self._clock() >= self._until:
            self._shown, self._until = self._counts.copy(), self._clock() + STILL
        lines = []
        counts = self._shown | Counter({("shuffledp_storing", ""): int(storing)})
        for name, said in _HELP.items():
            kind = "gauge" if name == "shuffledp_storing" else "counter"
            suffix = "" if kind == "gauge" else "_total"
            lines += [f"# HELP {name}{suffix} {said}", f"# TYPE {name}{suffix} {kind}"]
            step = 1 if name in _EXACT else STEP
            found = {
                reason: count // step * step  # not even that there is one of a reason
                for (each, reason), count in counts.items()
                if each == name and count >= step
            }
            for reason, count in sorted((found or {"": 0}).items()):
                labels = f'{{reason="{reason}"}}' if reason else ""
                lines.append(f"{name}{suffix}{labels} {count}")
        return "\n".join(lines) + "\n"

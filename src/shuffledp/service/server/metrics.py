"""Counts for Prometheus, too coarse to tell when somebody reported.

Each thousand is shown once a number of its own, drawn at random, have come beyond it. Else whoever
sends reports of their own could bring a count to the brink, and see in which minute the next person
comes; as it is, one report more changes what is shown with a chance of one in a thousand.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b

STEP = 1000
"""Reports and requests are shown in thousands."""
STILL = 60.0
"""Seconds for which the same counts are shown."""
_HELP = {
    "shuffledp_reports_stored": "Reports on the disk, repeated ones too, in thousands.",
    "shuffledp_reports_refused": "Reports refused, by reason, in thousands.",
    "shuffledp_requests_refused": "Requests refused, by reason, in thousands.",
    "shuffledp_batches_released": "Batches written to the outbox since the start.",
    "shuffledp_releases_refused": "Releases asked for and not made.",
    "shuffledp_storing": "Whether reports can be stored.",
}
_EXACT = {"shuffledp_batches_released", "shuffledp_releases_refused", "shuffledp_storing"}


class Metrics:
    """Counters of one process since its start. No times, not even of the start."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._shown, self._clock, self._until = self._counts.copy(), clock, 0.0
        self._secret = os.urandom(16)

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
            found = {
                reason: shown
                for (each, reason), count in counts.items()
                # not even that there is one of a reason
                if each == name and (shown := self._coarse(name, reason, count))
            }
            for reason, count in sorted((found or {"": 0}).items()):
                labels = f'{{reason="{reason}"}}' if reason else ""
                lines.append(f"{name}{suffix}{labels} {count}")
        return "\n".join(lines) + "\n"

    def _coarse(self, name: str, reason: str, count: int) -> int:
        """A count in thousands, by secret brinks that stay where they are."""
        if name in _EXACT:
            return count
        full = count // STEP
        drawn = blake2b(f"{name} {reason} {full}".encode(), key=self._secret).digest()
        brink = int.from_bytes(drawn) % STEP
        return max(full - (count % STEP < brink), 0) * STEP

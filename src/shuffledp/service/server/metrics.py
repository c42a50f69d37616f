"""Counts for Prometheus, too coarse to tell when somebody reported."""

from __future__ import annotations

from collections import Counter

STEP = 1000
"""Reports and requests are shown in full thousands."""
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

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, number: int = 1, reason: str = "") -> None:
        """Count."""
        self._counts[name, reason] += number

    def text(self, *, storing: bool) -> str:
        """In Prometheus' text format."""
        lines = []
        counts = self._counts | Counter({("shuffledp_storing", ""): int(storing)})
        for name, said in _HELP.items():
            kind = "gauge" if name == "shuffledp_storing" else "counter"
            suffix = "" if kind == "gauge" else "_total"
            lines += [f"# HELP {name}{suffix} {said}", f"# TYPE {name}{suffix} {kind}"]
            found = {reason: count for (each, reason), count in counts.items() if each == name}
            for reason, count in sorted((found or {"": 0}).items()):
                labels = f'{{reason="{reason}"}}' if reason else ""
                shown = count if name in _EXACT else count // STEP * STEP
                lines.append(f"{name}{suffix}{labels} {shown}")
        return "\n".join(lines) + "\n"

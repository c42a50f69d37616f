"""One way to count values, or to add numbers, other than one shuffled report per user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shuffledp.accounting.protocols import Counted
from shuffledp.collection.devices import Device
from shuffledp.labels import Value


@dataclass(frozen=True)
class Shape:
    """A way to count values, or to add numbers, other than one shuffled report per user.

    Parameters
    ----------
    name, trust
        What it is, and whom users have to trust with what.
    eps0
        Local budget of what a user sends; None: whoever sees it before it is mixed sees the truth.
    messages
        Sent per user.
    error
        Expected root mean squared error of a frequency, or of the mean.
    achieved
        delta at the target epsilon, labelled.
    protocol
        What is accounted for.
    device
        What runs it, where each user randomizes.
    """

    name: str
    trust: str
    eps0: float | None
    messages: float
    error: float
    achieved: Value
    protocol: Counted
    device: Device | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "name": self.name,
            "trust": self.trust,
            "eps0": self.eps0,
            "messages": self.messages,
            "error": self.error,
            "delta": self.achieved.to_dict(),
            "protocol": str(self.protocol),
        }

"""Histograms at nearly a curator's error by little more than one message of each user."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.accounting.bounds.counted import Scenes
from shuffledp.accounting.bounds.paired import PairedCounter
from shuffledp.accounting.protocols.crowds import Crowded
from shuffledp.accounting.randomizers.noise import NegativeBinomialNoise, PolyaNoise
from shuffledp.errors import ParameterError


@dataclass(frozen=True)
class PairedDummies(Crowded):
    """True values of ``n`` users among messages for and against every value, that users add.

    Of every value each user adds a number of fake messages drawn from ``noise``, another such
    number of messages against it, and a number drawn from ``pairs`` of both, which cancel. The
    analyst subtracts: what is left of the noise of all users is nearly discrete Laplace. There is
    no local guarantee; ``colluders`` tell which messages are theirs, at least ``minimum_batch``
    users take part.
    """

    noise: NegativeBinomialNoise
    pairs: NegativeBinomialNoise
    n: int
    neighbours: str = "replace"
    colluders: int = 0
    minimum_batch: int | None = None

    def __post_init__(self) -> None:
        for name, law in (("noise", self.noise), ("pairs", self.pairs)):
            if not isinstance(law, NegativeBinomialNoise):
                raise ParameterError(name, "a NegativeBinomialNoise", law)
        self.check_crowd()

    def left(self, users: int) -> PolyaNoise:
        """The noise of a difference of numbers of messages of so many users."""
        return self.noise.total(users).apart()

    def messages(self, k: int) -> float:
        """Of each user, on average, where there are k values."""
        return 1.0 + 2.0 * k * (self.noise.mean + self.pairs.mean)

    def scenes(self) -> Scenes:
        crowd = self.crowd
        return self.moved(PairedCounter(self.noise.total(crowd), self.pairs.total(crowd)))

    def __str__(self) -> str:
        several = "s" * (self.n > 1)
        parts = [
            f"{self.n:,} true value{several}",
            f"from each user and value {self.noise} for it, as many against it,"
            f" and pairs of both: {self.pairs}",
        ]
        return ", ".join([*parts, *self.crowd_words(), "no local guarantee"])

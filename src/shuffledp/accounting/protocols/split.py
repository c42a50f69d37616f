"""Sums by several messages: each user's number, with a share of noise, is split and mixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from shuffledp import checks
from shuffledp.accounting.bounds.counted import COUNTERS_DATASET, SPLIT, Scenes
from shuffledp.accounting.bounds.counters import SplitCounter
from shuffledp.accounting.protocols.base import Bounds
from shuffledp.accounting.protocols.crowds import Crowded
from shuffledp.accounting.randomizers.noise import NoiseShare
from shuffledp.errors import ParameterError
from shuffledp.labels import counted
from shuffledp.numerics.split import split_distance

_FEWEST = 3
_ROOM = 40.0
"""Deviations of all noise, or scales of it, that fit beside the sums of a modulus."""


@dataclass(frozen=True)
class SplitAndMix(Crowded):
    """Each user splits a number with a share of noise into messages that are uniform but for
    their sum modulo ``modulus``; all messages of all users are shuffled.

    There is no local guarantee: all messages of a user together tell the number, all but one of
    them tell nothing.

    Parameters
    ----------
    share
        What each user adds up: one number, or k counts, whose messages tell which count they
        belong to.
    n
        Number of users.
    messages
        How many of each user, for each sum.
    modulus
        Of the sums; the smallest power of 2 that will do unless given.
    neighbours
        Another value of one user ("replace"), or none ("remove").
    colluders
        Users who tell the analyst their messages.
    minimum_batch
        Fewest users who take part; whoever does sends all messages.

    Examples
    --------
    >>> from shuffledp import NoiseShare, SkellamNoise, SplitAndMix
    >>> SplitAndMix(NoiseShare(SkellamNoise(0.5)), 1000, 8).epsilon(delta=1e-6).status.value
    'PROVEN'
    """

    share: NoiseShare
    n: int
    messages: int
    modulus: int | None = None
    neighbours: str = "replace"
    colluders: int = 0
    minimum_batch: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.share, NoiseShare):
            raise ParameterError("share", "a NoiseShare", self.share)
        self.check_crowd()
        messages = checks.count("messages", self.messages, least=_FEWEST)
        object.__setattr__(self, "messages", messages)
        if self.modulus is None:
            object.__setattr__(self, "modulus", roomy(self.share, self.n))
        modulus = checks.whole("modulus", self.modulus, 2)
        if not self.n * self.share.levels < modulus <= 1 << 62:
            raise ParameterError("modulus", "above n times the largest value, up to 2^62", modulus)

    @property
    def sums(self) -> int:
        """How many are taken."""
        return self.share.k or 1

    @property
    def distance(self) -> float:
        """Of the shuffled messages of a sum from what the sum alone tells."""
        assert self.modulus is not None
        return split_distance(self.crowd, self.messages, self.modulus)

    def candidates(self) -> tuple[Bounds, Bounds]:
        return [SPLIT], [COUNTERS_DATASET]

    def scenes(self) -> Scenes:
        assert self.modulus is not None
        noise = self.share.noise.total(self.crowd)
        counter = SplitCounter(noise, self.share.levels, self.distance, self.modulus)
        return self.moved(counter) if self.share.k is not None else [[counter]]

    def __str__(self) -> str:
        parts = [
            counted(self.n, "user"),
            str(self.share),
            f"split into {self.messages} messages modulo {self.modulus} and shuffled",
        ]
        return ", ".join([*parts, *self.crowd_words(), "no local guarantee"])


def roomy(share: NoiseShare, n: int) -> int:
    """A power of two in which no sum wraps around, all but surely."""
    total = share.noise.total(n)
    scale = getattr(total, "scale", 0.0)
    room = _ROOM * max(math.sqrt(total.variance), scale) + abs(total.mean) + 2.0
    if not room < 1e18:
        raise ParameterError("share", "noise that fits into 2^62", str(share))
    return 1 << (n * share.levels + 2 * math.ceil(room)).bit_length()

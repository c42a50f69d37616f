"""n users randomize, a shuffler permutes, an analyst sees the mixed reports."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shuffledp import checks
from shuffledp.accounting.bounds import Bound, all_bounds
from shuffledp.accounting.bounds.theorem import worth_asking
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.protocols.base import BoundedProtocol, Bounds
from shuffledp.accounting.randomizers import Randomizer, Repeated, Subsampled
from shuffledp.errors import ParameterError
from shuffledp.labels import counted


@dataclass(frozen=True)
class Shuffled(BoundedProtocol):
    """The reports of ``n`` users of one randomizer, shuffled once.

    Neighbouring data sets differ in one user's value (replacement); n is public. Each question
    (``epsilon``, ``delta``, ``renyi``, ``tradeoff``) returns an :class:`Interval`: guaranteed for
    every data set at one end, leaked by a concrete data set at the other. A power is that many
    rounds.

    Parameters
    ----------
    randomizer
        What each device runs, such as ``LDP(eps0=2.0)`` or ``CheckIn(KRR(16, eps0=2.0), 0.1)``.
    n
        Number of users, 1 to 10^12.
    colluders
        Users who tell the analyst their reports.
    minimum_batch
        Fewest reports ever released together, if users may drop out; nobody does unless given.

    Raises
    ------
    ParameterError
        If nobody is left to hide among, or a number is out of range.

    Examples
    --------
    >>> from shuffledp import KRR, Shuffled
    >>> print(Shuffled(KRR(k=16, eps0=2.0), n=100_000).epsilon(delta=1e-6))
    epsilon in [0.0195..., 0.0195...] (PROVEN by ...; leaked by dataset)
    """

    randomizer: Randomizer
    n: int
    colluders: int = 0
    minimum_batch: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, Randomizer):
            raise ParameterError(
                "randomizer", "a randomizer such as LDP(eps0=1.0)", self.randomizer
            )
        if isinstance(self.randomizer, Repeated) and self.randomizer.rounds == 1:
            object.__setattr__(self, "randomizer", self.randomizer.randomizer)
        n = checks.count("n", self.n)
        object.__setattr__(self, "n", n)
        if self.minimum_batch is not None:
            batch = checks.count("minimum_batch", self.minimum_batch)
            if batch > n:
                raise ParameterError("minimum_batch", f"at most n = {n}", batch)
            object.__setattr__(self, "minimum_batch", batch)
        object.__setattr__(self, "colluders", checks.count("colluders", self.colluders, least=0))
        inner = (
            self.randomizer.randomizer if isinstance(self.randomizer, Repeated) else self.randomizer
        )
        if isinstance(inner, Subsampled) and self.crowd < n:
            raise ParameterError(
                "colluders", "left out (and minimum_batch) where users are drawn", self.colluders
            )
        if self.crowd < 1:
            raise ParameterError("colluders", "fewer than the users in a batch", self.colluders)

    @property
    def crowd(self) -> int:
        """How many users, the victim included, are sure to hide each other."""
        return (self.minimum_batch or self.n) - self.colluders

    @property
    def eps0(self) -> float:
        """Pure local budget of one round's report, infinite if there is none."""
        whole = self.randomizer
        return (whole.randomizer if isinstance(whole, Repeated) else whole).eps0

    def candidates(self) -> tuple[Bounds, Bounds]:
        return (
            worth_asking(self.randomizer, leaking=False),
            worth_asking(self.randomizer, leaking=True),
        )

    def _known(self) -> Bounds:
        return all_bounds()

    def _curve(self, bound: Bound[Curve]) -> Curve:
        return bound.curve(self.randomizer, self.crowd)

    def using(self, randomizer: Randomizer) -> Shuffled:
        """The same users with another randomizer."""
        return replace(self, randomizer=randomizer)

    def __pow__(self, rounds: int) -> Shuffled:
        """The same users, this many rounds."""
        if isinstance(self.randomizer, Repeated):
            rounds = checks.count("rounds", rounds) * self.randomizer.rounds
            return self.using(Repeated(self.randomizer.randomizer, rounds))
        return self.using(Repeated(self.randomizer, rounds))

    def __str__(self) -> str:
        parts = [counted(self.n, "user"), str(self.randomizer), "shuffled"]
        if self.minimum_batch is not None:
            parts.append(f"at least {counted(self.minimum_batch, 'report')}")
        if self.colluders:
            parts.append(f"{self.colluders:,} colluding")
        return ", ".join(parts)

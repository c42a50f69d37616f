"""Is a claimed guarantee right? Proven, refuted by a data set, or open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols.base import BoundedProtocol
from shuffledp.accounting.protocols.refute import refute
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import Repeated, Subsampled
from shuffledp.labels import Interval
from shuffledp.shown import Shown

PROVEN, REFUTED, OPEN = "PROVEN", "REFUTED", "OPEN"


@dataclass(frozen=True)
class Verdict(Shown):
    """What is known of a claim of (epsilon, delta)-differential privacy.

    A claim is proven where the guaranteed end stays within it, refuted where a data set leaks more.

    Parameters
    ----------
    claimed_epsilon, claimed_delta
        The claim.
    epsilon
        The interval at the claimed delta.
    delta
        The interval at the claimed epsilon.
    dataset
        The one that leaks more, in words.

    Examples
    --------
    >>> from shuffledp import LDP, Shuffled, check
    >>> check(Shuffled(LDP(1.0), 1000), epsilon=1.0, delta=1e-6).verdict
    'PROVEN'
    """

    claimed_epsilon: float
    claimed_delta: float
    epsilon: Interval
    delta: Interval
    dataset: str = ""
    """The one that leaks more, in words."""

    @property
    def proof(self) -> str:
        """Id of the theorem that proves the claim, if one does."""
        if self.epsilon.upper <= self.claimed_epsilon:
            return self.epsilon.theorem
        return self.delta.theorem if self.delta.upper <= self.claimed_delta else ""

    @property
    def verdict(self) -> str:
        """PROVEN, REFUTED or OPEN."""
        return PROVEN if self.proof else REFUTED if self.dataset else OPEN

    @property
    def needed(self) -> float:
        """The smallest epsilon that is proven at the claimed delta."""
        proven = min(self.epsilon.upper, self.claimed_epsilon)
        return proven if self.proof else self.epsilon.upper

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "verdict": self.verdict,
            "theorem": self.proof or None,
            "needed_epsilon": self.needed,
            "claimed": {"epsilon": self.claimed_epsilon, "delta": self.claimed_delta},
            "epsilon": self.epsilon.to_dict(),
            "delta": self.delta.to_dict(),
            "dataset": self.dataset or None,
        }


def check(protocol: BoundedProtocol, *, epsilon: float, delta: float) -> Verdict:
    """Whether the protocol is (epsilon, delta)-differentially private.

    Parameters
    ----------
    protocol
        ``Shuffled``, ``Rounds``, or one whose analyst sees numbers only (``Aggregated``,
        ``SampleThreshold``, ``WithDummies``).
    epsilon, delta
        What is claimed.

    Returns
    -------
    Verdict
        PROVEN, REFUTED with the data set, or OPEN with the interval that is left.

    Examples
    --------
    >>> from shuffledp import LDP, Shuffled, check
    >>> check(Shuffled(LDP(1.0), n=100_000), epsilon=0.05, delta=1e-6).verdict
    'PROVEN'
    """
    epsilon = checks.non_negative("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    known = Verdict(epsilon, delta, protocol.epsilon(delta), protocol.delta(epsilon))
    return known if known.proof else replace(known, dataset=_violating(protocol, known))


def _violating(protocol: BoundedProtocol, claim: Verdict) -> str:
    """A data set that leaks more than claimed, in words; nothing if none is known."""
    if isinstance(protocol, Shuffled) and not isinstance(
        protocol.randomizer, Repeated | Subsampled
    ):
        given = {"epsilon": claim.claimed_epsilon, "delta": claim.claimed_delta}
        found = refute(protocol.randomizer, protocol.crowd, **given)
        if found.refuted:
            return found.dataset
    leaks_more = (
        claim.delta.lower > claim.claimed_delta or claim.epsilon.lower > claim.claimed_epsilon
    )
    return claim.epsilon.leaked.source.statement if leaks_more else ""

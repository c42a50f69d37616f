"""Try to break a claimed guarantee with concrete data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.accounting.bounds import get_theorem
from shuffledp.accounting.bounds.identity import delta_lower
from shuffledp.accounting.bounds.mixed_crowds import MOST_USERS, mixed_crowds, one_bit_budget
from shuffledp.accounting.protocols.base import QUESTIONS
from shuffledp.accounting.protocols.named import deployment
from shuffledp.accounting.randomizers import Randomizer, VictimPair
from shuffledp.errors import ParameterError, RegimeError, answering
from shuffledp.labels import Value

_GRID = 17
_REFINEMENTS = 3
_WIDTH = 1e-3


@dataclass(frozen=True)
class RefutationAttempt:
    """The worst data set found, and whether it violates the claim.

    Parameters
    ----------
    refuted
        Whether the data set leaks more than claimed.
    delta
        What it leaks at least.
    dataset, searched
        The data set, and all that were tried, in words.
    claimed
        The delta that was claimed.

    Examples
    --------
    >>> RefutationAttempt(True, 2e-6, "one data set", "two data sets", 1e-6).factor
    2.0
    """

    refuted: bool
    delta: float
    dataset: str
    searched: str
    claimed: float

    @property
    def factor(self) -> float:
        """How many times the claimed delta the data set leaks."""
        return self.delta / self.claimed

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "refuted": self.refuted,
            "delta": self.delta,
            "claimed_delta": self.claimed,
            "factor": self.factor,
            "dataset": self.dataset,
            "searched": self.searched,
        }


def refute(randomizer: Randomizer, n: int, *, epsilon: float, delta: float) -> RefutationAttempt:
    """Search data sets with all others at one value for one that leaks more than delta at epsilon.

    Both directions are tried; on a real domain a grid of values is refined around the worst. Of up
    to fifty reports of one bit every data set is tried. Finding nothing proves nothing.

    Parameters
    ----------
    randomizer
        What each of the ``n`` devices runs.
    n
        Number of users.
    epsilon, delta
        The claim.

    Returns
    -------
    RefutationAttempt
        The worst data set found; its delta is a certified lower bound of what it leaks.

    Examples
    --------
    >>> from shuffledp import Laplace, refute
    >>> found = refute(Laplace(eps0=4.0), 10_000, epsilon=0.2, delta=1e-6)
    >>> found.refuted, found.dataset
    (True, 'victim 0 against 1; others: all at 0')
    """
    if not isinstance(randomizer, Randomizer):
        raise ParameterError("randomizer", "a randomizer such as Laplace(eps0=4.0)", randomizer)
    n = checks.count("n", n)
    epsilon = checks.non_negative("epsilon", epsilon)
    delta = checks.probability("delta", delta)
    with answering(randomizer, {"n": n, "epsilon": epsilon, "delta": delta}):
        search, searched = _search(randomizer, n, epsilon)
    return RefutationAttempt(search.delta > delta, search.delta, search.dataset, searched, delta)


def _search(randomizer: Randomizer, n: int, epsilon: float) -> tuple[DatasetSearch, str]:
    """Every data set tried, and what that was in words."""
    search = DatasetSearch(n, epsilon)
    if randomizer.domain is None:
        search.try_all(randomizer.datasets())
        searched = f"{search.tried} data sets: all others at one value, both directions"
    else:
        low, high = randomizer.domain
        points = [low + (high - low) * i / (_GRID - 1) for i in range(_GRID)]
        step = (high - low) / (_GRID - 1)
        for _ in range(_REFINEMENTS + 1):
            for point in points:
                search.try_all(randomizer.datasets([point]), point)
            centre, step = search.point, step / 4.0
            points = [centre + k * step for k in (-3, -2, -1, 1, 2, 3)]
            points = [point for point in points if low <= point <= high]
        searched = (
            f"{search.tried} data sets: all others at one value of [{low:g}, {high:g}], a grid of"
            f" {_GRID} refined {_REFINEMENTS} times, both directions"
        )
    if mixed := search.try_mixed(randomizer):
        searched += f"; {mixed} with others at both values of the victim"
    return search, searched


def recompute(theorem_id: str) -> tuple[Value, Value]:
    """What a refuted theorem claims for the data set on record, and what that data set leaks."""
    case = get_theorem(theorem_id).refutation
    if case is None:
        raise ParameterError("theorem", "a refuted one", theorem_id)
    question = {name: value for name, value in case.parameters.items() if name in QUESTIONS}
    given: dict[str, Any] = {
        name: value for name, value in case.parameters.items() if name not in QUESTIONS
    }
    protocol = deployment(case.mechanism, **given)
    return protocol.bound(theorem_id, **question), protocol.bound(case.witness, **question)


class DatasetSearch:
    """Keeps the worst data set seen, for n users at one epsilon."""

    def __init__(self, n: int, epsilon: float) -> None:
        self.n, self.epsilon = n, epsilon
        self.tried, self.delta, self.dataset, self.point = 0, 0.0, "none leaks anything", 0.0

    def try_all(self, pairs: list[VictimPair], point: float = 0.0) -> None:
        """Look at these, all others at this point."""
        for pair in pairs:
            for outcomes, suffix in zip(pair.ways, ("", " (values exchanged)"), strict=False):
                self.tried += 1
                value = delta_lower(outcomes, self.n, self.epsilon, _WIDTH)
                if value > self.delta:
                    self.delta, self.point = value, point
                    self.dataset = f"victim {pair.victim}{suffix}; others: {pair.others}"

    def try_mixed(self, randomizer: Randomizer) -> int:
        """Others at both values of the victim, if they are few and send bits: how many crowds."""
        try:
            eps0 = one_bit_budget(randomizer)
        except RegimeError:
            return 0
        found = mixed_crowds(eps0, self.n)[1:] if 2 <= self.n <= MOST_USERS else []
        for crowd in found:
            for exchanged, suffix in ((False, ""), (True, " (values exchanged)")):
                value = crowd.delta(self.epsilon, exchanged).lower
                if value > self.delta:
                    self.delta = value
                    own, others = crowd.ones, self.n - 1 - crowd.ones
                    self.dataset = (
                        f"victim's first against its second value{suffix};"
                        f" others: {others} at the first, {own} at the second"
                    )
        self.tried += 2 * len(found)
        return 2 * len(found)

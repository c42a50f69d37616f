"""The exact leak of the worst policy a rule admits, by trying all of them.

A policy looks at all results so far, then stops or spends on any kind the rule still admits. Each
release is the worst of its kind: randomized response, or the canonical (epsilon, delta) mechanism,
which also tells who was there with probability delta. With H_t(P|Q) = sum of (P - tQ)+ over results,
what a policy leaks after a result y of a release (p, q) is p(y) H_{t q(y)/p(y)} of the rest, so the
worst policy is found result by result.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from shuffledp import BinaryRR, LedgerError, Shuffled
from shuffledp.ledger import Entry, Guarantee, Rule

Pair = tuple[tuple[float, float], ...]


def one_user(eps0: float) -> Shuffled:
    """Nobody to hide among: the report is all the analyst sees."""
    return Shuffled(BinaryRR(eps0=eps0), n=1)


def pair(what: Shuffled | Guarantee) -> Pair:
    """The results' probabilities under both data sets."""
    epsilon, delta = (
        (float(what.epsilon), float(what.delta))
        if isinstance(what, Guarantee)
        else (what.randomizer.eps0, 0.0)
    )
    high, low = 1.0 / (1.0 + math.exp(-epsilon)), 1.0 / (1.0 + math.exp(epsilon))
    honest = (((1 - delta) * high, (1 - delta) * low), ((1 - delta) * low, (1 - delta) * high))
    return (*honest, (delta, 0.0), (0.0, delta)) if delta else honest


@dataclass
class Adversary:
    """May spend on these kinds, at most ``depth`` times."""

    rule: Rule
    kinds: Sequence[Shuffled | Guarantee]
    depth: int = 4
    admitted: dict[tuple[int, ...], dict[str, Decimal] | None] = field(default_factory=dict)

    def leak(self) -> float:
        """delta at the rule's epsilon under the worst policy."""
        return self._worst((), math.exp(float(self.rule.epsilon)))

    def _worst(self, path: tuple[int, ...], t: float) -> float:
        best = max(1.0 - t, 0.0)
        if len(path) == self.depth:
            return best
        for i, what in enumerate(self.kinds):
            if self._lost((*path, i)) is not None:
                leak = sum(p * self._worst((*path, i), t * q / p) for p, q in pair(what) if p > 0.0)
                best = max(best, leak)
        return best

    def _lost(self, path: tuple[int, ...]) -> dict[str, Decimal] | None:
        """After these spends in this order; None if the rule refuses the last."""
        if not path:
            return dict.fromkeys(self.rule.limits, Decimal(0))
        if path not in self.admitted:
            before = self._lost(path[:-1])
            assert before is not None
            try:
                earlier = [Entry(self.kinds[i], 1) for i in path[:-1]]
                after = self.rule.charged(
                    before, Entry.of(self.kinds[path[-1]], 1), lambda: earlier
                )
                self.admitted[path] = None if self.rule.over(after) else after
            except LedgerError:
                self.admitted[path] = None
        return self.admitted[path]

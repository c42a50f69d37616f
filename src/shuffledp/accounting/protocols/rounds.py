"""Many rounds together: repeated, different, adaptive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shuffledp import checks
from shuffledp.accounting.bounds import Bound, composition
from shuffledp.accounting.bounds.composition import AnyRound, CountedRound, Round, StatedRound
from shuffledp.accounting.bounds.tightest import SILENT
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.protocols.base import BoundedProtocol, Bounds
from shuffledp.accounting.protocols.counted import Counted
from shuffledp.accounting.protocols.shuffled import Shuffled
from shuffledp.accounting.randomizers import Repeated
from shuffledp.errors import ConversionError, ParameterError
from shuffledp.labels import Interval, Value, in_full


@dataclass(frozen=True)
class Stated:
    """A release of which only (epsilon, delta)-DP is known, for the same users.

    Parameters
    ----------
    epsilon, delta
        What is known of the release.

    Examples
    --------
    >>> from shuffledp import Rounds, Stated
    >>> round(Rounds([(Stated(0.1), 10)]).epsilon(delta=1e-6).upper, 3)
    0.999
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checks.non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", checks.unit("delta", self.delta))

    def __str__(self) -> str:
        return f"a release stated as ({in_full(self.epsilon)}, {in_full(self.delta)})-DP"


Entry = Shuffled | Counted | Stated


def _neighbours(entry: Shuffled | Counted | Stated) -> str | None:
    """What its guarantee is about; of a stated one whoever states it knows."""
    if isinstance(entry, Stated):
        return None
    return entry.neighbours if isinstance(entry, Counted) else "replace"


@dataclass(frozen=True, init=False)
class Rounds(BoundedProtocol):
    """Several releases about the same users, each possibly chosen after seeing the earlier ones.

    The guaranteed end is proven for every data set and every adaptive choice; the other end is what
    one data set leaks in all rounds together.

    Parameters
    ----------
    entries
        Protocols (``Shuffled``, ``Stated``), or pairs of a protocol and how often it runs.

    Examples
    --------
    >>> from shuffledp import KRR, Rounds, Shuffled, Stated
    >>> together = Rounds([(Shuffled(KRR(4, eps0=1.0), n=10_000), 30), Stated(0.1, 1e-9)])
    >>> together.count, together.epsilon(delta=1e-6).upper < 0.4
    (31, True)
    """

    entries: tuple[tuple[Shuffled | Counted | Stated, int], ...]

    def __init__(self, entries: Iterable[Entry | tuple[Entry, int]]) -> None:
        counted: dict[Shuffled | Counted | Stated, int] = {}
        for entry in entries:
            protocol, count = entry if isinstance(entry, tuple) else (entry, 1)
            if not isinstance(protocol, Shuffled | Counted | Stated):
                raise ParameterError("entries", "protocols: Shuffled(...) or Stated(...)", protocol)
            count = checks.count("rounds", count)
            if isinstance(protocol, Shuffled) and isinstance(protocol.randomizer, Repeated):
                repeated = protocol.randomizer
                protocol = protocol.using(repeated.randomizer)
                count *= repeated.rounds
            counted[protocol] = counted.get(protocol, 0) + count
        if not counted:
            raise ParameterError("entries", "at least one round", ())
        kinds = {_neighbours(protocol) for protocol in counted} - {None}
        if len(kinds) > 1:
            raise ParameterError(
                "neighbours", "the same in all rounds: shuffled reports are for 'replace'", "remove"
            )
        object.__setattr__(self, "entries", tuple(counted.items()))

    @property
    def count(self) -> int:
        """How many rounds in all."""
        return sum(count for _, count in self.entries)

    @property
    def pure(self) -> float:
        """epsilon at delta = 0: the pure budgets added up, infinite if one round has none."""
        return composition.pure_budget(self._rounds())

    def ask(self, **question: float) -> Interval:
        return super().ask(**question) if self._single is None else self._single.ask(**question)

    def guaranteed(self, *, expected: float | None = None, **question: float) -> Value:
        if self._single is not None:
            return self._single.guaranteed(expected=expected, **question)
        return super().guaranteed(expected=expected, **question)

    @property
    def _single(self) -> Shuffled | Counted | None:
        """The one protocol run once, if that is all."""
        (protocol, count), *others = self.entries
        return None if isinstance(protocol, Stated) or count > 1 or others else protocol

    def candidates(self) -> tuple[Bounds, Bounds]:
        return [composition.composition], [composition.composition_dataset]

    def _ends(self, quantity: str, at: float, expected: float | None = None) -> Iterator[Value]:
        """Where the rounds' losses reveal more than delta, Rényi divergences still add up."""
        ends = super()._ends(quantity, at, expected)
        try:
            guaranteed = next(ends)
        except SILENT:
            guaranteed = self.tightest([composition.composition_rdp]).best(quantity, at)
            witnesses = self.tightest(self.candidates()[1])
            ends = (witnesses.leaked(quantity, at, guaranteed.value) for _ in range(1))
        yield guaranteed
        yield from ends

    def _known(self) -> Bounds:
        return [bound for bound, _ in composition.ROUTES.values()]

    def _curve(self, bound: Bound[Curve]) -> Curve:
        return composition.ROUTES[bound.theorem.id][1](self._rounds(leaking=bound.leaks))

    def _finite(self, value: Value) -> Value:
        if not math.isfinite(value.value):
            raise ConversionError(f"{value.theorem} gives no finite number for {self}.")
        return value

    def __pow__(self, times: int) -> Rounds:
        """All of it, this many times over."""
        times = checks.count("rounds", times)
        return Rounds([(entry, count * times) for entry, count in self.entries])

    def __add__(self, other: Rounds) -> Rounds:
        """These rounds, then the others."""
        return Rounds([*self.entries, *other.entries])

    def __str__(self) -> str:
        return "; ".join(
            f"{entry}, {'once' if count == 1 else f'{count:,} times'}"
            for entry, count in self.entries
        )

    def _rounds(self, *, leaking: bool = False) -> list[AnyRound]:
        """Each release; the data set that leaks most is looked for if it matters."""
        rounds: list[AnyRound] = []
        for entry, count in self.entries:
            if isinstance(entry, Stated):
                rounds.append(StatedRound(entry.epsilon, entry.delta, count))
            elif isinstance(entry, Shuffled):
                rounds.append(Round(entry.randomizer, entry.crowd, count))
            else:
                counters = entry.leakiest() if leaking else entry.counters()
                rounds += [CountedRound(counter, count) for counter in counters]
        return rounds

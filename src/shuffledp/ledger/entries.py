"""What can be spent: rounds of a protocol, or a guarantee somebody states; and its text."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from shuffledp import checks
from shuffledp.accounting.protocols import Counted, Rounds, Shuffled, Stated, describe, restore
from shuffledp.accounting.randomizers import Repeated
from shuffledp.errors import LedgerError, ParameterError
from shuffledp.ledger.amounts import amount, limit_in_words


@dataclass(frozen=True)
class Guarantee:
    """A release is (epsilon, delta)-differentially private for the cohort, its owner says.

    Parameters
    ----------
    epsilon, delta
        Exact decimals, as text.

    Examples
    --------
    >>> Guarantee("0.1", "1e-9").epsilon
    Decimal('0.1')
    """

    epsilon: Decimal | str | int
    delta: Decimal | str | int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", amount("epsilon", self.epsilon))
        object.__setattr__(self, "delta", amount("delta", self.delta, below=1))

    def __str__(self) -> str:
        epsilon, delta = (limit_in_words(Decimal(x)) for x in (self.epsilon, self.delta))
        return f"stated ({epsilon}, {delta})-DP"


Spendable = Shuffled | Counted | Rounds | Guarantee
"""``Rounds``: several releases as one, such as the columns of a table."""
_TOGETHER = "together"


@dataclass(frozen=True)
class Entry:
    """A number of rounds of one protocol or stated guarantee.

    Parameters
    ----------
    what
        A protocol or a stated guarantee.
    rounds
        How often.
    """

    what: Spendable
    rounds: int

    @classmethod
    def of(cls, what: object, rounds: object) -> Entry:
        """Validated; a protocol repeated r times is r rounds of the protocol."""
        count = checks.count("rounds", rounds)
        if not isinstance(what, Shuffled | Counted | Rounds | Guarantee):
            raise ParameterError("what", "a protocol such as Shuffled, or a Guarantee", what)
        for part, _ in what.entries if isinstance(what, Rounds) else [(what, 1)]:
            if isinstance(part, Stated):
                raise ParameterError("what", "protocols only, where several are one spend", part)
            if isinstance(part, Counted) and part.neighbours != "replace":
                raise ParameterError(
                    "neighbours",
                    "'replace': totals of a ledger are about replaced values (give the protocol"
                    " neighbours='replace', if it takes that)",
                    part.neighbours,
                )
        if isinstance(what, Rounds) and len(what.entries) == 1:
            ((only, times),) = what.entries
            assert not isinstance(only, Stated)
            what, count = only, checks.count("rounds", count * times)
        if isinstance(what, Rounds):  # equal ones have equal texts
            parts = sorted(what.entries, key=lambda part: cls.of(*part).text)
            what = Rounds(parts)
        if isinstance(what, Shuffled) and isinstance(what.randomizer, Repeated):
            count = checks.count("rounds", count * what.randomizer.rounds)
            what = replace(what, randomizer=what.randomizer.randomizer)
        return cls(what, count)

    @property
    def text(self) -> str:
        """Canonical JSON: the same for equal things, other for others."""
        return json.dumps(self.description, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def description(self) -> dict[str, Any]:
        """JSON-ready data."""
        if isinstance(self.what, Guarantee):
            return {"epsilon": str(self.what.epsilon), "delta": str(self.what.delta)}
        if isinstance(self.what, Rounds):
            parts = [Entry.of(*part) for part in self.what.entries]
            return {
                _TOGETHER: [{"spent": each.description, "rounds": each.rounds} for each in parts]
            }
        return describe(self.what)


def read(text: object, rounds: object) -> Entry:
    """The entry a store holds."""
    try:
        if not isinstance(text, str):
            raise TypeError("not text")
        return restored(json.loads(text), rounds)
    except (ValueError, TypeError, RecursionError) as error:
        raise LedgerError(f"The ledger holds a spend this version cannot read: {text}") from error


def restored(data: Any, rounds: object) -> Entry:
    """The entry of a description; raises ValueError or TypeError for anything else."""
    count = checks.whole("rounds", rounds, 1)
    if _TOGETHER in data:
        parts = [restored(each["spent"], each["rounds"]) for each in data[_TOGETHER]]
        return Entry.of(
            Rounds([(each.what, each.rounds) for each in parts]),  # type: ignore[misc]
            count,
        )
    return Entry(Guarantee(**data) if "epsilon" in data else restore(data), count)


def rounds_of(what: Shuffled | Counted | Rounds) -> Rounds:
    """One time of it, as rounds."""
    return what if isinstance(what, Rounds) else Rounds([(what, 1)])

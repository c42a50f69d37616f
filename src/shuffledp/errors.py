"""Every error this package raises on purpose.

ShuffleDPError
├── ParameterError      a parameter is out of its domain (also a ValueError)
├── RegimeError         a theorem is asked outside its validity (also a ValueError)
├── UnknownTheoremError no such id in the registry (also a KeyError)
├── ConversionError     a curve cannot answer this question (also a ValueError)
├── TrainingError       a training run cannot go on
├── LedgerError         the book of budgets cannot do this
│   ├── BudgetExceededError  a spend does not fit into its cohort's budget
│   └── UnknownOutcomeError  the store went away while it was told to record
├── ServiceError        the shuffler service, its store, its keys or a batch cannot do this
│   ├── BusyError       another process is at it
│   ├── LostKeyError    what was sealed to this key cannot be opened any more
│   └── TooFewError     a batch below its minimum is not released
├── MissingExtraError   an optional dependency is not installed (also an ImportError)
└── InternalError       a calculation contradicts itself, or fails: our fault
                        (also an ArithmeticError)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches


class ShuffleDPError(Exception):
    """Base of all deliberate errors; ``exit_code`` is what the command line returns."""

    exit_code = 2

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


NOT_SHOWN = "a value that is not shown here"
"""Errors are kept in logs; what a user holds is not for them."""


class ParameterError(ShuffleDPError, ValueError):
    """A parameter violates a stated condition."""

    def __init__(self, parameter: str, condition: str, value: object) -> None:
        self.parameter, self.condition, self.value = parameter, condition, value
        super().__init__(f"The {parameter!r} parameter must be {condition}. Got {value!r} instead.")


class RegimeError(ShuffleDPError, ValueError):
    """A theorem does not hold, or says nothing, for these parameters."""

    def __init__(self, condition: str, value: object, theorem: str = "") -> None:
        self.condition, self.value, self.theorem = condition, value, theorem
        who = f"Theorem {theorem!r}" if theorem else "This bound"
        super().__init__(f"{who} requires {condition}. Got {value}.")


class UnknownTheoremError(ShuffleDPError, KeyError):
    """No theorem of that id is registered."""

    def __init__(self, theorem: str, known: list[str]) -> None:
        self.theorem = theorem
        near = get_close_matches(theorem.lower(), known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        super().__init__(
            f"The 'theorem' parameter must be an id that `shuffledp theorems` lists{hint}."
            f" Got {theorem!r} instead."
        )


class ConversionError(ShuffleDPError, ValueError):
    """The mathematics offers no way from this bound to that question."""


class TrainingError(ShuffleDPError, RuntimeError):
    """A training run, its data or its files are in a state it cannot go on from."""


class LedgerError(ShuffleDPError):
    """The ledger refuses, or its store is out of reach. Nothing was recorded, unless it says so."""


class BudgetExceededError(LedgerError):
    """The budget of a cohort does not hold this spend. Nothing was recorded."""

    exit_code = 3


class UnknownOutcomeError(LedgerError):
    """The store went away during the commit: the spend may or may not be recorded."""

    def __init__(self, store: str, reason: str) -> None:
        super().__init__(
            f"Committing to {store} failed: {reason}. The spend may or may not be recorded:"
            " repeat it with the same key."
        )


class ServiceError(ShuffleDPError):
    """The shuffler service refuses, or something it needs is missing or altered."""


class BusyError(ServiceError):
    """Another process is doing this already."""


class LostKeyError(ServiceError):
    """A private key is gone, and with it whatever was sealed to it."""


class TooFewError(ServiceError):
    """Fewer reports wait than are ever released together. They go on waiting."""

    exit_code = 3


class MissingExtraError(ShuffleDPError, ImportError):
    """An optional dependency is missing."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the extra {extra!r}: pip install 'shuffledp[{extra}]'.")


class InternalError(ShuffleDPError, ArithmeticError):
    """A fault of this package, with the parameters to send. No number is given instead."""

    exit_code = 70

    def __init__(self, reason: str, asked: str = "") -> None:
        self.reason, self.asked = reason, asked
        about = f" Asked: {asked}." if asked else ""
        super().__init__(
            f"Internal error, so no number is given: {reason}.{about} Please report this line."
        )


@contextmanager
def answering(subject: object, question: Mapping[str, object]) -> Iterator[None]:
    """Whatever fails inside, unless raised on purpose,
    is an InternalError that says what was asked."""
    try:
        yield
    except InternalError as error:
        if error.asked:
            raise
        raise InternalError(error.reason, _asked(subject, question)) from error
    except (ShuffleDPError, MemoryError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InternalError(reason, _asked(subject, question)) from error


def _asked(subject: object, question: Mapping[str, object]) -> str:
    """To the last digit, so that it can be asked again."""
    return f"{subject!r}, " + ", ".join(f"{name}={value!r}" for name, value in question.items())

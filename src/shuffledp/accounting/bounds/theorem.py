"""Theorems with a curve: each says of which randomizers it speaks, and where it is worth asking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from shuffledp.accounting.bounds.scopes import Scope
from shuffledp.accounting.curves import Curve
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.errors import RegimeError, UnknownTheoremError
from shuffledp.labels import Direction, Status, Theorem, register

C = TypeVar("C", bound=Curve, covariant=True)
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Bound(Generic[C]):
    """A theorem with the function that turns (randomizer, n) into its curve, and whom it is for.

    Examples
    --------
    >>> from shuffledp import LDP
    >>> round(get_bound("stronger-clones").curve(LDP(eps0=2.0), 100_000).epsilon(1e-6), 6)
    0.033187
    """

    theorem: Theorem
    function: Callable[[Any, int], C]
    """Gets what ``speaks_of`` returns."""
    speaks_of: Scope
    asked_of: Scope | None
    """Where it may be the tightest; None: nowhere, it is only compared with others."""
    turn: int = 9
    """Bounds are asked in this order: first those likely to be tightest."""
    dear: bool = False
    """Takes long: asked last, and only where both ends do not meet without it."""

    @property
    def leaks(self) -> bool:
        """Whether it is about the end that a data set leaks, not the guaranteed one."""
        return self.theorem.direction is Direction.LOWER

    def curve(self, randomizer: Randomizer, n: int) -> C:
        """The curve for this randomizer, or RegimeError if the theorem does not apply to it."""
        with self.named():
            return self.function(self.speaks_of(randomizer), n)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors inside that name no theorem get the id of this one; who listens hears it."""
        if (tell := _LISTENER.get()) is not None:
            tell(self.theorem.id)
        try:
            yield
        except RegimeError as error:
            if error.theorem:
                raise
            raise RegimeError(error.condition, error.value, self.theorem.id) from error


_BOUNDS: dict[str, Bound[Any]] = {}
_KEPT: list[Callable[[], None]] = []
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(tell: Callable[[str], None]) -> Iterator[None]:
    """Inside, ``tell`` gets the id of each theorem that is asked, as it is asked."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


_SHOWN = {
    (Direction.UPPER, Status.PROVEN),
    (Direction.LOWER, Status.PROVEN),
    (Direction.LOWER, Status.FIXED_PAIR),
}


def bound(
    theorem: Theorem,
    speaks_of: Scope,
    *,
    asked_of: Scope | bool = True,
    turn: int = 9,
    dear: bool = False,
) -> Callable[[Callable[[Any, int], C]], Bound[C]]:
    """Register the decorated function as the implementation of ``theorem``.

    Parameters
    ----------
    theorem
        Who says what, where it holds, how sure we are.
    speaks_of
        Returns the randomizer as the theorem sees it, or raises RegimeError (``scopes``).
    asked_of
        Narrows the randomizers it is asked about for an answer; False where another bound is always
        at least as tight, or where it takes longer than its gain is worth. Only what is shown is
        ever asked: PROVEN, or leaked by a data set.
    turn
        Bounds are asked in this order: first those likely to be tightest.

    Returns
    -------
    callable
        A decorator of functions ``(randomizer, n) -> Curve``; what it makes is a :class:`Bound`.
    """
    scope = asked_of if callable(asked_of) else speaks_of if asked_of else None
    asked = scope if (theorem.direction, theorem.status) in _SHOWN else None

    def add(function: Callable[[Any, int], C]) -> Bound[C]:
        made = _BOUNDS[theorem.id] = Bound(
            register(theorem), function, speaks_of, asked, turn, dear
        )
        forget()
        return made

    return add


def kept(answer: F) -> F:
    """The latest answers of a function, kept until another theorem is registered."""
    found = lru_cache(maxsize=256)(answer)
    _KEPT.append(found.cache_clear)
    return cast(F, found)


def forget() -> None:
    """Drop all answers that were kept."""
    for clear in _KEPT:
        clear()


def all_bounds() -> list[Bound[Curve]]:
    """Every registered bound, in order of registration."""
    return list(_BOUNDS.values())


def worth_asking(randomizer: Randomizer, *, leaking: bool) -> Iterator[Bound[Curve]]:
    """Bounds that may give the guaranteed end, or the leaked one; each is judged in its turn."""
    for bound in sorted(_BOUNDS.values(), key=attrgetter("dear", "turn")):
        if bound.asked_of is None or bound.leaks is not leaking:
            continue
        try:
            bound.asked_of(randomizer)
            bound.speaks_of(randomizer)
        except RegimeError:
            continue
        yield bound


def get_bound(theorem_id: str) -> Bound[Curve]:
    """The bound of that theorem id.

    Raises
    ------
    UnknownTheoremError
        If no theorem of that id has a curve.
    """
    try:
        return _BOUNDS[theorem_id]
    except KeyError:
        raise UnknownTheoremError(theorem_id, sorted(_BOUNDS)) from None

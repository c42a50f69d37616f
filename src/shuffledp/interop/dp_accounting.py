"""Google's dp-accounting: our protocols as events, an accountant for them, and any guarantee as its
PrivacyLossDistribution.

Neighbouring data sets differ in one user's value, REPLACE_ONE, or in one more user,
ADD_OR_REMOVE_ONE: random allocation, and counts whose values are removed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves import ProfileCurve
from shuffledp.accounting.curves.losses import on_lattice
from shuffledp.accounting.protocols import Counted, Rounds, Shuffled, Stated
from shuffledp.errors import ConversionError, MissingExtraError, ParameterError
from shuffledp.labels import Interval, Status
from shuffledp.numerics.enclosure import QUICK
from shuffledp.numerics.rounding import Array, down, roundings, up

try:
    import attr
    from dp_accounting import dp_event, privacy_accountant
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution
except ImportError as error:
    raise MissingExtraError("interop", "dp-accounting") from error

_NEIGHBOURS = {
    privacy_accountant.NeighboringRelation.REPLACE_ONE: "replace",
    privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE: "remove",
}
_FAR = 200.0
"""What is left beyond this epsilon counts as revealing."""
_DEEPEST = 1e-20
_MOST = 5_000
"""Points of a lattice."""


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ShuffledDpEvent(dp_event.DpEvent):  # type: ignore[misc]
    """A protocol, or several rounds, as an event for :class:`ShuffledAccountant`.

    Parameters
    ----------
    protocol
        ``Shuffled``, ``RandomAllocation`` and the like, or ``Rounds``.
    """

    protocol: Shuffled | Counted | Rounds

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.protocol, Shuffled | Counted | Rounds):
            raise ParameterError("protocol", "Shuffled(...) or Rounds([...])", self.protocol)


class ShuffledAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]
    """Composes :class:`ShuffledDpEvent`, tightly; answers are proven upper ends.

    Of dp-accounting's own events it knows NoOp, NonPrivate, Composed, SelfComposed, and
    RandomizedResponse (a pure guarantee); it refuses the rest. To mix with others, compose
    :func:`to_pld` with theirs.

    Examples
    --------
    >>> from shuffledp import KRR, Shuffled
    >>> accountant = ShuffledAccountant()
    >>> daily = ShuffledDpEvent(Shuffled(KRR(4, eps0=1.0), n=10_000))
    >>> accountant.compose(daily, 7).get_epsilon(1e-6) < 0.2
    True
    >>> from shuffledp import RandomAllocation
    >>> accountant = ShuffledAccountant(
    ...     privacy_accountant.NeighboringRelation.ADD_OR_REMOVE_ONE
    ... )
    >>> epoch = ShuffledDpEvent(RandomAllocation(sigma=1.0, steps=1000))
    >>> accountant.compose(epoch).get_epsilon(1e-6) < 0.172
    True
    """

    def __init__(
        self,
        neighboring_relation: Any = privacy_accountant.NeighboringRelation.REPLACE_ONE,
    ) -> None:
        if neighboring_relation not in _NEIGHBOURS:
            raise ParameterError(
                "neighboring_relation", "REPLACE_ONE or ADD_OR_REMOVE_ONE", neighboring_relation
            )
        super().__init__(neighboring_relation)
        self._neighbours = _NEIGHBOURS[neighboring_relation]
        self._entries: list[tuple[Shuffled | Counted | Stated, int]] = []
        self._non_private = False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        if isinstance(event, dp_event.ComposedDpEvent):
            errors = (self._maybe_compose(part, count, do_compose) for part in event.events)
            return next((error for error in errors if error is not None), None)
        if isinstance(event, dp_event.SelfComposedDpEvent):
            if not _whole(event.count):
                return _unsupported(event, f"count must be an integer >= 0, not {event.count!r}")
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if not _whole(count):
            return _unsupported(event, f"count must be an integer >= 0, not {count!r}")
        try:
            entries = _entries(event, self._neighbours)
        except ParameterError as error:
            return _unsupported(event, str(error))
        if entries is None:
            return _unsupported(event, "no shuffled protocol")
        if do_compose and count:
            self._non_private |= any(entry is None for entry, _ in entries)
            self._entries += [(entry, times * count) for entry, times in entries if entry]
        return None

    def get_epsilon(self, target_delta: float) -> float:
        """The proven upper end; infinite if nothing is proven at this delta."""
        delta = checks.unit("target_delta", target_delta)
        if self._non_private:
            return math.inf
        if not self._entries or delta == 1.0:
            return 0.0
        rounds = Rounds(self._entries)
        if delta == 0.0:
            return rounds.pure
        try:
            return _guaranteed(rounds.epsilon(delta))
        except ConversionError:
            return math.inf

    def get_delta(self, target_epsilon: float) -> float:
        """The proven upper end."""
        beyond = target_epsilon == math.inf
        epsilon = _FAR if beyond else checks.non_negative("target_epsilon", target_epsilon)
        if self._non_private:
            return 1.0
        return _guaranteed(Rounds(self._entries).delta(epsilon)) if self._entries else 0.0


def to_pld(protocol: Shuffled | Counted | Rounds | Stated, step: float | None = None) -> Any:
    """The proven guarantee as a ``PrivacyLossDistribution``, never below it.

    Ours is rounded up; what dp-accounting computes afterwards is plain floating point: trust no
    delta below 1e-13.

    Parameters
    ----------
    protocol
        ``Shuffled``, ``RandomAllocation`` and the like, ``Rounds``, ``Stated``; the larger of both
        directions counts.
    step
        Losses are multiples of it; it must be equal for distributions that dp-accounting is to
        compose. A tenth of a loss's deviation unless given.

    Returns
    -------
    dp_accounting.pld.privacy_loss_distribution.PrivacyLossDistribution
        To compose with others.
    """
    rounds = protocol if isinstance(protocol, Rounds) else Rounds([protocol])
    curve = rounds.curve("composition")
    assert isinstance(curve, ProfileCurve)
    deviation = 2.5 * curve.delta(0.0)
    if step is None:
        step = 0.1 * deviation or 1.0
        pure = curve.end.epsilon
        if curve.end.reached and pure > 0.0:  # the pure budget on the lattice
            step = up(pure, roundings(8)) / math.ceil(pure / step)
    step = checks.positive("step", step)
    multiples, masses, revealing = on_lattice(step, *_sampled(curve, step, deviation))
    pmf = pld_pmf.create_pmf(
        dict(zip(multiples.tolist(), masses.tolist(), strict=True)), step, revealing, True
    )
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)


def _sampled(curve: ProfileCurve, step: float, deviation: float) -> tuple[Any, Array]:
    """Multiples of the step, sparser where the profile is small, and upper bounds there."""
    end = min(curve.end.epsilon, _FAR)
    floor = curve.delta(end)
    counts, upper = [0], [curve.delta(0.0)]
    while upper[-1] > 1.001 * floor + _DEEPEST:
        # in deviations: 0.1 up to 3, then growing by a thirtieth
        gap = max(0.1 * deviation, counts[-1] * step / 30.0)
        counts.append(counts[-1] + max(1, math.floor(gap / step)))
        if len(counts) > _MOST:
            raise ParameterError(
                "step", f"at least {end / _MOST:g}: there are too many losses", step
            )
        # a float product may exceed the exact one: ask a little earlier
        epsilon = down(counts[-1] * step, roundings(4))
        upper.append(min(curve.enclose(epsilon, QUICK).upper, 1.0) if epsilon < end else floor)
    return np.array(counts), np.minimum.accumulate(upper)


def _entries(
    event: Any, neighbours: str
) -> list[tuple[Shuffled | Counted | Stated | None, int]] | None:
    """What one event costs, None for no privacy at all; no list at all for an unknown event."""
    if isinstance(event, ShuffledDpEvent):
        rounds = event.protocol if isinstance(event.protocol, Rounds) else Rounds([event.protocol])
        for entry, _ in rounds.entries:
            own = entry.neighbours if isinstance(entry, Counted) else "replace"
            if own != neighbours and not isinstance(entry, Stated):
                raise ParameterError("neighbours", f"{neighbours!r}, as this accountant's", own)
        return list(rounds.entries)
    if isinstance(event, dp_event.NoOpDpEvent):
        return []
    if isinstance(event, dp_event.NonPrivateDpEvent):
        return [(None, 1)]
    if isinstance(event, dp_event.RandomizedResponseDpEvent):
        noise = checks.unit("noise_parameter", event.noise_parameter)
        buckets = checks.count("num_buckets", event.num_buckets)
        if buckets == 1:
            return []
        if noise == 0.0:
            return [(None, 1)]
        epsilon = up(math.log1p(buckets * (1.0 - noise) / noise), roundings(16))
        return [(Stated(epsilon), 1)]
    return None


def _whole(count: Any) -> bool:
    return isinstance(count, int | np.integer) and int(count) >= 0


def _unsupported(event: Any, reason: str) -> Any:
    return privacy_accountant.PrivacyAccountant.CompositionErrorDetails(event, reason)


def _guaranteed(answer: Interval) -> float:
    if answer.status is not Status.PROVEN:
        raise ConversionError(f"Nothing is proven: {answer}.")
    return answer.upper

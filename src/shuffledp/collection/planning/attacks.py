"""What colluding or malicious users could do to a plan."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.accounting.protocols import (
    Counted,
    Rounds,
    SampleThreshold,
    Shuffled,
    WithDummies,
)
from shuffledp.accounting.protocols.crowds import Crowded
from shuffledp.collection.analysis.means import decoder
from shuffledp.collection.analysis.support import Support, law
from shuffledp.collection.devices import Device, device
from shuffledp.collection.devices.vectors import CoordinateDevice
from shuffledp.collection.planning.plan import CURATOR, NOBODY, Choice
from shuffledp.collection.planning.shape import Shape
from shuffledp.collection.planning.target import Target
from shuffledp.collection.planning.tasks import TURNED
from shuffledp.errors import ConversionError, ParameterError, RegimeError

SHARES = (0.0, 0.01, 0.1)
"""Of the users: so many might collude, or lie."""


@dataclass(frozen=True)
class Attack:
    """What a share of the users could do: tell what they sent, or send what they like.

    Parameters
    ----------
    share
        Of the users.
    epsilon
        Of all others, if these collude with the analyst; None where nothing is proven any more.
    bias
        By which they can move a frequency, or the mean as a share of its range, if they lie; None
        where there is no limit: numbers with noise, shares of noise and dummies of users, unless
        somebody checks their range.
    """

    share: float
    epsilon: float | None
    bias: float | None


def attacks(choice: Choice | Shape, target: Target) -> list[Attack]:
    """What 0, 1 and 10 % of the users could do to a row of a plan.

    Examples
    --------
    >>> from shuffledp.collection.planning import Histogram, Target, plan
    >>> target = Target(epsilon=1.0, delta=1e-6, n=1000)
    >>> best = plan(Histogram(4), target).best
    >>> [attack.share for attack in attacks(best, target)]
    [0.0, 0.01, 0.1]
    """
    found: list[Attack] = []
    per_user = _per_user(choice)
    known, others = target.epsilon, max(target.n - target.colluders, 1)
    for share in SHARES:
        users = math.ceil(share * target.n)
        bias = None if per_user is None else users * per_user / target.n
        likely = known * math.sqrt(others / max(target.n - users, 1))  # a limit theorem says
        same = bool(found) and _alike(choice, users, 0)
        epsilon = found[0].epsilon if same else _epsilon(choice, target, users, likely)
        if epsilon is not None:
            known, others = epsilon, target.n - users
        found.append(Attack(share, epsilon, 0.0 if not users else bias))
    return found


def _alike(choice: Choice | Shape, colluders: int, others: int) -> bool:
    """Whether so many who collude leave as much to hide in: nothing of that comes from users."""
    if isinstance(choice, Choice):
        return False
    try:
        one, other = (_with(choice.protocol, each) for each in (colluders, others))
    except ParameterError:  # nobody else is left
        return False
    return one.counters() == other.counters()


def _with(protocol: Counted, colluders: int) -> Counted:
    if isinstance(protocol, Crowded):
        return replace(protocol, colluders=colluders)  # type: ignore[type-var]
    return protocol  # a threshold hides whoever is honest


def _epsilon(choice: Choice | Shape, target: Target, colluders: int, likely: float) -> float | None:
    if choice.trust in (NOBODY, CURATOR):  # what others tell changes nothing
        return target.epsilon
    try:
        protocol: Shuffled | Counted
        if isinstance(choice, Choice):
            assert choice.device is not None
            protocol = Shuffled(choice.device.randomizer, target.n, colluders)
        else:
            protocol = _with(choice.protocol, colluders)
        times = choice.messages if isinstance(choice, Choice) else 1
        together = Rounds([(protocol, target.rounds * times)])
        lost = together.guaranteed(expected=likely, delta=target.delta).value
    except (ParameterError, RegimeError, ConversionError):
        return None
    achieved = choice.achieved
    alike = colluders <= target.colluders or _alike(choice, colluders, target.colluders)
    if alike and achieved is not None and achieved.value <= target.delta:
        return min(lost, target.epsilon)  # the promise itself is proven
    return lost


def _per_user(choice: Choice | Shape) -> float | None:
    """How far one user moves a frequency, or a mean, times the number of users, at most."""
    if choice.trust == CURATOR:
        return 1.0
    if isinstance(choice, Shape) and choice.device is None:
        return _per_message(choice.protocol)
    if choice.name.startswith(TURNED):  # lies in all turned coordinates may add up in one
        return None
    assert choice.device is not None
    machine = choice.device.speaking
    try:
        support = law(machine)
    except ParameterError:  # not a count of values
        moved = _per_number(machine)
    else:
        moved = 1.0 / support.gap if isinstance(support, Support) else None
    return None if moved is None else moved / choice.device.reporting


def _per_number(machine: Device) -> float | None:
    """From the smallest report there is to the largest, in shares of the range."""
    times = 1.0
    if isinstance(machine, CoordinateDevice):  # one of so many users is asked for a coordinate
        times, machine = float(machine.dimensions), machine.inner
    try:
        known = decoder(machine)
    except ParameterError:
        return None
    if known.largest is None:
        return None
    low, high = known.decode(np.array([0, known.largest]))
    return times * float(high - low)


def _per_message(protocol: Counted) -> float | None:
    """The same of true values: one more report of a value, or its sample."""
    if isinstance(protocol, SampleThreshold):
        return 1.0 / protocol.rate
    if isinstance(protocol, WithDummies) and not protocol.by_users:
        if protocol.randomizer is None:
            return 1.0
        support = law(device(protocol.randomizer))
        assert isinstance(support, Support)
        return 1.0 / support.gap
    return None

"""One round: what devices send, what whoever is trusted makes of it, what the analyst learns.

Two kinds of mediators: a secure sum adds up what users send, a shuffler permutes their messages
(and may add its own). What it releases is all the analyst sees, with the number of users.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.accounting.protocols import Aggregated, Counted, SampleThreshold, WithDummies
from shuffledp.accounting.protocols.paired import PairedDummies
from shuffledp.accounting.protocols.split import SplitAndMix
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.noise import NoiseShare, PoissonNoise
from shuffledp.collection.analysis.estimate import Estimate, quantile
from shuffledp.collection.analysis.support import Support, count_support, law
from shuffledp.collection.counting.estimates import NoisyEstimate
from shuffledp.collection.devices import Device, Stream, device
from shuffledp.collection.devices.categorical import Categorical
from shuffledp.collection.devices.device import categories, shares
from shuffledp.collection.devices.integers import bernoulli, uniform
from shuffledp.collection.devices.numeric import GaussianDevice, LaplaceDevice, on_grid
from shuffledp.collection.devices.whole_noise import draw, poisson
from shuffledp.collection.shuffling.permutation import permutation
from shuffledp.errors import ParameterError
from shuffledp.numerics.search import bisect_whole

Messages = NDArray[np.int64]
"""One row per message."""
_BITS, _HALF = 72, 31


class Collector(ABC):
    """Everybody's part in one round of a protocol.

    ``send`` is what the devices of some users do, ``receive`` what the mediator does with it,
    ``release`` what it makes public, ``estimate`` what the analyst learns from that.
    """

    protocol: Counted
    users = 0

    @abstractmethod
    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        """Messages of these users."""

    @abstractmethod
    def receive(self, messages: Messages, users: int) -> None:
        """Keep, or add up, messages of so many users."""

    @abstractmethod
    def release(self, stream: Stream) -> Messages:
        """What the analyst is given; too few users are refused."""

    @abstractmethod
    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        """Unbiased numbers, with errors."""

    def collect(self, values: ArrayLike, stream: Stream) -> None:
        """Devices of these users send, the mediator receives."""
        self.receive(self.send(values, stream), len(np.asarray(values)))

    def run(self, stream: Stream, names: Sequence[Any]) -> Estimate:
        """Release and estimate."""
        return self.estimate(self.release(stream), self.users, names)

    def _check_users(self) -> None:
        fewest = getattr(self.protocol, "minimum_batch", None) or self.protocol.n or 1
        if self.users < fewest:
            raise ParameterError("users", f"at least the {fewest:,} promised", self.users)


class _Summing(Collector):
    """A secure sum: rows are added up, no row is seen."""

    total: Messages | None = None

    def receive(self, messages: Messages, users: int) -> None:
        self.users += users
        added = messages.sum(axis=0)
        self.total = added if self.total is None else self.total + added

    def release(self, stream: Stream) -> Messages:
        self._check_users()
        assert self.total is not None
        return self.total


class SummedEncodings(_Summing):
    """Unary encodings, or randomized responses: the bits of each value are added up."""

    def __init__(self, protocol: Aggregated, machine: Categorical) -> None:
        self.protocol, self.machine, self.law = protocol, machine, law(machine)
        assert isinstance(self.law, Support)

    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        return count_support(self.machine, self.machine.encode(values, stream))[None, :]

    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        values = self.law.frequencies(released / users)
        return Estimate("frequency", tuple(names), values, self.law.variances(values, users), users)


class SummedNumbers(_Summing):
    """Numbers with noise of each user."""

    protocol: Aggregated

    def __init__(self, protocol: Aggregated, machine: LaplaceDevice | GaussianDevice) -> None:
        self.protocol, self.machine = protocol, machine

    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        return self.machine.encode(values, stream).astype(np.int64)

    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        noise = self.protocol.noise_of_all(users)
        return _mean(released, users, names, self.machine.levels, noise)


class SummedShares(_Summing):
    """Counts, or a number, with a share of noise of each user."""

    def __init__(self, protocol: Aggregated | SplitAndMix, share: NoiseShare) -> None:
        self.protocol, self.share = protocol, share

    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        return self.noisy(values, stream)

    def noisy(self, values: ArrayLike, stream: Stream) -> Messages:
        """One row per user: the number, or a 1 at the value, plus noise everywhere."""
        if self.share.k is None:
            rows = on_grid(shares(values), self.share.levels, stream)[:, None]
        else:
            held = categories(values, self.share.k)
            rows = np.zeros((held.size, self.share.k), np.int64)
            rows[np.arange(held.size), held] = 1
        return rows + draw(self.share.noise, rows.size, stream).reshape(rows.shape)

    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        noise = self.share.noise.total(users)
        if self.share.k is None:
            return _mean(released, users, names, self.share.levels, noise)
        values = (released - noise.mean) / users
        variances = np.full(values.size, noise.variance / users**2)
        return NoisyEstimate(
            "frequency", tuple(names), values, variances, users, noise=noise, unit=1.0 / users
        )


def _mean(
    total: Messages, users: int, names: Sequence[Any], levels: int, noise: Any
) -> NoisyEstimate:
    """A sum of whole numbers with noise as the mean of shares of a range.

    Which step of the grid a value is put on is chance and leaves no trace: it counts as the most it
    can be.
    """
    unit = 1.0 / (users * levels)
    values = unit * (total - noise.mean)
    rounding = unit * np.full(1, 0.5 * math.sqrt(users))
    variances = noise.variance * unit**2 + rounding**2
    return NoisyEstimate(
        "mean", tuple(names), values, variances, users, noise=noise, unit=unit, others=rounding
    )


class _Shuffling(Collector):
    """A shuffler: messages of all users in an order that tells nothing."""

    def __init__(self) -> None:
        self._waiting: list[Messages] = []

    def receive(self, messages: Messages, users: int) -> None:
        self.users += users
        self._waiting.append(messages)

    def added(self, stream: Stream) -> list[Messages]:
        """Messages of the shuffler."""
        return []

    def release(self, stream: Stream) -> Messages:
        self._check_users()
        messages = np.concatenate([*self._waiting, *self.added(stream)])
        self._waiting = []
        return np.asarray(messages[permutation(len(messages), stream)])


class DummyCollector(_Shuffling):
    """True values, or randomized ones, among fake ones."""

    protocol: WithDummies

    def __init__(self, protocol: WithDummies, k: int) -> None:
        super().__init__()
        self.protocol, self.k = protocol, k
        self.machine: Device | None = None
        self.law = Support(1.0, 0.0)
        if protocol.randomizer is not None:
            self.machine = device(protocol.randomizer)
            if self.machine.randomizer != protocol.randomizer:
                raise ParameterError(
                    "randomizer", "what a device runs: actual(randomizer)", protocol.randomizer
                )
            found = law(self.machine)
            assert isinstance(found, Support)
            self.law = found

    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        own = categories(values, self.k)
        if self.machine is not None:
            own = self.machine.encode(own, stream)[:, 0].astype(np.int64)
        if not self.protocol.by_users:
            return own[:, None]
        dummies = self.protocol.dummies
        if isinstance(dummies, PoissonNoise):  # how many in all, each of any value
            number = int(poisson(self.k * Fraction(dummies.rate), own.size, stream).sum())
            fake = uniform(stream, self.k, number).astype(np.int64)
        else:
            numbers = draw(dummies, own.size * self.k, stream)
            fake = np.repeat(np.tile(np.arange(self.k), own.size), numbers)
        return np.concatenate([own, fake])[:, None]

    def added(self, stream: Stream) -> list[Messages]:
        if self.protocol.by_users:
            return []
        numbers = draw(self.protocol.dummies, self.k, stream)
        return [np.repeat(np.arange(self.k), numbers)[:, None]]

    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        noise = self.protocol.dummies
        if self.protocol.by_users:
            noise = noise.total(users)
        counts = np.bincount(released[:, 0], minlength=self.k)
        values = self.law.frequencies((counts - noise.mean) / users)
        unit = 1.0 / (users * self.law.gap)
        own = self.law.variances(values, users)
        return NoisyEstimate(
            "frequency",
            tuple(names),
            values,
            own + noise.variance * unit**2,
            users,
            noise=noise,
            unit=unit,
            others=np.sqrt(own),
        )


class PairedCollector(_Shuffling):
    """True values among messages for and against every value: rows of a value and a sign."""

    protocol: PairedDummies

    def __init__(self, protocol: PairedDummies, k: int) -> None:
        super().__init__()
        self.protocol, self.k = protocol, k

    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        own = categories(values, self.k)
        number, noise = own.size * self.k, self.protocol.noise
        both = draw(self.protocol.pairs, number, stream)
        rows = [np.stack([own, np.ones_like(own)], axis=1)]
        for sign in (1, -1):
            numbers = both + draw(noise, number, stream)
            fake = np.repeat(np.tile(np.arange(self.k), own.size), numbers)
            rows.append(np.stack([fake, np.full_like(fake, sign)], axis=1))
        return np.concatenate(rows)

    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        left = np.bincount(released[:, 0], weights=released[:, 1], minlength=self.k)
        noise, unit = self.protocol.left(users), 1.0 / users
        values, variances = (
            unit * left.astype(np.float64),
            np.full(self.k, noise.variance * unit**2),
        )
        return NoisyEstimate(
            "frequency", tuple(names), values, variances, users, noise=noise, unit=unit
        )


class ThresholdCollector(_Shuffling):
    """True values of a sample; small counts are dropped before anybody sees them."""

    protocol: SampleThreshold

    def __init__(self, protocol: SampleThreshold, k: int) -> None:
        super().__init__()
        self.protocol, self.k = protocol, k
        exact = Fraction(protocol.rate) * (1 << _BITS)
        if exact.denominator > 1:
            raise ParameterError("rate", f"a multiple of 2^-{_BITS} to be run", protocol.rate)
        self._numerator = int(exact)

    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        own = categories(values, self.k)
        return own[bernoulli(stream, self._numerator, _BITS, own.size)][:, None]

    def release(self, stream: Stream) -> Messages:
        """Counts; 0 where they are not shown."""
        counts = np.bincount(super().release(stream)[:, 0], minlength=self.k)
        drawn = uniform(stream, self.protocol.spread + 1, self.k).astype(np.int64)
        return np.where(counts >= self.protocol.threshold + drawn, counts, 0)

    def _check_users(self) -> None:
        if self.protocol.n is not None and self.users > self.protocol.n:
            raise ParameterError("n", f"at least the {self.users:,} users", self.protocol.n)

    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        """Of a count that is not shown: half of the largest that likely is not."""
        rate = self.protocol.rate
        hidden = _unseen(rate, self.protocol.threshold + self.protocol.spread)
        shown = released > 0
        z = quantile(0.95)
        values = np.where(shown, released / rate, 0.5 * hidden) / users
        spread = (released + 0.5 * z) * (1.0 - rate) / rate**2
        variances = np.where(shown, spread, (0.5 * hidden / z) ** 2) / users**2
        note = (
            ""
            if shown.all()
            else (
                f"{np.count_nonzero(~shown):,} of {self.k:,} counts are not shown: likely below"
                f" {hidden:,.0f}, and given as half of that"
            )
        )
        return Estimate("frequency", tuple(names), values, variances, users, note=note)


def _unseen(rate: float, threshold: int) -> float:
    """A number of users of whom fewer than this report with a chance of 2.5 %, about."""
    deviations = quantile(0.95)

    def likely(users: int) -> bool:
        reports = users * rate
        return reports + 0.5 - threshold >= deviations * math.sqrt(reports * (1.0 - rate))

    most = 16 * math.ceil((threshold + 16) / rate)
    return float(bisect_whole(likely, most, 0).good)


class SplitCollector(_Shuffling):
    """Every number with its noise in several messages, uniform but for their sum."""

    protocol: SplitAndMix

    def __init__(self, protocol: SplitAndMix) -> None:
        super().__init__()
        self.protocol = protocol
        self._inner = SummedShares(protocol, protocol.share)

    def send(self, values: ArrayLike, stream: Stream) -> Messages:
        noisy, sums = self._inner.noisy(values, stream), self.protocol.sums
        modulus, messages = self._modulus, self.protocol.messages
        out = np.empty((noisy.size, messages), np.int64)
        left = noisy.ravel() % modulus
        for place in range(messages - 1):
            out[:, place] = uniform(stream, modulus, noisy.size).astype(np.int64)
            left = (left - out[:, place]) % modulus
        out[:, -1] = left
        which = np.repeat(np.tile(np.arange(sums), len(noisy)), messages)
        return np.stack([which, out.ravel()], axis=1)

    @property
    def _modulus(self) -> int:
        assert self.protocol.modulus is not None
        return self.protocol.modulus

    def estimate(self, released: Messages, users: int, names: Sequence[Any]) -> Estimate:
        modulus, share = self._modulus, self.protocol.share
        expected = share.noise.total(users).mean + 0.5 * users * share.levels
        totals = []
        for which in range(self.protocol.sums):
            parts = released[released[:, 0] == which, 1]
            total = (int((parts >> _HALF).sum()) << _HALF) + int((parts & (1 << _HALF) - 1).sum())
            total %= modulus
            # the representative nearest to what is possible
            turns = round((expected - total) / modulus)
            totals.append(total + turns * modulus)
        return self._inner.estimate(np.array(totals), users, names)


_OF_VALUES: dict[type[Counted], Callable[[Any, int], Collector]] = {
    WithDummies: DummyCollector,
    PairedDummies: PairedCollector,
    SampleThreshold: ThresholdCollector,
}


def collector(protocol: Counted, k: int | None = None) -> Collector:
    """Everybody's part in a protocol.

    Parameters
    ----------
    protocol
        ``Aggregated``, ``SampleThreshold``, ``WithDummies``, ``PairedDummies`` or
        ``SplitAndMix``, of what devices
        really run.
    k
        Number of values, where the protocol does not say it.

    Examples
    --------
    >>> import numpy as np
    >>> from shuffledp import PoissonNoise, WithDummies
    >>> from shuffledp.collection.devices import simulation
    >>> round_ = collector(WithDummies(PoissonNoise(30.0), n=1000), k=4)
    >>> round_.collect(np.repeat([0, 1, 2], [500, 300, 200]), simulation(1))
    >>> round_.run(simulation(2), "abcd").values[:3].round(1).tolist()
    [0.5, 0.3, 0.2]
    """
    if isinstance(protocol, WithDummies | SampleThreshold | PairedDummies):
        if isinstance(protocol, WithDummies) and protocol.randomizer is not None:
            k = protocol.randomizer.k
        if k is None:
            raise ParameterError("k", "given, the number of values", None)
        return _OF_VALUES[type(protocol)](protocol, k)
    if isinstance(protocol, SplitAndMix):
        return SplitCollector(protocol)
    assert isinstance(protocol, Aggregated)
    what = protocol.randomizer
    if isinstance(what, NoiseShare):
        return SummedShares(protocol, what)
    return _of_devices(protocol, what)


def _of_devices(protocol: Aggregated, what: Randomizer) -> Collector:
    machine = device(what)
    if machine.randomizer != what:
        raise ParameterError("randomizer", "what a device runs: actual(randomizer)", str(what))
    if isinstance(machine, Categorical):
        return SummedEncodings(protocol, machine)
    assert isinstance(machine, LaplaceDevice | GaussianDevice)
    return SummedNumbers(protocol, machine)

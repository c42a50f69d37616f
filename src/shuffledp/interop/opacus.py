"""Opacus: an accountant for shuffled Gaussian reports, and an engine that makes such reports.

Opacus adds noise once, to the sum of a minibatch: central noise, which a shuffler does not amplify.
What is accounted for here is another protocol: in each step every one of n users, independently
with probability ``sample_rate``, sends a gradient clipped to a ball plus Gaussian noise of its own,
and a shuffler mixes these reports. :class:`SimulatedShuffleEngine` trains that way; an optimizer
that adds central noise is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from shuffledp import checks
from shuffledp.accounting.bounds.composition import composition
from shuffledp.accounting.protocols import CentralMinibatches, Rounds, Shuffled
from shuffledp.accounting.randomizers import CheckIn, Gaussian
from shuffledp.errors import MissingExtraError, ParameterError, RegimeError

try:
    from opacus import PrivacyEngine
    from opacus.accountants import IAccountant, register_accountant
    from opacus.optimizers import DPOptimizer
except ImportError as error:
    raise MissingExtraError("opacus", "Opacus") from error


class ShuffleAccountant(IAccountant):  # type: ignore[misc]
    """Steps in which users check in and send their own noisy, clipped gradients through a shuffler.

    ``noise_multiplier`` is the deviation of each report's noise in units of the clipping norm.
    Opacus builds accountants without arguments: :func:`shuffle_accountant` makes a class for n
    users.
    """

    n: ClassVar[int]
    sensitivity: ClassVar[float]

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One round, checked before it counts."""
        self._protocol(noise_multiplier, sample_rate)
        last = self.history[-1] if self.history else None
        if last and last[:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, last[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta: float, **_: Any) -> float:
        """The proven upper end for all steps together."""
        if not self.history:
            return 0.0
        rounds = Rounds([(self._protocol(sigma, q), steps) for sigma, q, steps in self.history])
        if rounds.count == 1:
            return rounds.epsilon(delta).upper
        return rounds.bound("composition", delta=delta).value

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name it is registered under."""
        return f"shuffle, n = {cls.n}, sensitivity {cls.sensitivity!r}"

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Called by Opacus before each step; refuses central noise."""

        def hook(optimizer: Any) -> None:
            sigma, batches = float(optimizer.noise_multiplier), optimizer.accumulated_iterations
            if not isinstance(optimizer, LocalNoiseOptimizer):
                batch = round(sample_rate * self.n * batches)
                Rounds([CentralMinibatches(sigma, batch, self.n)])
            for _ in range(batches):
                self.step(noise_multiplier=sigma, sample_rate=sample_rate)

        return hook

    def _protocol(self, noise_multiplier: float, sample_rate: float) -> Shuffled:
        report = Gaussian(noise_multiplier, self.sensitivity, ball=True)
        return Shuffled(report if sample_rate == 1 else CheckIn(report, sample_rate), self.n)


@cache
def shuffle_accountant(n: int, sensitivity: float = 2.0) -> type[ShuffleAccountant]:
    """The accountant of n users, registered with Opacus under its ``mechanism()``.

    ``sensitivity`` is how far two reports can be apart in units of the clipping norm: 2, the
    diameter of the ball, when one user's data are replaced.
    """

    class Accountant(ShuffleAccountant):
        pass

    Accountant.n = checks.count("n", n)
    Accountant.sensitivity = checks.positive("sensitivity", sensitivity)
    register_accountant(Accountant.mechanism(), Accountant, force=True)
    return Accountant


class LocalNoiseOptimizer(DPOptimizer):  # type: ignore[misc]
    """Every clipped gradient carries its own noise,
    so the noise of a sum grows with its reports."""

    noise_multiplier: float
    _reports = 0

    def clip_and_accumulate(self) -> None:
        self._reports += len(self.grad_samples[0])
        super().clip_and_accumulate()

    def add_noise(self) -> None:
        """The noises of all reports, summed: a normal variable again."""
        each = self.noise_multiplier
        self.noise_multiplier = each * math.sqrt(self._reports)
        try:
            super().add_noise()
        finally:
            self.noise_multiplier, self._reports = each, 0


class SimulatedShuffleEngine(PrivacyEngine):  # type: ignore[misc]
    """``PrivacyEngine`` for shuffled Gaussian reports: each record of the data set is a user.

    A simulation: one process sees all data, and noise comes from PyTorch's generator. The epsilon
    is that of devices which do the same for themselves, behind a shuffler.

    Parameters
    ----------
    n
        Number of users.
    sensitivity
        Largest distance of two clipped gradients over the clipping norm.
    secure_mode
        As Opacus.
    """

    def __init__(self, *, n: int, sensitivity: float = 2.0, secure_mode: bool = False) -> None:
        super().__init__(
            accountant=shuffle_accountant(n, sensitivity).mechanism(), secure_mode=secure_mode
        )

    def make_private(self, *, data_loader: Any, poisson_sampling: bool = True, **given: Any) -> Any:
        """As Opacus; Poisson sampling is users checking in. Without it all users must report."""
        users = len(data_loader.dataset)
        if users != self.accountant.n:
            raise ParameterError("data_loader", f"of n = {self.accountant.n} users", users)
        if not poisson_sampling and len(data_loader) != 1:
            raise RegimeError(
                "Poisson sampling (users check in), or one batch of all users: batches of a fixed"
                " partition are neither",
                f"{len(data_loader)} batches",
                composition.theorem.id,
            )
        return super().make_private(
            data_loader=data_loader, poisson_sampling=poisson_sampling, **given
        )

    def _prepare_optimizer(self, **given: Any) -> Any:
        plain = super()._prepare_optimizer(**given)
        if type(plain) is not DPOptimizer:
            raise ParameterError(
                "clipping", "'flat', on one machine, with grad_sample_mode='hooks'", type(plain)
            )
        return LocalNoiseOptimizer(
            plain.original_optimizer,
            noise_multiplier=plain.noise_multiplier,
            max_grad_norm=plain.max_grad_norm,
            expected_batch_size=plain.expected_batch_size,
            loss_reduction=plain.loss_reduction,
            generator=plain.generator,
            secure_mode=plain.secure_mode,
        )

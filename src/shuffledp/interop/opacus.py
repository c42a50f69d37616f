"""Opacus: engines and accountants for shuffled Gaussian reports, and for random allocation.

Opacus adds noise once, to the sum of a minibatch: central noise, which a shuffler does not amplify.
What is accounted for here is another protocol: in each step every one of n users, independently
with probability ``sample_rate``, sends a gradient clipped to a ball plus Gaussian noise of its own,
and a shuffler mixes these reports. :class:`SimulatedShuffleEngine` trains that way; an optimizer
that adds central noise is refused.

:class:`AllocationEngine` trains in the centre, with batches drawn by random allocation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

from shuffledp import checks
from shuffledp.accounting.bounds.composition import composition
from shuffledp.accounting.protocols import RandomAllocation, Rounds, Shuffled
from shuffledp.accounting.randomizers import CheckIn, Gaussian
from shuffledp.errors import MissingExtraError, ParameterError, RegimeError

try:
    import torch
    from opacus import PrivacyEngine
    from opacus.accountants import IAccountant, register_accountant
    from opacus.data_loader import dtype_safe, shape_safe, wrap_collate_with_empty
    from opacus.optimizers import DPOptimizer
except ImportError as error:
    raise MissingExtraError("opacus", "Opacus") from error


_CENTRAL = (
    "noise on each report, before the shuffle: minibatches of shuffled data are not Poisson samples"
    " (and noise added once to their sums is not amplified). Draw them by random allocation"
    " (AllocationEngine), or sample by Poisson and use Opacus' own accountants; CentralMinibatches"
    " says what shuffled batches leak"
)


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
                raise RegimeError(_CENTRAL, "central noise", composition.theorem.id)
            for _ in range(batches):
                self.step(noise_multiplier=sigma, sample_rate=sample_rate)

        return hook

    def _protocol(self, noise_multiplier: float, sample_rate: float) -> Shuffled:
        # clipped gradients fill a ball of diameter 2; who says they are closer knows no ball
        ball = self.sensitivity >= 2.0
        report = Gaussian(noise_multiplier, self.sensitivity, ball=ball)
        return Shuffled(report if sample_rate == 1 else CheckIn(report, sample_rate), self.n)


@cache
def shuffle_accountant(n: int, sensitivity: float = 2.0) -> type[ShuffleAccountant]:
    """The accountant of n users, registered with Opacus under its ``mechanism()``.

    ``sensitivity`` is how far two reports can be apart in units of the clipping norm: 2, the
    diameter of the ball of clipped gradients, when one user's data are replaced. If it is smaller,
    no two gradients of any users are farther apart, and no ball is assumed.
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
        Largest distance of two clipped gradients, of any users, over the clipping norm: 2, the
        diameter of the ball they are clipped to; less assumes no ball.
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


class AllocationAccountant(IAccountant):  # type: ignore[misc]
    """Epochs in which every example joins one step drawn at random; central noise.

    An epoch counts as soon as its batches are drawn, whole even if it is left before its end.
    ``history`` has one (least noise multiplier, 1/steps, steps taken) for each epoch.
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def begin(self, steps: int) -> None:
        """The batches of an epoch have been drawn."""
        self.history.append((math.inf, 1.0 / checks.count("steps", steps), 0))

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One step of the epoch that began last."""
        steps = round(1.0 / sample_rate)
        RandomAllocation(noise_multiplier, steps)
        sigma, rate, taken = self.history[-1] if self.history else (math.inf, math.nan, 0)
        if not math.isclose(rate, sample_rate, rel_tol=1e-9) or taken == steps:
            raise RegimeError(
                "one step for each batch of the loader that AllocationEngine makes",
                f"step {taken + 1} of an epoch of {steps} steps",
                composition.theorem.id,
            )
        self.history[-1] = (min(sigma, noise_multiplier), rate, taken + 1)

    def get_epsilon(self, delta: float, **_: Any) -> float:
        """The proven upper end for all epochs together, an example added or removed."""
        least = min((sigma for sigma, _, _ in self.history), default=math.inf)
        if math.isinf(least):
            return 0.0
        epochs = [
            RandomAllocation(least if math.isinf(sigma) else sigma, round(1.0 / rate))
            for sigma, rate, _ in self.history
        ]
        return Rounds(epochs).guaranteed(delta=delta).value

    def __len__(self) -> int:
        return sum(taken for _, _, taken in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name it is registered under."""
        return "random allocation"

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Called by Opacus before each step."""

        def hook(optimizer: Any) -> None:
            if optimizer.accumulated_iterations != 1:
                raise RegimeError(
                    "a step for each batch, not for several",
                    f"{optimizer.accumulated_iterations} batches",
                    composition.theorem.id,
                )
            self.step(noise_multiplier=float(optimizer.noise_multiplier), sample_rate=sample_rate)

        return hook


register_accountant(AllocationAccountant.mechanism(), AllocationAccountant, force=True)


class AllocationSampler:
    """Batches of one epoch after another: every example in one of ``steps`` batches.

    Parameters
    ----------
    n
        Examples.
    steps
        Batches of an epoch, some of them possibly empty.
    begin
        Told the number of steps whenever an epoch is drawn.
    generator
        Of PyTorch; its default one unless given.
    """

    def __init__(
        self,
        n: int,
        steps: int,
        begin: Callable[[int], None] | None = None,
        generator: Any = None,
    ) -> None:
        self.n, self.steps = checks.count("n", n), checks.count("steps", steps)
        self._begin, self._generator = begin, generator

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[int]]:
        place = torch.randint(self.steps, (self.n,), generator=self._generator)
        if self._begin is not None:
            self._begin(self.steps)
        order = torch.argsort(place, stable=True)
        sizes = torch.bincount(place, minlength=self.steps)
        for batch in torch.split(order, sizes.tolist()):
            yield batch.tolist()


class AllocationEngine(PrivacyEngine):  # type: ignore[misc]
    """``PrivacyEngine`` whose batches are drawn by random allocation, accounted for exactly.

    The loader it returns has as many batches as the one it gets; each example is in one of them.
    ``get_epsilon`` is proven for an example added or removed. Noise and batches come from PyTorch's
    generators, which are no cryptographic ones unless ``secure_mode``.

    Parameters
    ----------
    secure_mode
        As Opacus.
    """

    def __init__(self, *, secure_mode: bool = False) -> None:
        super().__init__(accountant=AllocationAccountant.mechanism(), secure_mode=secure_mode)

    def make_private(self, *, poisson_sampling: bool = True, **given: Any) -> Any:
        """As Opacus, without Poisson sampling (and without ``poisson_sampling=False``)."""
        if not poisson_sampling:
            raise ParameterError("poisson_sampling", "left out: batches are drawn anew", False)
        return super().make_private(poisson_sampling=True, **given)

    def _prepare_data_loader(
        self,
        data_loader: Any,
        *,
        poisson_sampling: bool,
        distributed: bool,
        batch_first: bool = True,
        rand_on_empty: bool = False,
    ) -> Any:
        if distributed:
            raise ParameterError("module", "on one machine", "a distributed one")
        self.dataset, data = data_loader.dataset, data_loader.dataset
        return torch.utils.data.DataLoader(
            data,
            batch_sampler=AllocationSampler(
                len(data), len(data_loader), self.accountant.begin, self.secure_rng
            ),
            collate_fn=wrap_collate_with_empty(
                collate_fn=data_loader.collate_fn,
                batch_first=batch_first,
                rand_on_empty=rand_on_empty,
                sample_empty_shapes=[(0, *shape_safe(x)) for x in data[0]],
                dtypes=[dtype_safe(x) for x in data[0]],
            ),
            num_workers=data_loader.num_workers,
            pin_memory=data_loader.pin_memory,
        )

"""Shuffled check-in with Gaussian reports: section 5.2 of Liew, Takahashi 2023."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from shuffledp import checks
from shuffledp.training.accounting import CheckInRounds
from shuffledp.training.data import Array
from shuffledp.training.gradients import Loss, cross_entropy, step
from shuffledp.training.noise import gaussian_grid
from shuffledp.training.trainer import Trainer

_REPORTS_AT_ONCE = 256
_BELOW_0 = math.nextafter(0.0, -1.0)


class CheckInTrainer(Trainer):
    """Every client holds one sample and reports, each round, with some probability.

    A report is the clipped gradient plus normal noise; the server sees the reports in random order
    and averages them. A round in which nobody checks in changes nothing and counts all the same.

    Parameters
    ----------
    model, inputs, labels, loss
        Any PyTorch module, the private samples, one per client, and what is minimised.
    sigma, clip
        Noise of deviation sigma * clip on gradients clipped to l2 norm ``clip``.
    rate, rounds
        Probability of a report, and how many rounds there are.
    learning_rate, momentum
        The length of a step, and the share of the last one that is made again, which costs no
        privacy.
    delta
        Where epsilon is accounted; 1 over the number of clients unless given.
    simulation, seed
        Whether the noise of all reports is one draw of their sum, which has the same law, and
        repeats; otherwise each report gets its own.
    """

    name = "check-in"

    def __init__(
        self,
        model: nn.Module,
        inputs: Array | Tensor,
        labels: Array | Tensor,
        *,
        sigma: float,
        rate: float,
        rounds: int,
        clip: float = 0.01,
        learning_rate: float = 1.0,
        momentum: float = 0.0,
        delta: float | None = None,
        loss: Loss = cross_entropy,
        simulation: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            model,
            inputs,
            labels,
            clip=clip,
            norm="l2",
            learning_rate=learning_rate,
            loss=loss,
            simulation=simulation,
            seed=seed,
        )
        clients = len(self.inputs)
        self.sigma, self.releases = checks.positive("sigma", sigma), checks.count("rounds", rounds)
        self.momentum = checks.real("momentum", momentum, "a number in [0, 1)", _BELOW_0, 1.0)
        self.rate = checks.real("rate", rate, "a number in (0, 1]", 0.0, math.nextafter(1.0, 2.0))
        self.account = CheckInRounds(
            sigma=self.sigma,
            clients=clients,
            rate=self.rate,
            delta=checks.probability("delta", 1.0 / clients if delta is None else delta),
        )
        # refused now, from public numbers, or never
        gaussian_grid(_REPORTS_AT_ONCE * self.gradients.size, self.sigma * clip, 2.0 * clip)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "algorithm": self.name,
            "samples": len(self.inputs),
            "parameters": self.gradients.size,
            "sigma": self.sigma,
            "rate": self.rate,
            "rounds": self.releases,
            "clip": self.gradients.bound,
            "learning_rate": self.learning_rate,
            **({"momentum": self.momentum} if self.momentum else {}),
            "delta": self.account.delta,
            "simulation": self.simulation,
        }

    def release(self) -> None:
        present = torch.from_numpy(self.randomness.coins(len(self.inputs), self.rate)).nonzero()
        if len(present) == 0:
            return
        reporting = present.flatten()
        total = self._simulated(reporting) if self.simulation else self._reported(reporting)
        direction = total / len(reporting)
        if self.momentum:
            if self.velocity is not None:
                direction += self.momentum * self.velocity
            self.velocity = direction
        step(self.model, direction, self.learning_rate)

    def _simulated(self, reporting: Tensor) -> Tensor:
        everybody = len(reporting) == len(self.inputs)
        chosen = slice(None) if everybody else reporting
        total = self.gradients.total(self.inputs[chosen], self.labels[chosen])
        deviation = self.sigma * self.gradients.bound * math.sqrt(len(reporting))
        return self.randomness.gaussian(total, deviation, 2.0 * self.gradients.bound)

    def _reported(self, reporting: Tensor) -> Tensor:
        """Each client's own noise; a sum does not depend on the order the shuffler gives it."""
        clip = self.gradients.bound
        total = torch.zeros(self.gradients.size, dtype=torch.float64)
        for at in range(0, len(reporting), _REPORTS_AT_ONCE):
            part = reporting[at : at + _REPORTS_AT_ONCE]
            clean = self.gradients.reports(self.inputs[part], self.labels[part])
            noisy = self.randomness.gaussian(clean, self.sigma * clip, 2.0 * clip)
            total += noisy.sum(dim=0)
        return total

"""Shuffled noisy SGD: Algorithm 1 of Chen, Cao, Ge 2024."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.training.accounting import Epochs
from shuffledp.training.data import Array
from shuffledp.training.gradients import Loss, cross_entropy, step
from shuffledp.training.noise import laplace_grid
from shuffledp.training.trainer import Trainer


class ShuffledSGD(Trainer):
    """m blocks of samples; each epoch visits them in a fresh secret order, one noisy step each.

    A step is the sum of the block's gradients, each clipped, over ``blocks``, plus Laplace noise.

    Parameters
    ----------
    model, inputs, labels, loss
        Any PyTorch module, the private samples, and what is minimised.
    eps0
        Local budget of a visit; None trains without noise and without a guarantee (simulation
        only).
    blocks, epochs
        How many there are.
    unit
        "sample" is the algorithm as printed: the noise hides one sample, and shuffling adds nothing
        to that. "client" makes the noise hide a whole block, so that blocks are eps0-LDP clients
        and shuffling amplifies.
    clip, learning_rate
        The l1 norm that gradients are clipped to, and the length of a step.
    delta
        Where epsilon is accounted.
    simulation, seed
        Whether randomness repeats, and from where: then nobody is protected.
    """

    name = "shuffled-sgd"

    def __init__(
        self,
        model: nn.Module,
        inputs: Array | Tensor,
        labels: Array | Tensor,
        *,
        eps0: float | None,
        blocks: int,
        epochs: int,
        unit: Literal["sample", "client"],
        clip: float = 10.0,
        learning_rate: float = 0.05,
        delta: float = 1e-5,
        loss: Loss = cross_entropy,
        simulation: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            model,
            inputs,
            labels,
            clip=clip,
            norm="l1",
            learning_rate=learning_rate,
            loss=loss,
            simulation=simulation,
            seed=seed,
        )
        if unit not in ("sample", "client"):
            raise ParameterError("unit", "'sample' or 'client'", unit)
        if eps0 is None and not simulation:
            raise ParameterError("eps0", "given, or simulation=True", eps0)
        self.blocks = checks.count("blocks", blocks)
        if self.blocks > len(self.inputs):
            raise ParameterError("blocks", f"at most {len(self.inputs)}, the samples", blocks)
        self.releases, self.unit = checks.count("epochs", epochs), unit
        self.eps0 = None if eps0 is None else checks.positive("eps0", eps0)
        self._members = [
            torch.from_numpy(part)
            for part in np.array_split(np.arange(len(self.inputs)), self.blocks)
        ]
        self.account = Epochs(
            eps0=np.inf if self.eps0 is None else self.eps0,
            blocks=self.blocks,
            unit=unit,
            delta=checks.probability("delta", delta),
        )
        if self.eps0 is not None:  # refused now, from public numbers, or never
            laplace_grid(self.gradients.size, self.sensitivity, self.eps0)

    @property
    def sensitivity(self) -> float:
        """How far, in l1, one sample or one client can move a step,
        rounding of the sum included."""
        largest = max(len(part) for part in self._members)
        hidden = 1 if self.unit == "sample" else largest
        return 2.0 * self.gradients.bound * (hidden + largest**2 / 2.0**52) / self.blocks

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "algorithm": self.name,
            "samples": len(self.inputs),
            "parameters": self.gradients.size,
            "eps0": self.eps0,
            "blocks": self.blocks,
            "epochs": self.releases,
            "unit": self.unit,
            "clip": self.gradients.bound,
            "learning_rate": self.learning_rate,
            "delta": self.account.delta,
            "simulation": self.simulation,
        }

    def release(self) -> None:
        for block in self.randomness.permutation(self.blocks):
            members = self._members[block]
            direction = self.gradients.total(self.inputs[members], self.labels[members])
            direction = direction / self.blocks
            if self.eps0 is not None:
                direction = self.randomness.laplace(direction, self.sensitivity, self.eps0)
            step(self.model, direction, self.learning_rate)

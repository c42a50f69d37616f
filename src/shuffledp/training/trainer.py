"""What the two trainers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from shuffledp import checks
from shuffledp.errors import ParameterError, TrainingError
from shuffledp.training.accounting import Account
from shuffledp.training.data import Array
from shuffledp.training.gradients import ClippedGradients, Loss, Norm
from shuffledp.training.noise import Randomness, Secure, Simulated

_LARGEST_SUM = 1e300


class Trainer(ABC):
    """A model, data that stays private, and releases computed from both, one after the other."""

    name: str
    account: Account
    releases: int
    """How many will be made."""
    velocity: Tensor | None = None
    """The last step, where the next one keeps a share of it."""

    def __init__(
        self,
        model: nn.Module,
        inputs: Array | Tensor,
        labels: Array | Tensor,
        *,
        clip: float,
        norm: Norm,
        learning_rate: float,
        loss: Loss,
        simulation: bool,
        seed: int | None,
    ) -> None:
        if simulation == (seed is None):
            raise ParameterError("seed", "given with simulation=True and only then", seed)
        self.randomness: Randomness = Secure() if seed is None else Simulated(seed)
        self.model, self.loss = model, loss
        self.inputs, self.labels = torch.as_tensor(inputs), torch.as_tensor(labels)
        if len(self.inputs) != len(self.labels) or len(self.inputs) == 0:
            shapes = f"{tuple(self.inputs.shape)}, {tuple(self.labels.shape)}"
            raise ParameterError("inputs", "samples with one label each", shapes)
        self.learning_rate = checks.positive("learning_rate", learning_rate)
        self.gradients = ClippedGradients(model, clip, norm, loss, precise=not simulation)
        if self.gradients.bound * len(self.inputs) > _LARGEST_SUM:
            most = _LARGEST_SUM / len(self.inputs)
            raise ParameterError("clip", f"at most {most:.3g}, so that no sum overflows", clip)

    @property
    def simulation(self) -> bool:
        """Whether noise comes from a seeded generator."""
        return self.randomness.simulation

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """All that a resumed run must share with the one it resumes."""

    @abstractmethod
    def release(self) -> None:
        """Make the next release: all steps of an epoch, or one round."""


def accuracy(
    model: nn.Module, inputs: Array | Tensor, labels: Array | Tensor, loss: Loss
) -> tuple[float, float]:
    """Share of right answers and mean loss, on data that may be looked at."""
    right, total, count = 0, 0.0, len(inputs)
    training = model.training
    model.eval()
    with torch.no_grad():
        for at in range(0, count, 2000):
            targets = torch.as_tensor(labels[at : at + 2000])
            outputs = model(torch.as_tensor(inputs[at : at + 2000]))
            right += int((outputs.argmax(dim=1) == targets).sum())
            total += float(loss(outputs, targets).sum())
    model.train(training)
    if not np.isfinite(total):
        raise TrainingError(
            "Training diverged: the loss on the test data is not finite. Lower the learning rate."
        )
    return right / count, total / count


def use_threads(count: int) -> None:
    """How many threads PyTorch computes with."""
    torch.set_num_threads(checks.count("threads", count))

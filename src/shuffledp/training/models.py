"""The papers' networks, and the simplest one."""

from __future__ import annotations

import torch
from torch import nn


def linear(inputs: int, classes: int) -> nn.Linear:
    """Logistic regression, from zero."""
    layer = nn.Linear(inputs, classes)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def perceptron(inputs: int, hidden: int, classes: int, seed: int = 0) -> nn.Sequential:
    """One hidden layer with ReLU; softmax is part of the loss."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, classes))


def small_convolutional(classes: int = 10, seed: int = 0) -> nn.Sequential:
    """Few parameters (3,946), so that little noise is added: for noise on every device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(256, classes),
        )


def convolutional(classes: int = 10, seed: int = 0) -> nn.Sequential:
    """The small network customary for private MNIST (26,010 parameters; Papernot et al. 2021)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(1, 16, 8, stride=2, padding=3),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=1),
            nn.Conv2d(16, 32, 4, stride=2),
            nn.ReLU(),
            nn.MaxPool2d(2, stride=1),
            nn.Flatten(),
            nn.Linear(512, 32),
            nn.ReLU(),
            nn.Linear(32, classes),
        )

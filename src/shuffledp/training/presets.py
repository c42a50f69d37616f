"""The papers' settings by name, and small ones for a first look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from shuffledp.errors import ParameterError
from shuffledp.training.adult import adult
from shuffledp.training.check_in import CheckInTrainer
from shuffledp.training.data import Dataset, mnist
from shuffledp.training.models import convolutional, linear, perceptron, small_convolutional
from shuffledp.training.shuffled_sgd import ShuffledSGD
from shuffledp.training.trainer import Trainer

DATA: dict[str, Callable[[], Dataset]] = {"mnist": mnist, "adult": adult}
"""Data sets that are fetched by name."""


@dataclass(frozen=True)
class Preset:
    """Options of a trainer, which data it wants, how often to look."""

    algorithm: str
    title: str
    network: str
    options: dict[str, Any]
    data: str = "mnist"
    samples: int | None = None
    components: int | None = None
    orientations: int | None = None
    """Of the wavelets, where pictures become fixed features."""
    every: int = 1

    def prepare(self, data: Dataset) -> Dataset:
        """The first samples, as fixed features, or as principal components where the paper has
        them."""
        if self.samples is not None:
            test = min(len(data.test_inputs), self.samples)
            data = data.first(min(self.samples, len(data.train_inputs)), test)
        if self.orientations is not None:
            data = data.scattering(self.orientations)
        return data if self.components is None else data.principal_components(self.components)

    def trainer(self, data: Dataset, seed: int | None, **changes: Any) -> Trainer:
        """The trainer with these settings; a seed makes it a simulation."""
        options = {**self.options, **{k: v for k, v in changes.items() if v is not None}}
        model = NETWORKS[self.network](data)
        given = {"simulation": seed is not None, "seed": seed}
        make: Any = ShuffledSGD if self.algorithm == "shuffled-sgd" else CheckInTrainer
        trainer: Trainer = make(model, data.train_inputs, data.train_labels, **options, **given)
        return trainer


def _hidden(size: int) -> Callable[[Dataset], nn.Module]:
    def build(data: Dataset) -> nn.Module:
        return perceptron(int(data.train_inputs[0].size), size, data.classes)

    def flattened(data: Dataset) -> nn.Module:
        return nn.Sequential(nn.Flatten(), *build(data).children())

    return lambda data: build(data) if data.train_inputs.ndim == 2 else flattened(data)


def _pictures(network: Callable[[int], nn.Module]) -> Callable[[Dataset], nn.Module]:
    def build(data: Dataset) -> nn.Module:
        if data.train_inputs.shape[1:] != (1, 28, 28):
            shape = "x".join(map(str, data.train_inputs.shape[1:]))
            raise ParameterError("network", "a perceptron unless pictures are 1x28x28", shape)
        return network(data.classes)

    return build


def _linear(data: Dataset) -> nn.Module:
    return nn.Sequential(nn.Flatten(), linear(int(data.train_inputs[0].size), data.classes))


NETWORKS: dict[str, Callable[[Dataset], nn.Module]] = {
    "linear": _linear,
    **{f"perceptron-{size}": _hidden(size) for size in (8, 16, 24, 32, 48, 100)},
    "convolutional": _pictures(convolutional),
    "convolutional-small": _pictures(small_convolutional),
}

_CHEN = {"clip": 10.0, "learning_rate": 0.05, "epochs": 50, "delta": 1e-5}
_CHEN_TITLE = "Chen, Cao, Ge 2024, Table 2"

PRESETS: dict[str, Preset] = {
    "chen-2024-m300": Preset(
        "shuffled-sgd",
        f"{_CHEN_TITLE}, first version: 300 blocks",
        "perceptron-16",
        {**_CHEN, "blocks": 300, "eps0": 2.0, "unit": "sample"},
        components=60,
    ),
    "chen-2024-m100": Preset(
        "shuffled-sgd",
        f"{_CHEN_TITLE}, final version: 100 blocks",
        "perceptron-16",
        {**_CHEN, "blocks": 100, "eps0": 2.0, "unit": "sample"},
        components=60,
    ),
    "small-sgd": Preset(
        "shuffled-sgd",
        "6,000 images, 20 blocks, 20 epochs: seconds",
        "perceptron-16",
        {
            "clip": 10.0,
            "learning_rate": 0.02,
            "epochs": 20,
            "delta": 1e-5,
            "blocks": 20,
            "eps0": 2.0,
            "unit": "sample",
        },
        samples=6000,
        components=20,
    ),
    "liew-2023": Preset(
        "check-in",
        "Liew, Takahashi 2023, section 5.2: 60,000 clients, 5,540 rounds (half an hour)",
        "convolutional-small",
        {
            "sigma": 5.0,
            "rate": 0.1,
            "rounds": 5540,
            "clip": 0.01,
            "learning_rate": 4.0,
        },
        every=50,
    ),
    "scattering": Preset(
        "check-in",
        "60,000 clients, logistic regression on fixed features: 1,000 rounds (minutes)",
        "linear",
        {
            "sigma": 1.75,
            "rate": 1.0,
            "rounds": 1000,
            "clip": 0.3,
            "learning_rate": 2.0,
            "momentum": 0.9,
        },
        orientations=4,
        every=100,
    ),
    "adult-sgd": Preset(
        "shuffled-sgd",
        "Adult: 32,561 people in 100 blocks, 20 epochs: seconds",
        "perceptron-16",
        {
            "clip": 1.0,
            "learning_rate": 1.0,
            "epochs": 20,
            "delta": 1e-5,
            "blocks": 100,
            "eps0": 2.0,
            "unit": "sample",
        },
        data="adult",
    ),
    "adult-check-in": Preset(
        "check-in",
        "Adult: 32,561 clients, logistic regression, 1,000 rounds: seconds",
        "linear",
        {
            "sigma": 2.5,
            "rate": 1.0,
            "rounds": 1000,
            "clip": 1.0,
            "learning_rate": 0.3,
            "momentum": 0.9,
        },
        data="adult",
        every=100,
    ),
    "small-check-in": Preset(
        "check-in",
        "20,000 clients, 120 rounds of a small network: seconds in a simulation, else minutes",
        "perceptron-16",
        {"sigma": 4.0, "rate": 0.5, "rounds": 120, "clip": 1.0, "learning_rate": 1.0},
        samples=20_000,
        components=20,
        every=20,
    ),
}

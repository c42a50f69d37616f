"""The sum of per-sample gradients, each clipped, without a loop over samples.

A sequence of well-known layers with cross-entropy gets explicit formulas: the gradient of a linear
layer is an outer product, whose norm is the product of two norms and which need not be formed; that
of a convolution is one small matrix product per sample. Any other module goes through vmap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from shuffledp import checks
from shuffledp.errors import ParameterError, TrainingError

Norm = Literal["l1", "l2"]
Loss = Callable[[Tensor, Tensor], Tensor]
"""(outputs, labels) -> one loss per sample."""

_SAMPLEWISE = (
    nn.ReLU,
    nn.Tanh,
    nn.Sigmoid,
    nn.ELU,
    nn.GELU,
    nn.LeakyReLU,
    nn.Softplus,
    nn.Identity,
    nn.Flatten,
    nn.MaxPool2d,
    nn.AvgPool2d,
)
"""Layers without parameters that treat every sample by itself."""
_MIXES_SAMPLES = (nn.modules.batchnorm._BatchNorm,)
_NUMBERS_AT_ONCE = 16_000_000
"""Per-sample gradient entries held at a time: bounds memory."""


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """One loss per sample; 0, with gradient 0, where a label names no output."""
    outside = (labels < 0) | (labels >= outputs.shape[1])
    losses = nn.functional.cross_entropy(
        outputs, torch.where(outside, torch.zeros_like(labels), labels), reduction="none"
    )
    return torch.where(outside, torch.zeros_like(losses), losses)


class ClippedGradients:
    """Sums and reports of clipped per-sample gradients of one model.

    A sample whose gradient is not finite counts as zero: stopping would tell that it is there.
    ``precise`` sums in double precision: the trainers' noise covers what rounding then adds.
    """

    def __init__(
        self,
        model: nn.Module,
        bound: float,
        norm: Norm,
        loss: Loss = cross_entropy,
        precise: bool = True,
    ) -> None:
        check_model(model)
        if norm not in ("l1", "l2"):
            raise ParameterError("norm", "'l1' or 'l2'", norm)
        self.model, self.loss, self.precise = model, loss, precise
        self.bound, self.order = checks.positive("clip", bound), 1 if norm == "l1" else 2
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.size = sum(p.numel() for p in self.parameters)
        self.explicit = loss is cross_entropy and _explicit(model)
        if self.explicit:
            _lay_out(model)

    def total(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """The sum of clipped gradients, as one vector (double precision if ``precise``)."""
        total = torch.zeros(self.size, dtype=self._dtype)
        for part, targets in self._parts(inputs, labels):
            if self.explicit and self._as_expected(part):
                total += self._explicit_total(part, targets)
            else:
                total += self.reports(part, targets).sum(dim=0)
        return total

    def reports(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """The clipped gradient of every sample, one row each."""

        def one(parameters: dict[str, Tensor], sample: Tensor, label: Tensor) -> Tensor:
            outputs = functional_call(self.model, parameters, (sample.unsqueeze(0),))
            return self.loss(outputs, label.unsqueeze(0)).sum()

        trained = {n: p.detach() for n, p in self.model.named_parameters() if p.requires_grad}
        per_sample = vmap(grad(one), in_dims=(None, 0, 0), randomness="different")
        gradients = per_sample(trained, inputs, labels)
        rows = torch.cat([g.flatten(1) for g in gradients.values()], dim=1)
        norms = torch.linalg.vector_norm(rows, self.order, dim=1, dtype=self._dtype)
        return _scaled(rows.to(self._dtype), self._factors(norms))

    @property
    def _dtype(self) -> torch.dtype:
        return torch.float64 if self.precise else torch.float32

    def _parts(self, inputs: Tensor, labels: Tensor) -> list[tuple[Tensor, Tensor]]:
        rows = max(1, _NUMBERS_AT_ONCE // self.size)
        return [
            (inputs[at : at + rows], labels[at : at + rows]) for at in range(0, len(inputs), rows)
        ]

    def _as_expected(self, inputs: Tensor) -> bool:
        """Whether linear layers see one vector per sample and others pictures, as formulas need."""
        first = _first_shaped(self.model)
        return isinstance(first, nn.Flatten) or inputs.ndim == (
            2 if type(first) is nn.Linear else 4
        )

    def _factors(self, norms: Tensor) -> Tensor:
        """min(1, bound / norm), and 0 where the norm is not finite."""
        factors = self.bound / norms.clamp(min=self.bound)
        return torch.where(torch.isfinite(norms), factors, torch.zeros_like(factors))

    def _explicit_total(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Forward layer by layer, one backward pass to the layers' outputs, then the formulas."""
        seen: list[tuple[nn.Linear | nn.Conv2d, Tensor, Tensor]] = []
        pictures = inputs.ndim == 4
        values = inputs.contiguous(memory_format=torch.channels_last) if pictures else inputs
        for layer in _layers(self.model):
            if isinstance(layer, nn.Linear | nn.Conv2d):
                before, values = values, layer(values)
                seen.append((layer, before.detach(), values))
            else:
                values = layer(values)
        total = self.loss(values, labels).sum()
        slopes = torch.autograd.grad(total, [after for _, _, after in seen])
        with torch.no_grad():
            layers = [
                _Outer(layer, before, slope.to(self._dtype))
                if isinstance(layer, nn.Linear)
                else _Convolved(layer, before, slope, self._dtype)
                for (layer, before, _), slope in zip(seen, slopes, strict=True)
            ]
            powers = torch.stack([each.power(self.order) for each in layers]).sum(dim=0)
            factors = self._factors(powers if self.order == 1 else powers.sqrt())
            return torch.cat([part.flatten() for each in layers for part in each.weighted(factors)])


class _Outer:
    """Gradients of a linear layer: slope times input, sample by sample."""

    def __init__(self, layer: nn.Linear, before: Tensor, slope: Tensor) -> None:
        self.before, self.slope, self.bias = before.to(slope.dtype), slope, layer.bias is not None

    def power(self, order: int) -> Tensor:
        inner: Tensor = torch.linalg.vector_norm(self.before, order, dim=1)
        outer: Tensor = torch.linalg.vector_norm(self.slope, order, dim=1)
        return (inner.pow(order) + float(self.bias)) * outer.pow(order)

    def weighted(self, factors: Tensor) -> list[Tensor]:
        slope = _scaled(self.slope, factors)
        total = slope.T @ _finite(self.before, factors)
        return [total, slope.sum(dim=0)] if self.bias else [total]


class _Convolved:
    """Gradients of a convolution: slope times patches of the input, summed over places."""

    def __init__(self, layer: nn.Conv2d, before: Tensor, slope: Tensor, dtype: torch.dtype) -> None:
        self.layer = layer
        flat = slope.flatten(2)
        rows = [torch.bmm(flat, _patches(layer, before)).flatten(1)]
        if layer.bias is not None:
            rows.append(flat.sum(dim=2))
        self.rows = [row.to(dtype) for row in rows]

    def power(self, order: int) -> Tensor:
        parts = [torch.linalg.vector_norm(row, order, dim=1) ** order for row in self.rows]
        return torch.stack(parts).sum(dim=0)

    def weighted(self, factors: Tensor) -> list[Tensor]:
        weight, *bias = (factors @ _finite(row, factors) for row in self.rows)
        height, width = self.layer.kernel_size
        shape = (self.layer.out_channels, height, width, self.layer.in_channels)
        return [weight.view(shape).permute(0, 3, 1, 2), *bias]


def _patches(layer: nn.Conv2d, before: Tensor) -> Tensor:
    """What the kernel sees: one row per place; columns run over kernel places, then channels."""
    assert not isinstance(layer.padding, str)
    (top, left), (down, right) = layer.padding, layer.stride
    padded = nn.functional.pad(before, (left, left, top, top))
    padded = padded.contiguous(memory_format=torch.channels_last)
    samples, channels, _, _ = padded.shape
    sample, channel, row, column = padded.stride()
    (height, width), (apart, aside) = layer.kernel_size, layer.dilation
    places = [
        (size - spread * (kernel - 1) - 1) // stride + 1
        for size, kernel, spread, stride in zip(
            padded.shape[2:], layer.kernel_size, layer.dilation, layer.stride, strict=True
        )
    ]
    windows = padded.as_strided(
        (samples, *places, height, width, channels),
        (sample, down * row, right * column, apart * row, aside * column, channel),
    )
    return windows.reshape(samples, places[0] * places[1], height * width * channels)


def _scaled(rows: Tensor, factors: Tensor) -> Tensor:
    """Each row times its factor; a factor of 0 makes 0, also of NaN and infinity."""
    return _finite(rows, factors) * factors[:, None]


def _finite(rows: Tensor, factors: Tensor) -> Tensor:
    if bool((factors > 0.0).all()):
        return rows
    return torch.where((factors > 0.0)[:, None], rows, torch.zeros_like(rows))


def _lay_out(model: nn.Module) -> None:
    """Channels innermost in memory: quicker pooling and patches, the same numbers."""
    for parameter in model.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.to(memory_format=torch.channels_last)


def _layers(model: nn.Module) -> list[nn.Module]:
    if type(model) is nn.Sequential:
        return [layer for child in model for layer in _layers(child)]
    return [model]


def _first_shaped(model: nn.Module) -> nn.Module | None:
    """The first layer that cares for the shape of its input."""
    kinds = (nn.Linear, nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d, nn.Flatten)
    return next((layer for layer in _layers(model) if isinstance(layer, kinds)), None)


def _explicit(model: nn.Module) -> bool:
    """Whether every layer has a formula and keeps samples apart; any doubt means no."""
    layers = _layers(model)
    with_parameters = [layer for layer in layers if isinstance(layer, nn.Linear | nn.Conv2d)]
    return (
        len({id(layer) for layer in with_parameters}) == len(with_parameters) > 0
        and len({id(p) for p in model.parameters()})
        == sum(len(list(layer.parameters())) for layer in with_parameters)
        and all(p.requires_grad for p in model.parameters())
        and all(_known(layer) for layer in layers)
        and _flat_before_linear(layers)
    )


def _known(layer: nn.Module) -> bool:
    if layer._forward_hooks or layer._forward_pre_hooks:
        return False
    if type(layer) is nn.Conv2d:
        return (
            layer.groups == 1
            and layer.padding_mode == "zeros"
            and not isinstance(layer.padding, str)
        )
    if type(layer) is nn.Flatten:
        return layer.start_dim == 1 and layer.end_dim == -1
    return type(layer) is nn.Linear or type(layer) in _SAMPLEWISE


def _flat_before_linear(layers: list[nn.Module]) -> bool:
    """A linear layer's input must be one vector per sample:
    no convolution without Flatten before."""
    pictures = any(isinstance(layer, nn.Conv2d | nn.MaxPool2d | nn.AvgPool2d) for layer in layers)
    for layer in layers:
        if isinstance(layer, nn.Flatten):
            pictures = False
        if isinstance(layer, nn.Linear) and pictures:
            return False
    return True


def check_model(model: nn.Module) -> None:
    """Refuse what cannot be trained sample by sample."""
    if not any(p.requires_grad for p in model.parameters()):
        raise ParameterError("model", "a module with parameters to train", type(model).__name__)
    for name, module in model.named_modules():
        if isinstance(module, _MIXES_SAMPLES):
            raise ParameterError(
                "model",
                "free of batch normalisation, which mixes samples so that no gradient belongs to"
                " one of them (use GroupNorm)",
                f"{name or 'model'}: {type(module).__name__}",
            )
        if getattr(module, "track_running_stats", False):
            raise ParameterError(
                "model",
                "free of running statistics, which keep the data without noise",
                f"{name or 'model'}: {type(module).__name__}",
            )
    for name, parameter in model.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise TrainingError(f"The model's parameter {name!r} is not finite: training diverged.")


def flat(model: nn.Module) -> Tensor:
    """All trained parameters as one vector."""
    return torch.cat([p.detach().flatten() for p in model.parameters() if p.requires_grad])


def step(model: nn.Module, direction: Tensor, rate: float) -> None:
    """parameters -= rate * direction, or an error if that is not finite."""
    at = 0
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                part = direction[at : at + parameter.numel()]
                at += parameter.numel()
                parameter.sub_(part.view_as(parameter).to(parameter.dtype), alpha=rate)
                if not math.isfinite(float(parameter.sum())):
                    raise TrainingError(
                        "Training diverged: a parameter is not finite. Lower the learning rate or"
                        " add less noise."
                    )

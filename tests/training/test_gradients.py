"""Clipped sums against a plain loop over samples."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from shuffledp.errors import ParameterError, TrainingError
from shuffledp.training.gradients import ClippedGradients, cross_entropy, step
from shuffledp.training.models import convolutional, perceptron

torch.set_num_threads(1)


class _Residual(nn.Module):
    """No formula: must go through vmap."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(x + torch.tanh(self.first(x)))


def _loop(model: nn.Module, inputs: Tensor, labels: Tensor, bound: float, order: int) -> Tensor:
    total = torch.zeros(sum(p.numel() for p in model.parameters()))
    for at in range(len(inputs)):
        model.zero_grad()
        cross_entropy(model(inputs[at : at + 1]), labels[at : at + 1]).sum().backward()
        gradient = torch.cat([p.grad.flatten() for p in model.parameters()])
        total += gradient * min(1.0, bound / float(gradient.norm(order)))
    return total


def _case(name: str) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(5)
    if name == "convolutional":
        return convolutional(seed=3), torch.randn(9, 1, 28, 28), torch.randint(10, (9,))
    if name == "perceptron":
        return perceptron(7, 5, 4, seed=3), torch.randn(11, 7), torch.randint(4, (11,))
    if name == "no bias":
        model = nn.Sequential(
            nn.Conv2d(2, 3, 3, padding=1, dilation=2, bias=False),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(3 * 16, 4, bias=False),
        )
        return model, torch.randn(6, 2, 6, 6), torch.randint(4, (6,))
    return _Residual(), torch.randn(8, 6), torch.randint(3, (8,))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", ["perceptron", "convolutional", "no bias", "residual"])
@pytest.mark.parametrize("precise", [True, False])
def test_equal_to_a_loop(name: str, norm: str, precise: bool) -> None:
    model, inputs, labels = _case(name)
    order = 1 if norm == "l1" else 2
    for bound in (0.05, 1.0, 1e6):
        ours = ClippedGradients(model, bound, norm, precise=precise)
        assert ours.explicit == (name != "residual")
        loop = _loop(model, inputs, labels, bound, order)
        assert float((ours.total(inputs, labels) - loop).abs().max()) < 1e-5
        assert float((ours.reports(inputs, labels).sum(dim=0) - loop).abs().max()) < 1e-5


def test_in_parts_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs, labels = _case("convolutional")
    ours = ClippedGradients(model, 0.5, "l2")
    whole = ours.total(inputs, labels)
    monkeypatch.setattr("shuffledp.training.gradients._NUMBERS_AT_ONCE", 2 * ours.size)
    assert torch.allclose(ours.total(inputs, labels), whole, atol=1e-6)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_no_sample_weighs_more_than_the_bound(norm: str) -> None:
    model, inputs, labels = _case("perceptron")
    ours = ClippedGradients(model, 0.1, norm)
    order = 1 if norm == "l1" else 2
    for at in range(len(inputs)):
        one = ours.total(1e3 * inputs[at : at + 1], labels[at : at + 1])
        assert float(one.norm(order)) <= 0.1 * (1 + 1e-9)


@pytest.mark.parametrize("name", ["perceptron", "residual"])
def test_a_sample_without_a_gradient_counts_as_zero(name: str) -> None:
    model, inputs, labels = _case(name)
    ours = ClippedGradients(model, 0.1, "l2")
    rest = ours.total(inputs[1:], labels[1:])
    inputs[0] = float("nan")
    assert torch.allclose(ours.total(inputs, labels), rest, atol=1e-9)


@pytest.mark.parametrize("name", ["perceptron", "residual"])
@pytest.mark.parametrize("label", [-1, 4, 10**6])
def test_a_label_that_names_no_output_counts_as_zero(name: str, label: int) -> None:
    model, inputs, labels = _case(name)
    ours = ClippedGradients(model, 0.1, "l2")
    rest = ours.total(inputs[1:], labels[1:])
    labels[0] = label
    assert torch.allclose(ours.total(inputs, labels), rest, atol=1e-9)
    assert torch.allclose(ours.reports(inputs, labels).sum(dim=0), rest, atol=1e-9)


@pytest.mark.parametrize("shape", [(5, 4, 4), (5, 1, 4, 4)])
def test_a_linear_layer_over_rows_goes_through_vmap(shape: tuple[int, ...]) -> None:
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(4, 4), nn.Flatten(), nn.Linear(16, 3))
    inputs, labels = torch.randn(shape), torch.randint(3, (5,))
    ours = ClippedGradients(model, 0.05, "l2").total(inputs, labels)
    assert torch.allclose(ours.float(), _loop(model, inputs, labels, 0.05, 2), atol=1e-6)


def test_what_mixes_samples_never_gets_a_formula() -> None:
    class Centred(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x - x.mean(dim=0))

    torch.manual_seed(0)
    model = nn.Sequential(Centred(3, 4), nn.ReLU(), nn.Linear(4, 2))
    ours = ClippedGradients(model, 0.1, "l2")
    assert not ours.explicit
    inputs, labels = torch.randn(5, 3), torch.randint(2, (5,))
    alone = sum(ours.total(inputs[i : i + 1], labels[i : i + 1]) for i in range(5))
    assert torch.allclose(ours.total(inputs, labels), alone, atol=1e-9)


def test_a_loss_of_ones_own_sees_one_sample_at_a_time() -> None:
    """Also one that would mix samples."""

    def mixing(outputs: Tensor, labels: Tensor) -> Tensor:
        return cross_entropy(outputs, labels) * (1.0 + outputs.sum())

    model, inputs, labels = _case("perceptron")
    ours = ClippedGradients(model, 0.1, "l2", mixing)
    assert not ours.explicit
    alone = sum(ours.total(inputs[i : i + 1], labels[i : i + 1]) for i in range(len(inputs)))
    assert torch.allclose(ours.total(inputs, labels), alone, atol=1e-9)


def test_shared_layers_and_hooks_go_through_vmap() -> None:
    layer = nn.Linear(4, 4)
    assert not ClippedGradients(nn.Sequential(layer, nn.ReLU(), layer), 1.0, "l2").explicit
    hooked = perceptron(3, 3, 2)
    hooked[0].register_forward_hook(lambda _m, _i, output: output * 2)
    assert not ClippedGradients(hooked, 1.0, "l2").explicit
    assert not ClippedGradients(
        nn.Sequential(nn.Conv2d(1, 1, 1), nn.Linear(4, 2)), 1, "l2"
    ).explicit


def test_refusals() -> None:
    with pytest.raises(ParameterError, match="batch normalisation"):
        ClippedGradients(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), 1.0, "l2")
    with pytest.raises(ParameterError, match="running statistics"):
        ClippedGradients(
            nn.Sequential(nn.InstanceNorm1d(2, track_running_stats=True), nn.Linear(2, 2)),
            1.0,
            "l2",
        )
    with pytest.raises(ParameterError, match="parameters to train"):
        ClippedGradients(nn.ReLU(), 1.0, "l2")
    with pytest.raises(ParameterError, match="norm"):
        ClippedGradients(nn.Linear(2, 2), 1.0, "l3")  # type: ignore[arg-type]
    model = perceptron(2, 2, 2)
    with pytest.raises(TrainingError, match="diverged"):
        step(model, torch.full((12,), float("inf")), 1.0)
    with pytest.raises(TrainingError, match="not finite"):
        ClippedGradients(model, 1.0, "l2")

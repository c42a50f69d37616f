"""MNIST with central DP-SGD: batches by random allocation and by Poisson sampling, side by side.

    python examples/central_mnist.py [epochs]

needs the extra `opacus`. Noise comes from PyTorch's generator: a demonstration, not a release.
"""

import sys
import warnings

import torch
from opacus import PrivacyEngine

from shuffledp.interop.opacus import AllocationEngine
from shuffledp.training.data import mnist
from shuffledp.training.models import perceptron

BATCH, SIGMA, DELTA = 600, 1.0, 1e-5


def trained(engine: PrivacyEngine, epochs: int) -> tuple[float, float]:
    """Accuracy on the test images, and epsilon."""
    torch.manual_seed(1)
    data = mnist()
    inputs, labels, test, answers = (
        torch.as_tensor(part).float().flatten(1) if part.ndim > 1 else torch.as_tensor(part).long()
        for part in (data.train_inputs, data.train_labels, data.test_inputs, data.test_labels)
    )
    model = perceptron(inputs.shape[1], 64, 10)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(inputs, labels), batch_size=BATCH
    )
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=loader,
        noise_multiplier=SIGMA,
        max_grad_norm=1.0,
    )
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    with torch.no_grad():
        right = float((model(test).argmax(dim=1) == answers).float().mean())
    return right, engine.get_epsilon(DELTA)


def main() -> None:
    """One line per way to draw batches."""
    warnings.simplefilter("ignore")
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(f"MNIST, {epochs} epochs of batches of {BATCH}, noise {SIGMA:g}, delta = {DELTA:g}")
    for name, engine in (
        ("random allocation, proven", AllocationEngine()),
        ("Poisson sampling, Opacus' PRV estimate", PrivacyEngine(accountant="prv")),
    ):
        right, epsilon = trained(engine, epochs)
        print(f"{name:40} accuracy {100.0 * right:.1f} %, epsilon {epsilon:.3f}", flush=True)


if __name__ == "__main__":
    main()

"""Clipped per-sample gradients on the MNIST network at batch 600: ours against Opacus, in one run.

Needs opacus beside the extra 'train'. Run: python bench/training.py [--json] [--threads 2].
The ways take turns; the quickest turn of each counts, as the machine may be shared.
One step: gradients of 600 samples clipped to l2 norm 0.01, summed, normal noise added, parameters
moved. Memory is the growth of a fresh process' peak over what it held before its first step.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from figures import Figure, publish
from torch import nn

from shuffledp.training.gradients import ClippedGradients, step
from shuffledp.training.models import convolutional
from shuffledp.training.noise import Simulated

BATCH, CLIP, SIGMA, RATE = 600, 0.01, 5.0, 0.1


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.rand(BATCH, 1, 28, 28, generator=generator)
    return inputs, torch.randint(10, (BATCH,), generator=generator)


def ours(explicit: bool, precise: bool) -> Callable[[], object]:
    model, (inputs, labels), noise = convolutional(), batch(), Simulated(1)
    gradients = ClippedGradients(model, CLIP, "l2", precise=precise)
    gradients.explicit = explicit

    def run() -> None:
        total = gradients.total(inputs, labels)
        step(model, noise.gaussian(total, SIGMA * CLIP, 2 * CLIP) / BATCH, RATE)

    return run


def opacus(mode: str) -> Callable[[], object]:
    from opacus import PrivacyEngine

    model, (inputs, labels) = convolutional(), batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(inputs, labels), batch_size=BATCH
    )
    criterion: Any = nn.CrossEntropyLoss()
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        criterion=criterion,
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
        poisson_sampling=False,
        grad_sample_mode=mode,
    )
    if mode == "ghost":
        model, optimizer, criterion, _ = made
    else:
        model, optimizer, _ = made

    def run() -> None:
        optimizer.zero_grad()
        criterion(model(inputs), labels).backward()
        optimizer.step()

    return run


def plain() -> Callable[[], object]:
    model, (inputs, labels) = convolutional(), batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def run() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return run


WAYS: dict[str, Callable[[], Callable[[], object]]] = {
    "ours, simulation (single precision)": lambda: ours(True, False),
    "ours, double-precision sums": lambda: ours(True, True),
    "ours, vmap (any module)": lambda: ours(False, False),
    "opacus hooks": lambda: opacus("hooks"),
    "opacus ghost clipping": lambda: opacus("ghost"),
    "no clipping": plain,
}


def memory(name: str, threads: int) -> float:
    """MiB that steps add to the peak of a fresh process."""
    command = [sys.executable, __file__, "--only", name, "--threads", str(threads)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return float(line.split()[1]) / 1024.0
    raise RuntimeError(field)


def peak(name: str) -> float:
    run = WAYS[name]()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    for _ in range(3):
        run()
    return _status("VmHWM") - before


def quickest(rounds: int) -> dict[str, float]:
    """Seconds per step, the ways taking turns, the least disturbed turn of each."""
    runs = {name: make() for name, make in WAYS.items()}
    best = dict.fromkeys(runs, math.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.only:
        print(peak(options.only))
        return
    times = quickest(options.rounds)
    best = min(taken for name, taken in times.items() if name.startswith("opacus"))
    figures = [
        Figure(
            f"{name}; samples",
            BATCH,
            taken,
            "Opacus' best",
            best,
            f"{memory(name, options.threads):.0f} MiB more than at rest",
        )
        for name, taken in times.items()
    ]
    publish("One step of private training (MNIST network)", figures)


if __name__ == "__main__":
    main()

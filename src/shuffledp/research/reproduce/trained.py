"""Training runs by preset: simulations, kept under the cache folder, so that an interrupted item
goes on where it was."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shuffledp.training import Dataset, History

SEED = 1
SIMULATED = (
    "All runs are simulations: nothing is proven of what they released."
    " epsilon if deployed is what is proven of"
    " the same noise drawn on the devices"
)
VALIDATION = 6
"""One in so many training samples, the last ones, is for choosing settings."""


@lru_cache(maxsize=2)
def _prepared(name: str, shape: tuple[tuple[str, Any], ...], validation: bool) -> Dataset:
    """The data of a preset, some of its fields changed."""
    from shuffledp.training.presets import DATA, PRESETS

    preset = replace(PRESETS[name], **dict(shape))
    data = DATA[preset.data]()
    if validation:
        data = data.validation(len(data.train_inputs) // VALIDATION)
    return preset.prepare(data)


def trained(
    name: str,
    *,
    network: str | None = None,
    every: int = 10,
    scale: float = 1.0,
    seed: int = SEED,
    validation: bool = False,
    change: dict[str, Any] | None = None,
    **options: Any,
) -> History:
    """A run by preset, some of its fields and options changed, resumed if it was begun before.

    With ``validation`` it is trained without the last training samples and measured on those: to
    choose settings without a look at the test samples.
    """
    from shuffledp.training import run
    from shuffledp.training.data import cache_folder
    from shuffledp.training.presets import PRESETS

    preset = PRESETS[name]
    preset = replace(
        preset, network=network or preset.network, options={**preset.options, **options}
    )
    data = _prepared(name, tuple(sorted((change or {}).items())), validation)
    data = data if scale == 1.0 else data.scaled(scale)
    trainer = preset.trainer(data, seed)
    changed = {
        **(change or {}),
        **options,
        **({"scale": scale} if scale != 1.0 else {}),
        **({"seed": seed} if seed != SEED else {}),
        **({"validation": True} if validation else {}),
    }
    key = "-".join([name, preset.network, *(f"{k}={v}" for k, v in sorted(changed.items()))])
    print(f"training {key}", file=sys.stderr)
    return run(trainer, data, folder=cache_folder() / "runs" / key, every=every)


def draw_runs(axes: Any, runs: dict[str, History]) -> None:
    """Test accuracy over epsilon, a line for each run."""
    for label, history in runs.items():
        spent = [row.epsilon for row in history.rows]
        axes.plot(spent, [row.test_accuracy for row in history.rows], "o-", ms=3, label=label)
    axes.set(xlabel="epsilon at delta = 1/n", ylabel="test accuracy")

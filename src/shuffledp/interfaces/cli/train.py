"""shuffledp train: private training of a model, with its account."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shuffledp import checks
from shuffledp.errors import ParameterError
from shuffledp.files import check_apart
from shuffledp.interfaces.cli.collection import check_payer, ledger_options
from shuffledp.interfaces.cli.group import Group
from shuffledp.interfaces.cli.options import Count, added, json_option, plot_option, print_json
from shuffledp.interfaces.cli.paths import READ

if TYPE_CHECKING:
    from shuffledp.training import Dataset, LedgerBook, Row
    from shuffledp.training.accounting import Account

_options = added(
    plot_option,
    json_option,
    ledger_options,
    click.option("--preset", help="Settings by name; see shuffledp train presets."),
    click.option(
        "--data",
        type=READ,
        help="mnist, adult, a folder of idx files, or .npz (default: as the preset).",
    ),
    click.option("--samples", type=Count(), help="Use only the first samples."),
    click.option(
        "--components",
        type=int,
        help="Replace inputs by principal components (default: as the preset for its data).",
    ),
    click.option(
        "--orientations",
        type=int,
        help="Replace pictures by fixed features, wavelets of so many orientations"
        " (default: as the preset for its data).",
    ),
    click.option(
        "--network",
        help="linear, perceptron-16, perceptron-100, convolutional or convolutional-small.",
    ),
    click.option(
        "--clip",
        type=float,
        help="Largest norm of a sample's gradient; two of them differ by up to twice that, which is"
        " accounted for.",
    ),
    click.option("--learning-rate", type=float, help="Size of a step."),
    click.option("--delta", type=float, help="delta of the account."),
    click.option("--budget", type=float, help="Stop before epsilon exceeds this."),
    click.option("--folder", type=click.Path(path_type=Path), help="Keep the run here; resume it."),
    click.option("--every", type=Count(), help="Releases between two checkpoints."),
    click.option("--simulation", is_flag=True, help="Seeded noise: quick, protects nobody."),
    click.option("--seed", type=int, help="Seed of the simulation (default 1)."),
    click.option("--threads", type=int, help="Threads to compute with."),
)


@click.group(cls=Group)
def train() -> None:
    """Train a model under shuffling, with noise on every device and an account of the privacy."""


@train.command()
@json_option
def presets(as_json: bool) -> None:
    """Settings that have a name."""
    from shuffledp.training.presets import PRESETS

    if as_json:
        listed = {name: {"title": p.title, **p.options} for name, p in PRESETS.items()}
        print_json({"presets": listed})
        return
    for name, preset in PRESETS.items():
        click.echo(f"{name:16} {preset.algorithm:13} {preset.title}")


@train.command("shuffled-sgd")
@_options
@click.option("--eps0", type=float, help="Local budget of a step.")
@click.option("--blocks", type=Count(), help="Number of blocks, or clients.")
@click.option("--epochs", type=Count(), help="Number of epochs.")
@click.option("--unit", type=click.Choice(["sample", "client"]), help="Whom the noise hides.")
def shuffled_sgd(preset: str | None, **given: Any) -> None:
    """Shuffled noisy SGD (Chen, Cao, Ge 2024, Algorithm 1)."""
    _train("shuffled-sgd", preset or "small-sgd", **given)


@train.command("check-in")
@_options
@click.option("--sigma", type=float, help="Deviation of a report's noise, in clipping norms.")
@click.option("--rate", type=float, help="Probability that a client reports in a round.")
@click.option("--rounds", type=Count(), help="Number of rounds.")
@click.option("--momentum", type=float, help="Share of each step that carries over to the next.")
def check_in(preset: str | None, **given: Any) -> None:
    """Shuffled check-in with Gaussian noise (Liew, Takahashi 2023, section 5.2)."""
    _train("check-in", preset or "small-check-in", **given)


def _train(
    algorithm: str,
    name: str,
    data: str | None,
    samples: int | None,
    components: int | None,
    orientations: int | None,
    network: str | None,
    budget: float | None,
    folder: Path | None,
    every: int | None,
    simulation: bool,
    seed: int | None,
    threads: int | None,
    ledger: str | None,
    cohort: str | None,
    as_json: bool,
    plot: str | None,
    **changes: Any,
) -> None:
    from dataclasses import replace

    from shuffledp.training import run, use_threads
    from shuffledp.training.presets import NETWORKS, PRESETS
    from shuffledp.training.run import FILES

    check_payer(ledger, cohort, simulated=simulation)
    for file in FILES:
        for option, path in (("--data", data), ("--ledger", ledger), ("--plot", plot)):
            if folder is not None and path is not None:
                check_apart("folder", folder / file, option, path)
    known = [key for key, preset in PRESETS.items() if preset.algorithm == algorithm]
    checks.one_of("preset", name, known)
    if network is not None:
        checks.one_of("network", network, NETWORKS)
    if seed is not None and not simulation:
        raise ParameterError("seed", "left out without --simulation", seed)
    if threads is not None:
        use_threads(threads)
    preset = PRESETS[name]
    if data is None or data == preset.data:
        data = preset.data
        components = preset.components if components is None else components
        orientations = preset.orientations if orientations is None else orientations
    preset = replace(
        preset,
        network=network or preset.network,
        samples=samples or preset.samples,
        components=components or None,
        orientations=orientations or None,
    )
    chosen = preset.prepare(_load(data))
    trainer = preset.trainer(
        chosen, (1 if seed is None else seed) if simulation else None, **changes
    )
    with _Bar(trainer.releases) as shown:
        history = run(
            trainer,
            chosen,
            folder=folder,
            book=_book(ledger, cohort, folder, trainer.account),
            budget=budget,
            every=every or preset.every,
            on_row=shown,
        )
    result = {**history.to_dict(), "preset": name, "data": data, "notes": list(chosen.notes)}
    if plot is not None:
        from shuffledp.display.training import save_training

        save_training(result, plot)
    if as_json:
        print_json(result)
        return
    from shuffledp.display.training import print_training

    print_training(result)


def _book(
    ledger: str | None, cohort: str | None, folder: Path | None, account: Account
) -> LedgerBook | None:
    """The ledger, if there is one; each run has a name of its own in it."""
    if ledger is None or cohort is None:
        return None
    from shuffledp.ledger import Ledger
    from shuffledp.training import LedgerBook, run_name

    name = secrets.token_hex(8) if folder is None else run_name(folder)
    return LedgerBook(Ledger.open(ledger), cohort, f"training {name}", account)


def _load(data: str) -> Dataset:
    from shuffledp.training import from_idx, from_npz
    from shuffledp.training.presets import DATA

    if data in DATA:
        return DATA[data]()
    return from_idx(data) if Path(data).is_dir() else from_npz(data)


class _Bar:
    """A progress bar on stderr with accuracy and epsilon; nothing when that is not a terminal."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        screen = Console(stderr=True)
        self._progress = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Callable[[Row], None]:
        self._progress.__enter__()
        return self._show

    def __exit__(self, *error: Any) -> None:
        self._progress.__exit__(*error)

    def _show(self, row: Row) -> None:
        text = f"accuracy {row.test_accuracy:.2%}, epsilon {row.epsilon:.3g}"
        self._progress.update(self._task, completed=row.release, description=text)

"""Options shared by the commands that handle users' data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shuffledp.cli.options import Count, F
from shuffledp.errors import ParameterError

if TYPE_CHECKING:
    from shuffledp.analysis import Estimate
    from shuffledp.ledger.entries import Spendable
    from shuffledp.pipeline import Job
    from shuffledp.pipeline.steps import Booking
    from shuffledp.sampling import Stream

_QUESTION = (
    click.argument("data", type=click.Path()),
    click.option("--column", "columns", multiple=True, required=True, help="Column to ask about."),
    click.option(
        "--task",
        type=click.Choice(["histogram", "heavy-hitters", "quantiles", "mean", "vector"]),
        required=True,
        help="What to estimate.",
    ),
    click.option("--epsilon", type=float, required=True, help="Central guarantee."),
    click.option("--delta", type=float, required=True, help="Central guarantee."),
    click.option(
        "--mechanism", default="best", show_default=True, help="Randomizer; best: the planner's."
    ),
    click.option(
        "--categories",
        help="Public values, separated by commas, or a text file of one per line (histogram).",
    ),
    click.option("--low", type=float, help="Least value of the declared range."),
    click.option("--high", type=float, help="Largest value of the declared range."),
    click.option("--bins", type=int, default=64, show_default=True, help="Cells (quantiles)."),
    click.option(
        "--norm",
        type=float,
        help="Clip vectors to this distance from the middle of the range (gaussian-vector).",
    ),
    click.option(
        "--letters",
        type=int,
        default=4,
        show_default=True,
        help="Bytes of a word that count, at most 7 (heavy-hitters).",
    ),
    click.option(
        "--most", type=int, default=20, show_default=True, help="Words to find (heavy-hitters)."
    ),
    click.option("--n", type=Count(), help="Users in a batch (default: the rows of the table)."),
)
simulation_option = click.option(
    "--simulation",
    type=int,
    metavar="SEED",
    help="Reproducible randomness for experiments. Protects nobody; outputs say so.",
)
memory_option = click.option(
    "--memory",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="MiB for shuffling.",
)


def ledger_options(command: F) -> F:
    """--ledger, --cohort."""
    for option in (
        click.option("--cohort", help="Whose budget pays (with --ledger)."),
        click.option(
            "--ledger",
            envvar="SHUFFLEDP_LEDGER",
            help="Record the spend in this book, an SQLite file or postgresql:// URL, before release.",
        ),
    ):
        command = option(command)
    return command


def booking(
    ledger: str | None, cohort: str | None
) -> Callable[[Spendable, str, frozenset[str]], None]:
    """Records what a release with this label costs, before it is made, and which reports it has."""

    def book(what: Spendable, label: str, reports: frozenset[str]) -> None:
        if ledger is None or cohort is None:  # both or neither, see below
            return
        from shuffledp.ledger import Ledger

        receipt = Ledger.open(ledger).spend(cohort, what, label=label, reports=reports)
        number = f"ledger: {cohort} #{receipt.number}"
        if receipt.repeated:
            click.echo(f"{number}, the same release again: nothing more is lost", err=True)
        else:
            click.echo(f"{number}, lost in all {receipt.lost}", err=True)

    check_both(ledger, cohort)
    return book


def check_both(ledger: str | None, cohort: str | None) -> None:
    """Neither is of use without the other."""
    if cohort is not None and ledger is None:
        raise ParameterError("ledger", "given with --cohort", None)
    if ledger is not None and cohort is None:
        raise ParameterError("cohort", "given with --ledger", None)


def job_booking(ledger: str | None, cohort: str | None) -> Booking:
    """The same for a job."""
    book = booking(ledger, cohort)

    def spend(job: Job, reports: frozenset[str]) -> None:
        from shuffledp.protocols import Shuffled

        protocol = Shuffled(job.device.randomizer, job.n)
        book(protocol, f"{job.task} of {', '.join(job.columns)}", reports)

    return spend


def question_about_data(command: F) -> F:
    """DATA, --column, --task, the guarantee, and how values are declared."""
    for option in reversed(_QUESTION):
        command = option(command)
    return command


def stream(seed: int | None) -> Stream:
    """Cryptographic, unless a simulation was asked for by name."""
    from shuffledp.sampling import SIMULATED, secure, simulation

    if seed is None:
        return secure()
    click.echo(f"warning: {SIMULATED}", err=True)
    return simulation(seed)


@contextmanager
def bar(description: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, silent when that is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    shown = Console(stderr=True)
    parts = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*parts, console=shown, transient=True, disable=not shown.is_terminal) as progress:
        task = progress.add_task(description, total=total)
        yield lambda rows: progress.advance(task, rows)


def job(
    data: str,
    columns: tuple[str, ...],
    task: str,
    epsilon: float,
    delta: float,
    mechanism: str,
    categories: str | None,
    low: float | None,
    high: float | None,
    bins: int,
    norm: float | None,
    letters: int,
    most: int,
    n: int | None,
) -> Job:
    """The collection the options describe, calibrated."""
    from shuffledp.pipeline import Job, survey
    from shuffledp.reports.text import progress

    options: dict[str, Any] = {}
    known = _listed(categories)
    if task in ("histogram", "heavy-hitters"):
        if low is not None or high is not None:
            raise ParameterError("low", f"left out for task {task!r}", low)
        options |= {"letters": letters, "most": most}
    else:
        if low is None or high is None:
            raise ParameterError("low", f"given, with high, for task {task!r}", low)
        options |= {"low": low, "high": high, "bins": bins, "norm": norm}
    if n is None or (task == "histogram" and not known):
        with bar("looking") as advance:
            rows, seen = survey(data, columns, values=task == "histogram", advance=advance)
        n = rows if n is None else n
        if task == "histogram" and not known:
            known = _taken_as_public(seen)
    if task == "histogram":
        options["categories"] = known
    asked = Job(task, columns, n, epsilon, delta, mechanism, **options)
    return asked.calibrated(lambda names: progress(names, "calibrating"))


def declared(data: str, column: str, categories: str | None) -> tuple[str, ...]:
    """The public values, or those found."""
    from shuffledp.pipeline import survey

    known = _listed(categories)
    if known:
        return known
    with bar("looking") as advance:
        return _taken_as_public(survey(data, [column], values=True, advance=advance)[1])


def _taken_as_public(values: tuple[str, ...]) -> tuple[str, ...]:
    click.echo(
        f"note: the {len(values)} values found are taken to be public (--categories)", err=True
    )
    return values


def _listed(given: str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    path = Path(given)
    try:
        if path.is_file():
            return tuple(line.strip() for line in path.read_text().splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError("categories", "a readable text file", given) from error
    return tuple(part.strip() for part in given.split(",") if part.strip())


def pure_budget(job: Job) -> float | None:
    """eps0 of each report, if there is one."""
    eps0 = job.device.randomizer.eps0
    return eps0 if math.isfinite(eps0) else None


def show(
    job: Job, found: Estimate, *, out: str | None, plot: str | None, as_json: bool, project: bool
) -> None:
    """Write, draw and print an answer."""
    from shuffledp.cli.options import print_json
    from shuffledp.pipeline import write_estimate
    from shuffledp.reports.estimates import print_estimate, save_estimate

    if project:
        if found.quantity != "frequency":
            raise ParameterError("simplex", "left out unless frequencies are estimated", True)
        found = found.on_simplex()
    if out is not None:
        write_estimate(found, out)
    if plot is not None:
        save_estimate(job, found, plot)
    if as_json:
        described = {
            "task": job.task,
            "columns": list(job.columns),
            "n": job.n,
            "mechanism": str(job.device.randomizer),
            "eps0": pure_budget(job),
            "delta": job.delta,
            "simulated": job.simulated,
        }
        print_json(described | found.to_dict())
    else:
        print_estimate(job, found)

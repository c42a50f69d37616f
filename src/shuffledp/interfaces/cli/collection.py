"""Options shared by the commands that handle users' data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shuffledp import checks
from shuffledp.display.sentences import say
from shuffledp.errors import ParameterError
from shuffledp.files import check_apart
from shuffledp.interfaces.cli.options import Count, OneOf, added
from shuffledp.interfaces.cli.paths import BOOK, READ

if TYPE_CHECKING:
    from shuffledp.collection.analysis import Estimate
    from shuffledp.collection.devices import Stream
    from shuffledp.collection.pipeline import Job, Questionnaire
    from shuffledp.ledger.entries import Spendable

category_options = added(
    click.option(
        "--categories",
        type=READ,
        help="Public values, separated by commas, or a text file of one per line (histogram).",
    ),
    click.option(
        "--categories-from-data",
        "from_data",
        is_flag=True,
        help="Publish the list of values found in the table: no guarantee covers it.",
    ),
    click.option("--other", default="", help="Category of all values that are not listed."),
)
data_argument = click.argument("data", type=READ)
_column = {"multiple": True, "help": "Column to ask about."}
_task = {
    "type": OneOf(
        [
            "histogram",
            "heavy-hitters",
            "quantiles",
            "mean",
            "mean,quantiles",
            "mean,quantiles,histogram",
            "vector",
        ]
    ),
    "help": "What to estimate; several of a number from one report each.",
}
_question_about_data = added(
    click.option("--epsilon", type=float, help="Central guarantee; or else --eps0."),
    click.option("--delta", type=float, required=True, help="Central guarantee."),
    click.option(
        "--eps0",
        type=float,
        help="Local budget of --mechanism, as `plan` found it; epsilon is computed.",
    ),
    click.option(
        "--strength",
        type=float,
        help="The same for noise without a local budget: largest distance over deviation.",
    ),
    click.option(
        "--mechanism",
        default="best",
        show_default=True,
        help="Randomizer, or (run) another shape of `plan --several-messages`; best: the planner's"
        " randomizer.",
    ),
    category_options,
    click.option(
        "--low", type=float, help="Least value of the declared range; numbers below count as it."
    ),
    click.option(
        "--high", type=float, help="Largest value of the declared range; numbers above count as it."
    ),
    click.option("--bins", type=int, default=64, show_default=True, help="Cells (quantiles)."),
    click.option(
        "--windows",
        type=int,
        default=0,
        help="Windows, or steps between levels, in the range (mean,quantiles); else chosen.",
    ),
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
    click.option("--n", type=Count(), help="Users in all (default: the rows of the table)."),
    click.option(
        "--minimum",
        type=Count(),
        help="Fewest reports to release; the guarantee is for so many (default: n).",
    ),
    click.option(
        "--on-bad-rows",
        "bad_rows",
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        show_default=True,
        help="Rows without a value, or with one that is not declared.",
    ),
)
question_about_data = added(
    data_argument,
    click.option("--column", "columns", required=True, **_column),  # type: ignore[arg-type]
    click.option("--task", required=True, **_task),  # type: ignore[arg-type]
    _question_about_data,
)
questions_about_data = added(
    data_argument,
    click.option(
        "--tasks",
        type=READ,
        help="Several questions under one guarantee: a file in TOML, a [[task]] for each.",
    ),
    click.option("--column", "columns", **_column),  # type: ignore[arg-type]
    click.option("--task", **_task),  # type: ignore[arg-type]
    click.option(
        "--messages",
        type=click.IntRange(min=1),
        help="Messages of each user, shuffled separately and linked by nothing (vector): 1 unless"
        " given.",
    ),
    _question_about_data,
)
simulation_option = click.option(
    "--simulation",
    type=int,
    metavar="SEED",
    help="Reproducible randomness for experiments. Protects nobody; outputs say so.",
)
_RECEIPT = "shuffledp.receipt"
_LABEL = 200
"""Letters of a label in a ledger."""
memory_option = click.option(
    "--memory",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="MiB for rows and reports, beside some 150 for the program itself.",
)


ledger_options = added(
    click.option(
        "--ledger",
        type=BOOK,
        envvar="SHUFFLEDP_LEDGER",
        help="Record the spend in this book, an SQLite file or postgresql:// URL, before release.",
    ),
    click.option("--cohort", help="Whose budget pays (with --ledger)."),
)


def booking(
    ledger: str | None, cohort: str | None, *, simulated: bool
) -> Callable[[Spendable, str, str, frozenset[str]], None]:
    """Records what a release with this label costs, before it is made: what of it is not covered,
    and which reports it has."""

    def book(what: Spendable, label: str, uncovered: str, reports: frozenset[str]) -> None:
        if ledger is None or cohort is None:  # both or neither, see below
            return
        from shuffledp.ledger import Ledger

        receipt = Ledger.open(ledger).spend(
            cohort, what, label=_short(label), reports=reports, uncovered=uncovered
        )
        click.get_current_context().meta[_RECEIPT] = receipt
        number = f"ledger: {cohort} #{receipt.number}"
        if receipt.repeated:
            say(f"{number}, the same release again: nothing more is lost", err=True)
        else:
            lost = receipt.rule.shown(receipt.lost)
            say(f"{number}, lost in all: {lost} ({receipt.claim})", err=True)
        if receipt.warning:
            say(f"warning: {receipt.warning}", err=True)

    check_payer(ledger, cohort, simulated=simulated)
    return book


def recorded() -> dict[str, Any] | None:
    """The receipt of what this command spent, for JSON; none if no ledger was asked."""
    receipt = click.get_current_context().meta.get(_RECEIPT)
    return None if receipt is None else {**receipt.to_dict(), "repeated": receipt.repeated}


def _short(label: str) -> str:
    """As a ledger takes it: columns may be many, and have any names."""
    label = "".join(letter if letter.isprintable() else "?" for letter in label)
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 3]}..."


def check_payer(ledger: str | None, cohort: str | None, *, simulated: bool) -> None:
    """A ledger and a cohort are of no use without each other; a simulation has nothing to pay."""
    if cohort is not None and ledger is None:
        raise ParameterError("ledger", "given with --cohort", None)
    if ledger is not None and cohort is None:
        raise ParameterError("cohort", "given with --ledger", None)
    if ledger is not None and simulated:
        raise ParameterError(
            "ledger",
            "left out for what is simulated: a simulation protects nobody and spends nothing",
            ledger,
        )


def job_booking(
    ledger: str | None, cohort: str | None, *, simulated: bool
) -> Callable[[Job | Questionnaire, frozenset[str]], None]:
    """The same for a job, or for several questions."""
    book = booking(ledger, cohort, simulated=simulated)

    def spend(job: Job | Questionnaire, reports: frozenset[str]) -> None:
        check_payer(ledger, cohort, simulated=job.simulated)  # its devices may have been
        book(job.protocol, job.about, "; ".join(job.not_covered), reports)

    return spend


def stream(seed: int | None) -> Stream:
    """Cryptographic, unless a simulation was asked for by name."""
    from shuffledp.collection.devices import SIMULATED, secure, simulation

    if seed is None:
        return secure()
    say(f"warning: {SIMULATED}", err=True)
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
    categories: str | None,
    from_data: bool,
    other: str,
    low: float | None,
    high: float | None,
    bins: int,
    norm: float | None,
    letters: int,
    most: int,
    n: int | None,
    minimum: int | None,
    bad_rows: str,
    epsilon: float | None,
    eps0: float | None = None,
    strength: float | None = None,
    windows: int = 0,
    counted: Mapping[str, Any] | None = None,
    calibrate: bool = True,
    **given: Any,
) -> Job:
    """The collection the options describe, calibrated if asked for.

    ``counted``: in any shape, within these limits, which are those of a plan.
    """
    from shuffledp.collection.pipeline import Job
    from shuffledp.collection.pipeline.counted import shaped
    from shuffledp.collection.planning import ALL_SHAPES
    from shuffledp.display.text import progress

    fixed = eps0 if strength is None else strength
    if [epsilon, eps0, strength].count(None) != 2:
        got = "neither" if epsilon is fixed is None else "both"
        raise ParameterError("epsilon", "given, or else --eps0 or --strength", got)
    options: dict[str, Any] = {"bad_rows": bad_rows, "epsilon": fixed or epsilon, **given}
    known: tuple[str, ...] = ()
    if task == "histogram":
        known = listed(data, categories, from_data, other)
    elif categories is not None or from_data or other:
        raise ParameterError("categories", f"left out for task {task!r}", categories)
    if task in ("histogram", "heavy-hitters"):
        if low is not None or high is not None:
            raise ParameterError("low", f"left out for task {task!r}", low)
        options |= {"letters": letters, "most": most}
    else:
        if low is None or high is None:
            missing = "low" if low is None else "high"
            raise ParameterError(missing, f"given for task {task!r}", None)
        options |= {"low": low, "high": high, "bins": bins, "windows": windows, "norm": norm}
    users, fewest, seen = crowd(data, columns, n, minimum, bad_rows, values=from_data)
    if from_data:
        known = published(seen)
    if task == "histogram":
        options |= {"categories": known, "other": other, "values_from_data": from_data}
    asked = Job(task, columns, fewest, users=users, **options)
    if not calibrate:
        return asked
    if counted is not None and asked.mechanism in ALL_SHAPES and fixed is None:
        return shaped(asked, lambda names: progress(names, "calibrating"), **counted)
    for name, value in (counted or {}).items():
        raise ParameterError(name, "left out unless --mechanism is a shape, with --epsilon", value)
    if strength is not None:
        return asked.at_strength(strength)
    if eps0 is not None:
        return asked.at_budget(eps0)
    return asked.calibrated(lambda names: progress(names, "calibrating"))


def crowd(
    data: str,
    columns: tuple[str, ...],
    n: int | None,
    minimum: int | None,
    bad_rows: str,
    *,
    values: bool = False,
) -> tuple[int, int, tuple[str, ...]]:
    """How many users there are, how many are sure to report, and the values found if asked for."""
    from shuffledp.collection.pipeline import survey

    if bad_rows == "drop" and minimum is None:
        raise ParameterError(
            "minimum",
            "given with --on-bad-rows drop: how many good rows there are is no secret,"
            " but must not decide what is accounted for",
            None,
        )
    seen: tuple[str, ...] = ()
    if n is None or values:
        with bar("looking") as advance:
            rows, seen = survey(
                data, columns, values=values, drop=bad_rows == "drop", advance=advance
            )
        n = rows if n is None else n
    users = checks.count("n", n)
    return users, users if minimum is None else checks.count("minimum", minimum), seen


def declared(
    data: str, column: str, categories: str | None, from_data: bool, other: str
) -> tuple[str, ...]:
    """The public values, or those found, if that was asked for."""
    from shuffledp.collection.pipeline import survey

    known = listed(data, categories, from_data, other)
    if not from_data:
        return known
    with bar("looking") as advance:
        return published(survey(data, [column], values=True, advance=advance)[1])


def published(values: tuple[str, ...]) -> tuple[str, ...]:
    """Says what is done with values that were found."""
    if len(values) < 2:
        raise ParameterError("from_data", "left out unless there are several values", len(values))
    say(
        f"warning: the list of the {len(values):,} values found is published as it is, also values"
        " that one user alone holds; no guarantee covers it",
        err=True,
    )
    return values


def listed(data: str, given: str | None, from_data: bool, other: str) -> tuple[str, ...]:
    """The declared values; none if they are to be found."""
    if from_data:
        if given is not None or other:
            raise ParameterError("categories", "left out with --categories-from-data", given)
        return ()
    if given is None:
        raise ParameterError(
            "categories",
            "given, public values that do not come from the data."
            " Frequent values are found privately"
            " by --task heavy-hitters; --categories-from-data publishes all that are there,"
            " which no"
            " guarantee covers",
            None,
        )
    lines = given.split(",")
    if _is_file(given):
        check_apart("categories", given, "DATA: its values are no public list", data)
        try:
            lines = Path(given).read_text(encoding="utf-8-sig").splitlines()
        except (OSError, ValueError) as error:
            raise ParameterError("categories", "a readable text file in UTF-8", given) from error
    elif len(lines) == 1 and not other:
        condition = "two or more values, separated by commas, or a text file that is there"
        raise ParameterError("categories", condition, given)
    known = tuple(line.strip() for line in lines if line.strip())
    return known if not other or other in known else (*known, other)


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except (OSError, ValueError):  # too long for a name: a list
        return False


def pure_budget(job: Job) -> float | None:
    """eps0 of each report, if there is one."""
    return job.eps0 if math.isfinite(job.eps0) else None


def show(
    job: Job,
    found: Estimate,
    *,
    out: str | None,
    plot: str | None,
    as_json: bool,
    project: bool,
    non_negative: bool = False,
) -> None:
    """Write, draw and print an answer."""
    from shuffledp.collection.pipeline import write_estimate
    from shuffledp.display.estimates import print_estimate, save_estimate
    from shuffledp.interfaces.cli.options import print_json

    for option, asked, moved in (
        ("simplex", project, found.on_simplex),
        ("non_negative", non_negative, found.non_negative),
    ):
        if asked and not found.has_frequencies:
            raise ParameterError(option, "left out unless frequencies are estimated", True)
        if asked:
            found = moved()
    if out is not None:
        write_estimate(found, out)
    if plot is not None:
        save_estimate(job, found, plot)
    if as_json:
        described = {
            "task": job.task,
            "columns": list(job.columns),
            "n": job.n,
            "mechanism": job.described,
            "eps0": pure_budget(job),
            "delta": job.delta,
            "shuffled": job.shuffled,
            "simulated": job.simulated,
            "categories_from_data": job.values_from_data,
            "not_covered": job.not_covered,
            "ledger": recorded(),
        }
        print_json(described | found.to_dict())
    else:
        print_estimate(job, found)

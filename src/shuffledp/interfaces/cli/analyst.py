"""shuffledp analyst: keys, tasks and batches of whoever asks; and shuffledp collect."""

from __future__ import annotations

import re
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shuffledp.display.sentences import say
from shuffledp.interfaces.cli.collection import bar, job, show
from shuffledp.interfaces.cli.group import Group
from shuffledp.interfaces.cli.options import Count, json_option, plot_option, print_json
from shuffledp.interfaces.cli.paths import READ, TABLE, WRITTEN
from shuffledp.labels import counted

if TYPE_CHECKING:
    from shuffledp.service.analyst import Opened

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Moment(click.ParamType):  # type: ignore[type-arg]  # generic only from click 8.2
    """Seconds since 1970: from a date and time, or a time from now."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        if value == "now":
            return time.time()
        if found := re.fullmatch(r"\+(\d{1,6})([smhd])", str(value)):
            return time.time() + int(found[1]) * _UNITS[found[2]]
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not like now, +7d, or 2027-01-31T12:00", param, ctx)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@click.group(cls=Group)
def analyst() -> None:
    """Ask devices a question through a shuffler: keys, tasks, batches."""


@analyst.command()
@click.option("--out", type=WRITTEN, required=True, help="Private key; the public one gets .pub.")
@json_option
def keygen(out: str, as_json: bool) -> None:
    """Make a key that opens batches. Without it nobody can: keep a copy."""
    from shuffledp.service.keys import write_private, write_public
    from shuffledp.service.sealing import PrivateKey

    made = PrivateKey.generate()
    write_private(out, made)
    write_public(f"{out}.pub", made.public)
    if as_json:
        print_json({"key": made.public.id.hex(), "public": made.public.raw.hex(), "file": out})
        return
    say(f"{out}: key {made.public.id.hex()}; give {out}.pub to whoever makes tasks")


@analyst.command()
@click.option("--title", required=True, help="The question, for the people who are asked.")
@click.option(
    "--task",
    "question",
    type=click.Choice(["histogram", "heavy-hitters", "quantiles", "mean", "vector"]),
    required=True,
    help="What to estimate.",
)
@click.option("--column", "columns", multiple=True, help="Name of what is asked for.")
@click.option("--epsilon", type=float, required=True, help="Central guarantee of a batch.")
@click.option("--delta", type=float, required=True, help="Central guarantee of a batch.")
@click.option(
    "--mechanism", default="best", show_default=True, help="Randomizer; best: the planner's."
)
@click.option(
    "--categories",
    type=READ,
    help="Public values, separated by commas, or a text file of one per line (histogram).",
)
@click.option("--other", default="", help="Category of all values that are not listed.")
@click.option("--low", type=float, help="Least value of the declared range.")
@click.option("--high", type=float, help="Largest value of the declared range.")
@click.option("--bins", type=int, default=64, show_default=True, help="Cells (quantiles).")
@click.option("--norm", type=float, help="Clip vectors to this distance (gaussian-vector).")
@click.option(
    "--letters", type=int, default=4, show_default=True, help="Bytes of a word that count."
)
@click.option("--most", type=int, default=20, show_default=True, help="Words to find.")
@click.option(
    "--minimum",
    type=Count(),
    required=True,
    help="Fewest reports released together: the guarantee is for these.",
)
@click.option("--largest", type=Count(), required=True, help="Most reports released together.")
@click.option(
    "--opens", type=Moment(), default="now", show_default=True, help="now, +2h, 2027-01-31."
)
@click.option("--expires", type=Moment(), required=True, help="+7d, 2027-02-28T12:00.")
@click.option(
    "--precision", type=int, default=3600, show_default=True, help="Seconds; times are multiples."
)
@click.option("--key", type=READ, required=True, help="The analyst's public key.")
@click.option(
    "--shuffler-key",
    "shuffler_keys",
    multiple=True,
    required=True,
    help="The shuffler's public key: 64 digits or a file. Several: the first is used first.",
)
@click.option("--cohort", required=True, help="Whose budget pays, in the shuffler's ledger.")
@click.option("--length", type=int, help="Bytes reports are padded to (default: a multiple of 16).")
@click.option("--out", type=WRITTEN, required=True, help="Write the document to this file.")
@json_option
def task(
    title: str,
    question: str,
    columns: tuple[str, ...],
    minimum: int,
    largest: int,
    opens: float,
    expires: float,
    precision: int,
    key: str,
    shuffler_keys: tuple[str, ...],
    cohort: str,
    length: int | None,
    out: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Write the document of a task: the question, the randomizer, the guarantee that is proven."""
    from shuffledp import checks
    from shuffledp.service.keys import read_public
    from shuffledp.service.sealing import PublicKey
    from shuffledp.service.task import Task

    checks.whole("precision", precision, 1)
    sealed_to = [
        PublicKey.from_hex(each) if re.fullmatch(r"[0-9a-f]{64}", each) else read_public(each)
        for each in shuffler_keys
    ]
    asked_job = job(
        "",
        columns or ("value",),
        question,
        n=largest,
        minimum=minimum,
        from_data=False,
        bad_rows="refuse",
        **asked,
    )
    made = Task.create(
        asked_job,
        title=title,
        largest=largest,
        opens=int(opens // precision * precision),
        expires=int(-(-expires // precision) * precision),
        precision=precision,
        analyst=read_public(key),
        shuffler=sealed_to,
        cohort=cohort,
        length=length,
    )
    made.save(out)
    if as_json:
        print_json({"task": made.id.hex(), "file": out, "guarantee": made.said})
        return
    say(f"{out}: task {made.id.hex()}")
    say(f"privacy: {made.said}")


@analyst.command("open")
@click.argument("batch", type=READ)
@click.option(
    "--key",
    "keys",
    type=READ,
    multiple=True,
    required=True,
    help="Private key; several may be given.",
)
@click.option(
    "--out", type=TABLE, required=True, help="Write the reports to this .csv or .parquet file."
)
@json_option
def open_batch(batch: str, keys: tuple[str, ...], out: str, as_json: bool) -> None:
    """Open the reports of BATCH for `shuffledp analyze`; all of it is checked first."""
    opened = _opened(batch, keys, out)
    if as_json:
        print_json(_said(opened) | {"file": out})
        return
    say(f"{out}: {counted(opened.reports, 'report')} of {opened.batch.task.title!r}")
    _warn(opened)


def _opened(batch: str, keys: tuple[str, ...], out: str | Path) -> Opened:
    from shuffledp.service.analyst import open_batch
    from shuffledp.service.keys import read_private

    with bar("opening") as advance:
        return open_batch(batch, [read_private(key) for key in keys], out, advance)


def _said(opened: Opened) -> dict[str, Any]:
    return {
        "batch": opened.batch.id.hex(),
        "task": opened.batch.task.id.hex(),
        "title": opened.batch.task.title,
        "reports": opened.reports,
        "unusable": opened.unusable,
    }


def _warn(opened: Opened) -> None:
    if opened.unusable:
        say(
            f"warning: {counted(opened.unusable, 'report')} left out:"
            " no device of the task sends such",
            err=True,
        )


@click.command()
@click.argument("batch", type=READ)
@click.option(
    "--key", "keys", type=READ, multiple=True, required=True, help="The analyst's private key."
)
@click.option("--reports", type=TABLE, help="Also keep the opened reports in this file.")
@click.option("--out", type=TABLE, help="Write the estimates to this .csv or .parquet file.")
@click.option("--simplex", is_flag=True, help="Make frequencies non-negative with sum 1.")
@json_option
@plot_option
def collect(
    batch: str,
    keys: tuple[str, ...],
    reports: str | None,
    out: str | None,
    simplex: bool,
    as_json: bool,
    plot: str | None,
) -> None:
    """Open BATCH and estimate from it, with errors and the privacy they cost."""
    from shuffledp.collection.pipeline import analyze

    with tempfile.TemporaryDirectory(prefix="shuffledp-") as folder:
        path = Path(folder) / "reports.parquet" if reports is None else Path(reports)
        opened = _opened(batch, keys, path)
        _warn(opened)
        with bar("counting") as advance:
            found_job, found = analyze(path, advance)
    show(found_job, found, out=out, plot=plot, as_json=as_json, project=simplex)

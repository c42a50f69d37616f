"""A run that can be killed at any moment and resumed, and never gives away more than it booked."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import torch

from shuffledp import checks
from shuffledp.errors import ParameterError, TrainingError
from shuffledp.labels import in_full
from shuffledp.training.accounting import Spent
from shuffledp.training.data import Dataset
from shuffledp.training.ledger_book import LedgerBook
from shuffledp.training.trainer import Trainer, accuracy

_TRAIN_SAMPLES = 10_000
"""Training samples whose accuracy a simulation shows."""
_RUN, _CHECKPOINT, _BOOK, _LOG = "run.json", "checkpoint.pt", "book.json", "log.csv"
_ENDED = "ended.json"
"""Why a run ended in an error: its last releases have been seen, so it cannot make them again."""
FILES = (_RUN, _CHECKPOINT, _BOOK, _LOG, _ENDED)
"""What a run writes to its folder."""


@dataclass(frozen=True)
class Row:
    """What is known after some releases; ``train_accuracy``, being private, in simulations only."""

    release: int
    epsilon: float
    test_accuracy: float
    test_loss: float
    train_accuracy: float | None
    seconds: float
    claims: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; what is infinite becomes null."""
        values = asdict(self)
        return {**values, "epsilon": self.epsilon if math.isfinite(self.epsilon) else None}

    def flat(self) -> dict[str, Any]:
        """One level, for CSV."""
        values = asdict(self)
        claims = values.pop("claims")
        return {**values, **{f"claim: {name}": value for name, value in claims.items()}}


class Book(Protocol):
    """Where releases are recorded before they are made."""

    def spend(self, releases: int) -> None:
        """Record durably that the first ``releases`` may now be made; again is no new spend."""

    def total(self) -> int:
        """How many releases are recorded."""


class FileBook:
    """A book in one file, synced to disk before ``spend`` returns."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self._path, self._settings = path, settings

    def spend(self, releases: int) -> None:
        if releases > self.total():
            content = {"releases": releases, "settings": self._settings}
            write_durably(self._path, (json.dumps(content, indent=2) + "\n").encode())

    def total(self) -> int:
        try:
            return int(json.loads(self._path.read_text())["releases"])
        except FileNotFoundError:
            return 0
        except (ValueError, KeyError, TypeError) as error:
            raise TrainingError(f"{self._path} is not a book of releases.") from error


@dataclass
class History:
    """A finished or stopped run."""

    trainer: Trainer
    rows: list[Row] = field(default_factory=list)
    stopped: str = ""
    notes: tuple[str, ...] = ()
    """What was done to the data without noise."""

    @property
    def uncovered(self) -> str:
        """Why nothing is proven of the run, if so."""
        simulated = [f"NOT PRIVATE: {self.trainer.randomness.label}"] * self.trainer.simulation
        return "; ".join([*simulated, *(f"NOT COVERED: {note}" for note in self.notes)])

    @property
    def spent(self) -> Spent:
        """The account at the end."""
        return self.trainer.account.after(self.rows[-1].release if self.rows else 0)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "settings": self.trainer.settings,
            "randomness": self.trainer.randomness.label,
            "protects": self.trainer.account.protects,
            "uncovered": self.uncovered,
            "spent": self.spent.to_dict(self.uncovered),
            "stopped": self.stopped,
            "rows": [row.to_dict() for row in self.rows],
        }


def run(
    trainer: Trainer,
    data: Dataset,
    *,
    folder: str | Path | None = None,
    book: Book | None = None,
    budget: float | None = None,
    every: int = 1,
    on_row: Callable[[Row], None] = lambda row: None,
) -> History:
    """Train to the end, or until the next release would exceed ``budget`` (an epsilon).

    Releases are made ``every`` at a time: recorded in the book first, then computed, then the model
    is written to ``folder`` together with what has been measured. Nothing leaves the process in
    between, so a run killed there repeats those releases under the same record.

    Parameters
    ----------
    trainer
        ``ShuffledSGD`` or ``CheckInTrainer``.
    data
        What is measured on.
    folder
        Where the model and its history are kept; a run killed goes on there.
    book
        Where releases are recorded first.
    budget
        An epsilon that is not exceeded.
    every
        Releases made at a time.
    on_row
        Called with each row of the history.

    Returns
    -------
    History
        What was measured, and what it cost.
    """
    every = checks.count("every", every)
    if isinstance(book, LedgerBook) and trainer.simulation:
        nothing = "no ledger for a simulation, which protects nobody and spends nothing"
        raise ParameterError("book", nothing, book.run)
    place = None if folder is None else Path(folder)
    begun = place is not None and any((place / x).exists() for x in (_RUN, _BOOK, _CHECKPOINT))
    if place is not None:
        run_name(place)
        _check_not_ended(place / _ENDED)
    history, done = History(trainer, notes=data.notes), 0
    if isinstance(book, LedgerBook):
        book = replace(book, uncovered=history.uncovered)
    if place is not None and (place / _CHECKPOINT).exists():
        done = _restore(trainer, history, place / _CHECKPOINT)
    if book is None and place is not None:
        book = FileBook(place / _BOOK, trainer.settings)
    if book is not None:
        _check_record(book.total(), done, every, place if begun else None)
    allowed = trainer.releases
    if budget is not None:
        allowed = trainer.account.most(checks.positive("budget", budget), trainer.releases)
    start = time.perf_counter() - (history.rows[-1].seconds if history.rows else 0.0)
    while done < allowed:
        planned = min(every, allowed - done)
        if book is not None:
            book.spend(done + planned)
        try:
            for _ in range(planned):
                trainer.release()
            done += planned
            row = _measure(trainer, data, done, time.perf_counter() - start)
        except TrainingError as error:
            if place is not None:
                write_durably(place / _ENDED, (json.dumps({"reason": str(error)}) + "\n").encode())
            raise
        history.rows.append(row)
        if place is not None:
            _save(trainer, history, place, done)
        on_row(row)
    if budget is not None and allowed < trainer.releases:
        history.stopped = f"the next release would exceed epsilon = {in_full(budget)}"
    return history


def run_name(folder: str | Path) -> str:
    """What a run in this folder is called, from its first moment: no other run has that name."""
    path = Path(folder) / _RUN
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("folder", "a folder that can be made", str(folder)) from error
    if not path.exists():
        write_durably(path, (json.dumps({"name": secrets.token_hex(8)}) + "\n").encode())
    try:
        return str(json.loads(path.read_text())["name"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{path} does not name a run.") from error


def _check_not_ended(path: Path) -> None:
    if path.exists():
        raise TrainingError(
            f"The run in {path.parent} ended in an error,"
            " which told something of its last releases."
            " Begin a new run in another folder."
        )


def _check_record(total: int, done: int, every: int, begun: Path | None) -> None:
    """A killed run is at most one step behind its book, and has shown nothing of that step."""
    records = f"The book records {total} releases, the checkpoint {done}"
    if total < done:
        raise TrainingError(f"{records}: one of them is missing or belongs to another run.")
    if total == done:
        return
    if begun is None or total > done + every or _shown(begun / _LOG) > done:
        raise TrainingError(
            f"{records}: made again they would be new releases, which no record covers. Begin a new"
            " run, under another name; one that was killed goes on in its folder, with the same"
            " 'every'."
        )


def _shown(log: Path) -> int:
    """The last release in a log, 0 without one."""
    try:
        rows = list(csv.DictReader(io.StringIO(log.read_text())))
        return int(rows[-1]["release"]) if rows else 0
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TrainingError(f"{log} is not the log of a run.") from error


def _measure(trainer: Trainer, data: Dataset, done: int, seconds: float) -> Row:
    share, loss = accuracy(trainer.model, data.test_inputs, data.test_labels, trainer.loss)
    own = None
    if trainer.simulation:
        seen = slice(_TRAIN_SAMPLES)
        own = accuracy(trainer.model, trainer.inputs[seen], trainer.labels[seen], trainer.loss)[0]
    spent = trainer.account.after(done)
    claims = {f"{c.theorem} {c.status.value} {c.note.split(';')[0]}": c.value for c in spent.claims}
    return Row(done, spent.epsilon, share, loss, own, round(seconds, 3), claims)


def _save(trainer: Trainer, history: History, place: Path, done: int) -> None:
    content = io.BytesIO()
    torch.save(
        {
            "settings": json.dumps(trainer.settings),
            "releases": done,
            "model": trainer.model.state_dict(),
            "randomness": trainer.randomness.state(),
            "velocity": trainer.velocity,
            "rows": json.dumps([asdict(row) for row in history.rows]),
        },
        content,
    )
    write_durably(place / _CHECKPOINT, content.getvalue())
    write_durably(place / _LOG, _table(history))


def _restore(trainer: Trainer, history: History, path: Path) -> int:
    try:
        saved = torch.load(path, weights_only=True)
        settings, done = json.loads(saved["settings"]), int(saved["releases"])
        rows = [Row(**row) for row in json.loads(saved["rows"])]
    except Exception as error:
        raise TrainingError(f"{path} is not a checkpoint of this library: {error}") from error
    ours = json.loads(json.dumps(trainer.settings))
    different = [name for name in ours if settings.get(name) != ours[name]]
    if different:
        name = different[0]
        raise ParameterError(
            name,
            f"{settings.get(name)!r}, as in the run to be resumed in {path.parent}",
            ours[name],
        )
    trainer.model.load_state_dict(saved["model"])
    trainer.randomness.restore(saved["randomness"])
    trainer.velocity = saved.get("velocity")
    history.rows.extend(rows)
    return done


def _table(history: History) -> bytes:
    why = {"uncovered": history.uncovered} if history.uncovered else {}
    flat = [row.flat() | why for row in history.rows]
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, list(flat[-1]), extrasaction="ignore")
    writer.writeheader()
    writer.writerows(flat)
    return table.getvalue().encode()


def write_durably(path: Path, content: bytes) -> None:
    """The whole file is on disk under its name when this returns, or the old one still is."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise TrainingError(f"{path} could not be written: {error}") from error

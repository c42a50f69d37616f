"""Several questions about the same users: one table, one guarantee, one spend.

Each question is answered by a message of its own (a vector by several), and every kind of message
is shuffled by itself. What is said of privacy holds if nothing links the messages of a user: no
common identifier, address, time, size or place in an order (docs/howto/columns.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shuffledp import checks
from shuffledp.accounting.protocols import Rounds
from shuffledp.collection.analysis import Estimate
from shuffledp.collection.analysis.rotation import Rotation
from shuffledp.collection.devices import Stream, device
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.pipeline.engines import Advance, block_rows, check_users
from shuffledp.collection.pipeline.job import Job, numbered, plain
from shuffledp.collection.pipeline.label import DROPPED, privacy, uncovered
from shuffledp.collection.pipeline.tables import Source, as_table, known_rows, read
from shuffledp.collection.planning import Choice, Target, Vector, Wanted, together
from shuffledp.collection.planning.tasks import TURNED
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.errors import ParameterError
from shuffledp.labels import Interval, counted, in_full


@dataclass(frozen=True)
class Question:
    """What is asked, and by which messages it is answered.

    Parameters
    ----------
    asked
        As it was put.
    weight
        How much its error counts.
    limit
        How many messages it may take: more than one for vectors only.
    messages
        What devices run for it, once that is known.
    error
        Expected, of one estimate, as a share of users or of the range.
    turned
        Whether vectors are turned before their coordinates are sent.
    """

    asked: Job
    weight: float = 1.0
    limit: int = 1
    messages: tuple[Job, ...] = ()
    error: float = 0.0
    turned: bool = False

    @property
    def wanted(self) -> Wanted:
        """As the planner knows it."""
        task = self.asked.question
        if isinstance(task, Vector):
            task = replace(task, messages=self.limit)
        return Wanted(task, self.weight, self.asked.mechanism)

    def answered_by(self, choice: Choice) -> Question:
        """With the messages of this choice."""
        return replace(
            self,
            messages=_messages(self.asked, choice),
            error=choice.error,
            turned=choice.name.startswith(TURNED),
        )

    def rotation(self, stream: Stream) -> Rotation | None:
        """Drawn anew, if vectors are turned before their coordinates are sent."""
        asked = self.asked
        if not self.turned:
            return None
        assert asked.norm is not None
        length = asked.norm / (asked.high - asked.low)
        return Rotation.drawn(len(asked.columns), length, asked.n, stream)

    def reports(
        self, batch: Any, row: int, turn: Rotation | None, stream: Stream
    ) -> Iterator[Reports]:
        """Of every message, for the users in a record batch."""
        if turn is None:
            for job in self.messages:
                yield job.encode(batch.select(list(job.columns)), row, stream)
            return
        columns = [plain(column) for column in batch.select(list(self.asked.columns)).columns]
        turned = turn.shares(self.asked.inputs(columns, row) - 0.5)
        for job, shares in zip(self.messages, turned.T, strict=True):
            yield job.device.encode(shares, stream)

    def estimate(self, tallies: Sequence[Any], turn: Rotation | None = None) -> Estimate:
        """The answer, from what was counted of each message."""
        if turn is not None:
            return self._turned_back(tallies, turn)
        parts = [job.estimate(tally) for job, tally in zip(self.messages, tallies, strict=True)]
        notes = list(dict.fromkeys(part.note for part in parts if part.note))
        if self.messages[0].norm != self.asked.norm:  # a bias that no error bar shows
            reach = f"{self.asked.norm:g} from the middle of the range"
            notes.append(f"means of coordinates clipped to {reach}")
        if len(parts) == 1:
            return replace(parts[0], note="; ".join(notes))
        return replace(
            parts[0],
            names=tuple(name for part in parts for name in part.names),
            values=np.concatenate([part.values for part in parts]),
            variances=np.concatenate([part.variances for part in parts]),
            reports=min(part.reports for part in parts),
            note="; ".join(notes),
        )

    def _turned_back(self, tallies: Sequence[Any], turn: Rotation) -> Estimate:
        parts = [job.estimate(tally) for job, tally in zip(self.messages, tallies, strict=True)]
        values, variances = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("values", "variances")
        )
        found, spread = turn.back(values, variances, len(self.asked.columns))
        whole = replace(
            parts[0],
            names=self.asked.columns,
            values=0.5 + found,
            variances=spread,
            reports=min(part.reports for part in parts),
            note=f"means of vectors clipped to {self.asked.norm:g} from the middle of the range",
        )
        return whole.scaled(self.asked.low, self.asked.high)


def _messages(asked: Job, choice: Choice) -> tuple[Job, ...]:
    """A vector's coordinates in groups, a message for each; anything else as one message."""
    task = asked.question
    if not isinstance(task, Vector):
        return (replace(asked, mechanism=choice.name, strength=choice.strength).with_windows(),)
    inner, times = task.split(choice.name)
    found = replace(asked, mechanism=inner, strength=choice.strength)
    if inner == "gaussian-vector":
        return (found,)
    if inner.startswith(TURNED):
        names = (f"turned coordinate {i}" for i in range(times))
        mean: dict[str, Any] = {"task": "mean", "norm": None, "low": 0.0, "high": 1.0}
        mean["mechanism"] = inner.removeprefix(TURNED)
        return tuple(replace(found, columns=(each,), **mean) for each in names)
    if asked.norm is not None:  # no coordinate is further from the middle than the vector
        middle = 0.5 * (asked.low + asked.high)
        reach = min(asked.norm, 0.5 * (asked.high - asked.low))
        found = replace(found, low=middle - reach, high=middle + reach, norm=None)
    if times == 1:
        return (found,)
    jobs, place = [], 0
    for size in task.groups(times):
        group = asked.columns[place : place + size]
        jobs.append(replace(found, task="mean" if size == 1 else "vector", columns=group))
        place += size
    return tuple(jobs)


@dataclass(frozen=True)
class Questionnaire:
    """Several questions about the rows of one table, under one guarantee.

    Parameters
    ----------
    questions
        All about the same users: n, users, epsilon, delta and what becomes of bad rows agree.
    shuffled, simulated
        What has become of it.

    Examples
    --------
    >>> from shuffledp.collection.devices import simulation
    >>> from shuffledp.collection.pipeline import Job, Question, Questionnaire
    >>> promise = {"n": 4000, "epsilon": 2.0, "delta": 1e-6, "mechanism": "best"}
    >>> asked = Questionnaire((
    ...     Question(Job("histogram", ("pet",), categories=("cat", "dog"), **promise)),
    ...     Question(Job("mean", ("age",), low=0.0, high=100.0, **promise)),
    ... )).calibrated()
    >>> data = {"pet": ["cat", "cat", "cat", "dog"] * 1000, "age": [20.0, 40.0, 60.0, 80.0] * 1000}
    >>> done, answers = asked.collect(data, simulation(1))
    >>> bool(abs(answers[0].values[0] - 0.75) < 0.05), bool(abs(answers[1].values[0] - 50.0) < 5.0)
    (True, True)
    """

    questions: tuple[Question, ...]
    shuffled: bool = False
    simulated: bool = False

    def __post_init__(self) -> None:
        if not self.questions:
            raise ParameterError("tasks", "at least one", 0)
        first = self.questions[0].asked
        for each in self.questions:
            for name in ("n", "users", "epsilon", "delta", "bad_rows"):
                if getattr(each.asked, name) != getattr(first, name):
                    value = getattr(each.asked, name)
                    raise ParameterError(name, "the same for all questions", value)
            if each.asked.values_from_data:
                raise ParameterError("categories", "public values", each.asked.columns)

    @property
    def _first(self) -> Job:
        return self.questions[0].asked

    @property
    def n(self) -> int:
        """Users who are sure to report."""
        return self._first.n

    @property
    def epsilon(self) -> float:
        """Promised for all together."""
        return self._first.epsilon

    @property
    def delta(self) -> float:
        """Promised for all together."""
        return self._first.delta

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table, each once."""
        return tuple(dict.fromkeys(name for x in self.questions for name in x.asked.columns))

    @property
    def messages(self) -> tuple[Job, ...]:
        """Of each user, in order."""
        return tuple(job for each in self.questions for job in each.messages)

    @property
    def about(self) -> str:
        """What is asked, in words."""
        return "; ".join(each.asked.about for each in self.questions)

    def calibrated(
        self, progress: Callable[[Iterable[str]], Iterable[str]] = iter
    ) -> Questionnaire:
        """With the best mechanisms and budgets that the guarantee allows for all together.

        Parameters
        ----------
        progress
            Wraps the names of the tasks, for a progress bar.
        """
        target = Target(self.epsilon, self.delta, self.n)
        found = together([each.wanted for each in self.questions], target, progress)
        pairs = zip(self.questions, found.choices, strict=True)
        return replace(self, questions=tuple(each.answered_by(choice) for each, choice in pairs))

    def at_budget(self, eps0: float) -> Questionnaire:
        """A single question with this local budget of each message; what it guarantees is computed.

        Parameters
        ----------
        eps0
            As a plan found it, for the mechanism that is named.
        """
        (question,) = self.questions
        task, name = question.wanted.task, question.asked.mechanism
        if name == "best":
            raise ParameterError("mechanism", "named, with a local budget", name)
        build = task.randomizers()[task.known(name)]
        if build(checks.positive("eps0", eps0)).eps0 == math.inf:
            raise ParameterError("eps0", "left out for noise without a pure budget", eps0)
        machine = device(build(eps0))
        choice = Choice(
            *(name, "shuffler", machine.randomizer.eps0),
            error=task.error_of(name, machine, self.n),
            strength=eps0,
            messages=task.messages_of(name),
        )
        fixed = replace(self, questions=(question.answered_by(choice),))
        asked = replace(question.asked, epsilon=fixed.protocol.epsilon(self.delta).upper)
        return replace(self, questions=(replace(question, asked=asked).answered_by(choice),))

    @cached_property
    def protocol(self) -> Rounds:
        """What is accounted for: a shuffled round for every message."""
        if not self.messages:
            raise ParameterError("tasks", "calibrated first", self.about)
        return Rounds([job.protocol for job in self.messages])

    @cached_property
    def guarantee(self) -> Interval:
        """epsilon at the promised delta of all that is run."""
        found = self.protocol.epsilon(self.delta)
        if found.upper > self.epsilon:  # where the promise itself is proven, no search is needed
            promised = self.protocol.guaranteed(epsilon=self.epsilon)
            if promised.value <= self.delta:
                return replace(found, upper_end=replace(found.upper_end, value=self.epsilon))
        return found

    def checked(self) -> Questionnaire:
        """Itself, if what runs keeps what was promised."""
        if self.guarantee.upper > self.epsilon:
            raise ParameterError(
                "strength", f"such that epsilon <= {self.epsilon:g} holds", self.guarantee.upper
            )
        return self

    @property
    def uncovered(self) -> str:
        """Why nothing is proven of what is released, if so."""
        return uncovered(simulated=self.simulated, values_from_data=False)

    @property
    def not_covered(self) -> list[str]:
        """Everything that no guarantee covers."""
        dropping = self._first.bad_rows == "drop"
        return [*filter(None, [self.uncovered]), *[DROPPED] * dropping]

    @property
    def proven(self) -> Interval | None:
        """What holds for all answers together, if anything does."""
        return self.guarantee if self.shuffled and not self.uncovered else None

    @property
    def label(self) -> str:
        """What all answers together cost, and under which condition."""
        sent = len(self.messages)
        together = (
            f"{sent} messages each, shuffled separately and linked by nothing"
            if sent > 1
            else self.messages[0].described
        )
        users = counted(self.n, "user")
        said = [f"{privacy(self.guarantee, self.delta, self.uncovered)}, {users}, {together}"]
        if self.guarantee.upper > self.epsilon:
            said.append(f"NOT the promised epsilon {in_full(self.epsilon)}")
        return "; ".join(said + [DROPPED] * (self._first.bad_rows == "drop"))

    def collect(
        self,
        data: Source,
        stream: Stream,
        *,
        book: Callable[[Questionnaire, frozenset[str]], None] = lambda _asked, _reports: None,
        advance: Advance = lambda _rows: None,
        memory: int = MEMORY,
    ) -> tuple[Questionnaire, list[Estimate]]:
        """Randomize, shuffle and estimate all of it.

        Counts of each kind of message are all that is kept, so nothing links those of a user.

        Parameters
        ----------
        data
            The table of what users hold, as ``run`` takes it.
        stream
            Where randomness comes from.
        book
            Records the release before it is made, as one spend.
        advance
            Called with the number of rows done.
        memory
            Bytes for rows and reports.

        Returns
        -------
        tuple
            The questionnaire as it ran, and an estimate for each question.
        """
        done = replace(self.checked(), shuffled=True, simulated=stream.simulated)
        table = as_table(data, done.columns)
        jobs = done.messages
        if (in_all := known_rows(table)) is not None:
            check_users(done._first, in_all, "rows of the table")
        tallies = [job.tally(memory // (2 * len(jobs))) for job in jobs]
        rows, size = min(block_rows(job, memory) for job in jobs), memory // 8
        turns = [question.rotation(stream) for question in done.questions]
        seen = 0
        for row, batch in numbered(read(table, done.columns, rows=rows, size=size)):
            check_users(done._first, row + batch.num_rows, "rows of the table")
            sent = (
                reports
                for question, turn in zip(done.questions, turns, strict=True)
                for reports in question.reports(batch, row, turn, stream)
            )
            for tally, reports in zip(tallies, sent, strict=True):
                tally.add(reports)
            seen = row + batch.num_rows
            advance(batch.num_rows)
        for job, tally in zip(jobs, tallies, strict=True):
            if tally.reports < done.n:
                enough = f"at least the promised batch of {done.n} rows for {job.about}"
                raise ParameterError("data", enough, tally.reports)
        book(done, frozenset())  # whether reports are enough may be chance: no second try for free
        left, answers = iter(tallies), []
        for question, turn in zip(done.questions, turns, strict=True):
            found = question.estimate([next(left) for _ in question.messages], turn)
            dropped = seen - found.reports
            answers.append(replace(found, guarantee=done.proven, label=done.label, dropped=dropped))
        return done, answers

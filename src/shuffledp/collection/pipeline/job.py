"""What is asked of the users' data, so that every step, on any machine, means the same."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.accounting.protocols import Shuffled
from shuffledp.collection import analysis, planning
from shuffledp.collection.analysis import (
    Distribution,
    Estimate,
    Frequencies,
    FrequentWords,
    Tally,
    Together,
    quantiles,
)
from shuffledp.collection.devices import Device, Stream, device
from shuffledp.collection.devices.device import Reports
from shuffledp.collection.devices.vectors import GaussianVectorDevice
from shuffledp.collection.pipeline.label import DROPPED, UNSHUFFLED, privacy, uncovered
from shuffledp.collection.pipeline.tables import arrow
from shuffledp.collection.planning import (
    MeanQuantiles,
    Sometimes,
    Target,
    Task,
    local_warning,
    plan,
)
from shuffledp.collection.shuffling.shuffler import MEMORY
from shuffledp.errors import NOT_SHOWN, ParameterError
from shuffledp.labels import Interval, counted, in_full

DISTRIBUTION = ("mean,quantiles", "mean,quantiles,histogram")
"""Several answers from one report of a number."""
TASKS = ("histogram", "heavy-hitters", "quantiles", "mean", *DISTRIBUTION, "vector")
BAD_ROWS = ("refuse", "drop")
QUARTILES = (0.25, 0.5, 0.75)
_MOST = 1e150
"""Ends of ranges, so that squares of their difference are numbers."""
_SHOWN = 60
_WHOLE = 2**53
"""Up to here every whole number is a double."""


@dataclass(frozen=True)
class Job:
    """One collection: the question, the guarantee promised, and the randomizer that keeps it."""

    task: str
    columns: tuple[str, ...]
    n: int
    epsilon: float
    delta: float
    mechanism: str = ""
    strength: float = 0.0
    """eps0, or what takes its place for randomizers without a pure budget."""
    categories: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    bins: int = 64
    norm: float | None = None
    windows: int = 0
    """Windows of reports in the range, for several answers from one; 0: not chosen yet."""
    letters: int = 4
    """Bytes of a word that count; the others are cut off."""
    most: int = 20
    """Words to find."""
    users: int = 0
    """Users asked in all, of which at least n report; 0 for n."""
    check_in: float = 1.0
    """Probability with which a user reports."""
    collection: str = ""
    """Files of parts of one collection have this name in common."""
    part: int = 1
    parts: int = 1
    """Nobody is in two parts."""
    other: str = ""
    """Category of all values that are not declared; none: they are bad rows."""
    bad_rows: str = "refuse"
    """What becomes of a row without a declared value: 'refuse' all, or 'drop' that one."""
    values_from_data: bool = False
    """The categories were read from the data, so that they are published as they are."""
    batch: str = ""
    """Of reports not shuffled yet: which run of the devices they come from."""
    shuffled: bool = False
    simulated: bool = False

    def __post_init__(self) -> None:
        checks.one_of("task", self.task, TASKS)
        if self.task != "vector" and len(self.columns) != 1:
            raise ParameterError("column", f"one for task {self.task!r}", list(self.columns))
        checks.count("n", self.n)
        if checks.whole("users", self.users, 0) and self.users < self.n:
            raise ParameterError("users", f"at least the fewest that report, {self.n}", self.users)
        checks.whole("parts", self.parts, 1)
        if checks.whole("part", self.part, 1) > self.parts:
            raise ParameterError("part", f"from 1 to {self.parts}", self.part)
        if (self.parts > 1) != bool(self.collection):
            raise ParameterError(
                "collection", "a name if there are several parts, and only then", self.collection
            )
        checks.one_of("bad_rows", self.bad_rows, BAD_ROWS)
        if self.check_in != 1.0:
            checks.probability("check_in", self.check_in)
        if self.check_in < 1.0 and self.bad_rows == "drop":
            raise ParameterError("bad_rows", "left out with --check-in: who is silent?", "drop")
        if self.other and self.other not in self.categories:
            raise ParameterError("other", "one of the categories", self.other)
        checks.positive("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        if self.task == "histogram":
            distinct(self.categories)
        if self.task in ("quantiles", "mean", *DISTRIBUTION, "vector"):
            for name, end in (("low", self.low), ("high", self.high)):
                checks.real(name, end, f"a number within +-{_MOST:g}", -_MOST, _MOST)
            if not self.low < self.high:
                raise ParameterError("high", f"a number above low = {self.low:g}", self.high)
        checks.whole("bins", self.bins, 2)
        checks.whole("most", self.most, 1)
        if self.windows and self.task not in DISTRIBUTION:
            raise ParameterError("windows", f"left out for task {self.task!r}", self.windows)
        if checks.whole("letters", self.letters, 1) > 7:
            raise ParameterError("letters", "at most 7", self.letters)
        if self.norm is not None and self.task != "vector":
            raise ParameterError("norm", "left out unless the task is vector", self.norm)

    counts_users: ClassVar[bool] = False
    """Whether the description of what users run says how many there are."""

    @property
    def most_users(self) -> int:
        """No more reports than this are of different users."""
        return self.users or self.n

    @property
    def about(self) -> str:
        """What is asked, in words."""
        return f"{self.task} of {', '.join(self.columns)}"

    @property
    def question(self) -> Task:
        """As the planner knows it."""
        asked = self._asked
        return asked if self.check_in == 1.0 else Sometimes(asked, self.check_in)

    @property
    def _asked(self) -> Task:
        """What is asked of those who report."""
        return planning.task(
            DISTRIBUTION[0] if self.task in DISTRIBUTION else self.task,
            k=len(self.categories),
            bins=self.bins,
            bits=8 * self.letters,
            dimensions=len(self.columns),
            norm=None if self.norm is None else self.norm / (self.high - self.low),
            n=self.n,
            windows=self.windows,
        )

    @property
    def _settled(self) -> Task:
        """The question, once nothing of what users run depends on how many they are."""
        if self.task in DISTRIBUTION and not self.windows:
            raise ParameterError("windows", f"given for task {self.task!r}", self.windows)
        return self.question

    @cached_property
    def device(self) -> Device:
        """What each user runs."""
        return _device(self._settled, self.mechanism, self.strength)

    def calibrated(self, progress: Callable[[Any], Any] = iter) -> Job:
        """With the largest local budget the guarantee allows; 'best' picks the mechanism, too."""
        target = Target(self.epsilon, self.delta, self.n)
        if self.mechanism == "best":
            best = plan(self.question, target, progress).best
            name, strength = best.name, best.strength
        else:
            name = self.question.known(self.mechanism, "best")
            strength = target.largest(self.question.randomizers()[name])[0]
        return replace(self, mechanism=name, strength=strength).with_windows()

    def with_windows(self) -> Job:
        """With those that the planner takes at this budget; they stay, whoever turns up."""
        asked = self._asked
        if not isinstance(asked, MeanQuantiles):
            return self
        return replace(self, windows=asked.chosen(self.mechanism, self.strength).windows)

    def at_strength(self, strength: float) -> Job:
        """With noise of this strength, as a plan found it, where there is no local budget."""
        build = self.question.randomizers()[self.question.known(self.mechanism)]
        if build(checks.positive("strength", strength)).eps0 < math.inf:
            raise ParameterError("strength", "left out for --eps0, a local budget", strength)
        fixed = replace(self, strength=strength)
        return replace(fixed, epsilon=fixed.guarantee.upper)

    def at_budget(self, eps0: float) -> Job:
        """With this local budget, as a plan found it; what it guarantees is computed."""
        if self.mechanism == "best":
            raise ParameterError("mechanism", "named, with a local budget", self.mechanism)
        build = self.question.randomizers()[self.question.known(self.mechanism)]
        if build(checks.positive("eps0", eps0)).eps0 == math.inf:
            raise ParameterError("eps0", "left out for noise without a pure budget", eps0)
        fixed = replace(self, strength=eps0).with_windows()
        return replace(fixed, epsilon=fixed.guarantee.upper)

    @property
    def guarantee(self) -> Interval:
        """epsilon at the promised delta of what is really run."""
        return _guarantee(self._settled, self.mechanism, self.strength, self.n, self.delta)

    def checked(self) -> Job:
        """Itself, if what runs keeps what was promised."""
        if self.guarantee.upper > self.epsilon:
            raise ParameterError(
                "strength", f"such that epsilon <= {self.epsilon:g} holds", self.guarantee.upper
            )
        return self

    @property
    def protocol(self) -> Shuffled:
        """What is accounted for."""
        return Shuffled(self.device.randomizer, self.n)

    @property
    def described(self) -> str:
        """What users run, in words."""
        return str(self.device.randomizer)

    @property
    def eps0(self) -> float:
        """Local budget, infinite if there is none."""
        return self.device.randomizer.eps0

    def encode(self, batch: Any, first_row: int, stream: Stream) -> Reports:
        """Reports of the users in a record batch."""
        columns = [plain(column) for column in batch.columns]
        return self.device.encode(self.inputs(columns, first_row), stream)

    def inputs(self, columns: Sequence[Any], first_row: int) -> NDArray[Any]:
        """What devices are given, of the rows that have it."""
        if self.bad_rows == "drop":
            columns = self._good(columns)
        return self._inputs(columns, first_row)

    def _good(self, columns: Sequence[Any]) -> list[Any]:
        """The rows with a declared value in every column."""
        pa = arrow()
        good = np.ones(len(columns[0]), bool)
        for column in columns:
            if self.task in ("histogram", "heavy-hitters"):
                good &= ~missing(column)
                if self.task == "histogram" and not self.other:
                    good &= ~missing(_found(texts(column), self.categories))
            else:
                good &= ~not_numbers(column)
        return [column.filter(pa.array(good)) for column in columns]

    def _inputs(self, columns: Sequence[Any], first_row: int) -> NDArray[Any]:
        if self.task == "histogram":
            return places(columns[0], self.categories, first_row, self.other)
        if self.task == "heavy-hitters":
            return words(columns[0], self.letters, first_row)
        for column in columns:
            if arrow().types.is_integer(column.type):
                for name, end in (("low", self.low), ("high", self.high)):
                    checks.real(name, end, "within +-2^53 for whole numbers", -_WHOLE, _WHOLE)
        table = np.stack([numbers(column, first_row) for column in columns], axis=1)
        with np.errstate(over="ignore"):  # far out of the range is out of the range
            shares = np.clip((table - self.low) / (self.high - self.low), 0.0, 1.0)
        if self.task == "vector":
            return shares
        if self.task == "mean" or self.task in DISTRIBUTION:
            return shares[:, 0]
        return np.minimum(np.floor(shares[:, 0] * self.bins), self.bins - 1).astype(np.int64)

    def tally(self, memory: int = MEMORY) -> Tally:
        """An empty tally; ``memory`` is in bytes, for reports that have to be kept."""
        if self.task in DISTRIBUTION:
            return Distribution(self.device)
        return analysis.tally(self.device, memory)

    def estimate(self, tally: Tally) -> Estimate:
        """The answer, with the privacy it cost."""
        if isinstance(tally, FrequentWords):
            found = tally.estimate(self.most)
            cut = f"words are cut to {counted(self.letters, 'byte')} (letters)"
            found = replace(
                found,
                names=tuple(text(word, self.letters) for word in found.names),
                note="; ".join(filter(None, (found.note, cut))),
            )
        elif isinstance(tally, Distribution):
            found = self._several(tally)
        elif self.task == "histogram":
            found = tally.estimate(self.categories)
        elif self.task == "quantiles":
            assert isinstance(tally, Frequencies)
            found = quantiles(tally, QUARTILES)[0].scaled(self.low, self.high)
        else:
            found = tally.estimate(self.columns).scaled(self.low, self.high)
        if self.norm is not None and isinstance(self.device.speaking, GaussianVectorDevice):
            # a bias that no error bar shows
            clipped = f"means of vectors clipped to {self.norm:g} from the middle of the range"
            found = replace(found, note="; ".join(filter(None, (found.note, clipped))))
        note = "; ".join(filter(None, (found.note, local_warning(self.eps0))))
        return replace(found, guarantee=self.proven, label=self.label, note=note)

    def _several(self, tally: Distribution) -> Estimate:
        """Mean, quartiles and, if asked for, cells, from the same reports."""
        parts: list[Estimate] = [tally.estimate(self.columns), tally.quantiles(QUARTILES)]
        if self.task == DISTRIBUTION[1]:
            parts.append(tally.histogram(self.bins))
        scaled = [part.scaled(self.low, self.high) for part in parts]
        window = (tally.floor.window + 1) / tally.floor.steps * (self.high - self.low)
        found = Together.of("estimate", scaled)
        return replace(
            found,
            note="limits of quantiles and cells assume nothing of where users are inside a window"
            f" of {window:.3g}",
        )

    @property
    def uncovered(self) -> str:
        """Why nothing is proven of what is released, if so."""
        return uncovered(simulated=self.simulated, values_from_data=self.values_from_data)

    @property
    def not_covered(self) -> list[str]:
        """Everything that no guarantee covers."""
        return [*filter(None, [self.uncovered]), *[DROPPED] * (self.bad_rows == "drop")]

    @property
    def proven(self) -> Interval | None:
        """What holds for the release as a whole, if anything does."""
        return self.guarantee if self.shuffled and not self.uncovered else None

    @property
    def label(self) -> str:
        """What the answer cost, and what the guarantee does not cover:
        the same words wherever it is shown."""
        device = self.described
        users = device if self.counts_users else f"{counted(self.n, 'user')}, {device}"
        dropped = [DROPPED] * (self.bad_rows == "drop")
        if not self.shuffled:
            alone = f"{UNSHUFFLED}; each report alone is {device}"
            return "; ".join([*filter(None, [self.uncovered]), alone, *dropped])
        known = self.guarantee
        said = [f"{privacy(known, self.delta, self.uncovered)}, {users}"]
        if known.upper > self.epsilon:
            said.append(f"NOT the promised epsilon {in_full(self.epsilon)}, which needs more users")
        return "; ".join(said + dropped)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str, source: str | Path = "") -> Job:
        """The job a file of reports belongs to."""

        def wrong(field: str, condition: str, value: object) -> ParameterError:
            where = f"'{field}' in the header of {source}" if source else f"'{field}'"
            return ParameterError("reports", f"with {where} {condition}", value)

        given = read_header(text, source)
        known = {field.name: str(field.type) for field in fields(cls)}
        for name in [*known, *given]:
            if name not in given or name not in known:
                raise wrong(name, "given" if name in known else "left out", given.get(name))
            condition, holds = _JSON[known[name]]
            if not holds(given[name]):
                raise wrong(name, condition, given[name])
        try:
            lists = {name: tuple(given[name]) for name in ("columns", "categories")}
            job = cls(**given | lists)
            job.question.known(job.mechanism)
            checks.positive("strength", job.strength)
            _ = job.device  # whatever it refuses is refused here
        except ParameterError as error:
            raise wrong(error.parameter, error.condition, error.value) from error
        return job


def read_header(text: str, source: str | Path) -> dict[str, Any]:
    """What a file of reports says of itself."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise ParameterError("reports", f"with a header of 'shuffledp encode' ({source})", shown)
    return given


def _device(question: Task, mechanism: str, strength: float) -> Device:
    return device(question.randomizers()[mechanism](strength))


@lru_cache(maxsize=16)
def _guarantee(question: Task, mechanism: str, strength: float, n: int, delta: float) -> Interval:
    """Once for all steps of a job: it may take seconds."""
    return Shuffled(_device(question, mechanism, strength).randomizer, n).epsilon(delta)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


_JSON: dict[str, tuple[str, Callable[[object], bool]]] = {
    "str": ("a text", lambda value: isinstance(value, str)),
    "tuple[str, ...]": ("a list of texts", _texts),
    "int": ("a whole number", lambda value: isinstance(value, int) and _number(value)),
    "float": ("a finite number", _number),
    "float | None": ("a finite number or null", lambda value: value is None or _number(value)),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
}
"""What the fields of a job are in a header."""


def distinct(categories: tuple[str, ...]) -> None:
    """At least two, none twice."""
    if len(categories) < 2:
        raise ParameterError("categories", "at least two", list(categories))
    twice = sorted(name for name, times in Counter(categories).items() if times > 1)
    if twice:
        raise ParameterError("categories", "each given once", ", ".join(twice))


def plain(column: Any) -> Any:
    """The same values, laid out as every function of pyarrow knows them."""
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    views = {"string_view": pa.string(), "binary_view": pa.binary()}
    known = views.get(str(column.type))
    return column if known is None else column.cast(known)


def missing(column: Any) -> NDArray[np.bool_]:
    """Which values are null."""
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)


def present(column: Any, first_row: int) -> None:
    """No value is missing."""
    if column.null_count:
        row = first_row + int(np.flatnonzero(missing(column))[0])
        raise ParameterError(
            "data", f"without missing values (row {row + 1}); quoted, NA and null are text", "null"
        )


def texts(column: Any) -> Any:
    """Values as text."""
    pa = arrow()
    try:
        return plain(column).cast(pa.string())
    except (pa.ArrowException, UnicodeDecodeError):
        raise ParameterError("column", "of text or whole numbers", str(column.type)) from None


def _found(values: Any, categories: tuple[str, ...]) -> Any:
    pa = arrow()
    return pa.compute.index_in(values, pa.array(categories, pa.string()))


def places(
    column: Any, categories: tuple[str, ...], first_row: int, other: str = ""
) -> NDArray[np.int64]:
    """Where each value is in the list. What is not there goes to ``other``, if one is declared."""
    present(column, first_row)
    found = _found(texts(column), categories)
    if found.null_count and other:
        found = found.fill_null(categories.index(other))
    if found.null_count:
        row = first_row + int(np.flatnonzero(missing(found))[0])
        raise ParameterError("data", f"of the declared categories only (row {row + 1})", NOT_SHOWN)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def words(column: Any, letters: int, first_row: int) -> NDArray[np.int64]:
    """The first bytes of each text as one number."""
    pa = arrow()
    present(column, first_row)
    cut = pa.compute.binary_slice(texts(column).cast(pa.binary()), 0, letters).to_pylist()
    rows = np.array(cut, f"S{letters}").view(np.uint8).reshape(-1, letters)
    places = 8 * np.arange(letters - 1, -1, -1)
    return np.asarray((rows.astype(np.int64) << places).sum(axis=1))


def text(word: int, letters: int) -> str:
    """What a number of ``words`` stands for."""
    return word.to_bytes(letters).rstrip(b"\0").decode(errors="replace")


def numbers(column: Any, first_row: int) -> NDArray[np.float64]:
    """Values as doubles, whole numbers beyond 2^53 rounded."""
    pa = arrow()
    present(column, first_row)
    try:
        values = np.asarray(_doubles(column).to_numpy(zero_copy_only=False))
    except (pa.ArrowException, UnicodeDecodeError):
        row = int(np.flatnonzero(not_numbers(column))[0])
        raise ParameterError("data", f"numbers (row {first_row + row + 1})", NOT_SHOWN) from None
    bad = np.flatnonzero(np.isnan(values))
    if bad.size:
        raise ParameterError("data", f"numbers (row {first_row + bad[0] + 1})", "not a number")
    return values


def _doubles(column: Any) -> Any:
    pa = arrow()
    column = plain(column)
    if pa.types.is_integer(column.type):
        return column.cast(pa.float64(), safe=False)  # rounded, which keeps the order
    return column.cast(pa.float64())


def not_numbers(column: Any) -> NDArray[np.bool_]:
    """Which values are missing, or no numbers."""
    pa = arrow()
    bad = missing(column)
    try:
        _doubles(column[:0])
    except pa.ArrowException:
        raise ParameterError("column", "of numbers", str(column.type)) from None

    def search(low: int, high: int) -> None:
        """Halves that are all numbers are settled at once."""
        try:
            values = _doubles(column[low:high]).to_numpy(zero_copy_only=False)
            bad[low:high] |= np.isnan(np.asarray(values, np.float64))
        except (pa.ArrowException, UnicodeDecodeError):
            if high - low == 1:
                bad[low] = True
                return
            middle = (low + high) // 2
            search(low, middle)
            search(middle, high)

    search(0, len(column))
    return bad


def numbered(batches: Any) -> Iterator[tuple[int, Any]]:
    """Each batch with the number of rows before it."""
    row = 0
    for batch in batches:
        yield row, batch
        row += batch.num_rows

"""One table of mechanisms: whoever names, writes down or runs one means the same."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

import shuffledp
from shuffledp import (
    CheckIn,
    GaussianVector,
    OneBitMean,
    OneCoordinate,
    ParameterError,
    Repeated,
    Shuffled,
    Subsampled,
)
from shuffledp.accounting import randomizers
from shuffledp.accounting.protocols import describe, restore
from shuffledp.accounting.protocols.named import SHAPES
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.catalogue import (
    BY_CLASS,
    DESCRIBED,
    MECHANISMS,
    OFFERED,
    PARAMETERS,
    WRAPPERS,
    Mechanism,
    build,
)
from shuffledp.collection.analysis import tally
from shuffledp.collection.analysis.means import decoder
from shuffledp.collection.analysis.support import law
from shuffledp.collection.auditing.likelihood import likelihood, telling_values
from shuffledp.collection.devices import Device, device, simulation
from shuffledp.collection.devices.numeric import Numeric
from shuffledp.collection.devices.vectors import Vector as VectorDevice
from shuffledp.collection.planning import HeavyHitters, Histogram, Mean, Task, Vector
from shuffledp.interfaces.cli import main
from shuffledp.interfaces.cli.options import mechanism_options
from shuffledp.interfaces.web.equivalents import command_line, snippet
from shuffledp.interfaces.web.fields import MECHANISM, NAMES, read
from shuffledp.ledger import Entry, Ledger, entries

ROWS = np.random.default_rng(1).random((4, 9)) ** 3
PLAIN: dict[str, Any] = {
    "eps0": 0.1 + 0.2,
    "delta0": 1e-7,
    "k": 7,
    "g": 3,
    "d": 2,
    "levels": 5,
    "width": 0.3,
    "sigma": 1.0 / 3.0,
    "sensitivity": 0.7,
    "scalar": True,
}
GIVEN = PLAIN | {
    "variance": 1.6875,
    "window": 2,
    "dimensions": 3,
    "bits": 8,
    "step": 2,
    "randomizer": OneBitMean(eps0=0.1 + 0.2),
    "rate": 1.0 / 3.0,
    "m": 7,
    "rounds": 3,
}


def _cases(row: Mechanism, folder: Path) -> Iterator[dict[str, Any]]:
    """Parameters of a mechanism: what it needs, and all it takes."""
    file = folder / "channel.csv"
    np.savetxt(file, ROWS / ROWS.sum(axis=1, keepdims=True), fmt="%.12f", delimiter=",")
    known = GIVEN | {"channel": str(file)}
    if row.kind is GaussianVector:
        del known["scalar"]  # which is for numbers
    for names in (row.needs, [*row.parameters])[: 1 + bool(row.takes)]:
        yield {name: known[name] for name in names if name in known}


def _made(row: Mechanism, folder: Path) -> list[Randomizer]:
    return [row.build(**given) for given in _cases(row, folder)]


def _same(one: Randomizer, other: Randomizer) -> bool:
    if isinstance(one, randomizers.Channel) and isinstance(other, randomizers.Channel):
        return np.array_equal(one.matrix, other.matrix)
    return one == other


every = pytest.mark.parametrize("row", MECHANISMS.values(), ids=list(MECHANISMS))
offered = pytest.mark.parametrize("row", OFFERED.values(), ids=list(OFFERED))


def test_every_class_has_a_row() -> None:
    public = (getattr(randomizers, name) for name in randomizers.__all__)
    classes = {each for each in public if isinstance(each, type) and issubclass(each, Randomizer)}
    assert classes - {Randomizer} == set(BY_CLASS)


def test_names_and_classes_are_told_apart() -> None:
    assert len(set(DESCRIBED.values())) == len(DESCRIBED)
    for row in MECHANISMS.values():
        assert DESCRIBED[row.described or row.name] is row.kind
        assert row.build.__name__ in shuffledp.__all__ or row.name == "channel"


def test_every_parameter_can_be_given() -> None:
    used = {name for row in OFFERED.values() for name in row.parameters}
    assert used | set(WRAPPERS) == set(PARAMETERS)
    assert all(row.title for row in OFFERED.values())


@every
def test_a_description_is_the_mechanism(row: Mechanism, tmp_path: Path) -> None:
    for made in _made(row, tmp_path):
        wrapped = [made, CheckIn(made, 1.0 / 3.0)] if made.layer == 0 else [made]
        wrapped += [Subsampled(made, 30)] if made.layer == 0 else []
        wrapped += [Repeated(each, 1000) for each in wrapped if each.layer < 2]
        for randomizer in wrapped:
            protocol = Shuffled(randomizer, n=100)
            text = json.dumps(describe(protocol), allow_nan=False)
            restored = restore(json.loads(text))
            assert json.dumps(describe(restored)) == text
            assert str(restored) == str(protocol)
            assert isinstance(made, randomizers.Channel) or restored == protocol
        assert _same(restore(describe(Shuffled(made, 9))).randomizer, made)


@every
def test_a_ledger_reads_what_it_wrote(row: Mechanism, tmp_path: Path) -> None:
    for made in _made(row, tmp_path):
        entry = Entry.of(Shuffled(made, 20), 2)
        again = entries.read(entry.text, entry.rounds)
        assert again.text == entry.text
        assert isinstance(again.what, Shuffled)
        assert isinstance(entry.what, Shuffled)
        assert _same(again.what.randomizer, entry.what.randomizer)


def test_a_ledger_books_vectors(tmp_path: Path) -> None:
    ledger = Ledger.open(str(tmp_path / "book.db"))
    ledger.create("users", "10", "0.5")
    vectors = Shuffled(GaussianVector(5.0, 1.0, dimensions=3), 20)
    receipt = ledger.spend("users", vectors)
    assert ledger.history("users") == [receipt]
    assert receipt.entry.what == vectors
    assert receipt.lost["epsilon"] > 0


def _from_command_line(words: list[str]) -> Randomizer:
    seen: list[Randomizer] = []

    @click.command()
    @mechanism_options
    def command(**given: Any) -> None:
        seen.append(build(**given))

    assert CliRunner().invoke(command, words, catch_exceptions=False).exit_code == 0
    return seen[0]


def _words(row: Mechanism, given: dict[str, Any]) -> list[str]:
    words = ["--mechanism", row.name]
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)]
    return words


@offered
def test_the_command_line_means_it(row: Mechanism, tmp_path: Path) -> None:
    for given in _cases(row, tmp_path):
        made = row.build(**given)
        assert _same(_from_command_line(_words(row, given)), made)
        around = {"check_in": 0.25, "drawn": 9, "rounds": 3}
        wrapped = _from_command_line(_words(row, given | around))
        assert isinstance(wrapped, Repeated)
        draw = wrapped.randomizer
        assert isinstance(draw, Subsampled)
        assert (wrapped.rounds, draw.m) == (3, 9)
        assert isinstance(draw.randomizer, CheckIn)
        assert draw.randomizer.rate == 0.25
        assert _same(draw.randomizer.randomizer, made)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_means_it(name: str, tmp_path: Path) -> None:
    row = OFFERED[name]
    for plain in _cases(row, tmp_path):
        for around in ({}, {"check_in": 0.25}, {"drawn": 9, "rounds": 3}):
            given = plain | around
            made = build(name, **given)
            texts = {key: str(value) for key, value in given.items()}
            texts |= {"scalar": "true"} if "scalar" in given else {}
            asked = read(MECHANISM, [("mechanism", name), *texts.items()])
            assert build(**asked) == made
            said: dict[str, Any] = {}
            code = snippet(asked | {"n": 10}, {"delta": 0.1}, Shuffled(made, 10)).splitlines()
            exec("\n".join(code[:-1]), said)  # the last line prints the answer
            assert said["protocol"] == Shuffled(made, 10)
            line = command_line("account", asked, {}).split()
            assert line[:2] == ["shuffledp", "account"]
            assert _from_command_line(line[2:]) == made


TASKS: dict[str, Task] = {
    task.name: task for task in (Histogram(5), HeavyHitters(8), Mean(), Vector(3))
}


@every
def test_the_planner_considers_it(row: Mechanism) -> None:
    for name, task in TASKS.items():
        considered = task.randomizers()
        assert considered.keys() <= MECHANISMS.keys()
        assert (row.name in considered) == (
            row.task == name or (row.task, name) == ("mean", "vector")
        )
        if row.name in considered:
            made = considered[row.name](0.5)
            inner = made.randomizer if isinstance(made, OneCoordinate) else made
            assert type(inner) is row.kind
            assert device(made).randomizer.eps0 <= made.eps0


@every
def test_a_device_runs_it_or_the_table_says_why_not(row: Mechanism, tmp_path: Path) -> None:
    for made in _made(row, tmp_path):
        if row.no_device:
            with pytest.raises(ParameterError, match=r"a device can run \(") as caught:
                device(made)
            assert row.no_device in str(caught.value)
        elif row.name != "gaussian" or getattr(made, "scalar", False):  # vectors: gaussian-vector
            assert device(made).randomizer.eps0 <= made.eps0


def _values(machine: Device) -> Any:
    """What 50 users of it may hold."""
    machine, rng = machine.speaking, np.random.default_rng(5)
    if isinstance(machine, VectorDevice):
        return rng.random((50, machine.dimensions))
    return rng.random(50) if isinstance(machine, Numeric) else rng.integers(0, 2, 50)


@every
def test_reports_are_analysed_and_attacked(row: Mechanism, tmp_path: Path) -> None:
    for made in [] if row.no_device else _made(row, tmp_path):
        if row.name == "gaussian" and not getattr(made, "scalar", False):
            continue
        machine = device(made)
        reports = machine.encode(_values(machine), simulation(3))
        counted = tally(machine)
        counted.add(reports)
        found = counted.estimate()
        assert counted.reports == len(reports)
        assert len(found.values) == len(found.variances) == len(found.names)
        assert np.all(np.isfinite(found.values))
        assert np.all(found.variances >= 0.0)
        assert 0.0 < counted.expected_variance(50) < math.inf
        if machine.speaking is machine:  # who stays silent is not attacked
            for value in telling_values(machine):
                likely = likelihood(machine, value)(reports)
                assert likely.shape == (len(reports),)
                assert np.all(likely > 0.0)


def test_what_no_device_runs_is_not_analysed() -> None:
    class Odd(Device):
        randomizer = OneBitMean(eps0=1.0)

        def _inputs(self, values: Any) -> Any: ...
        def _encode(self, inputs: Any, stream: Any) -> Any: ...

    for ask in (tally, law, decoder, lambda machine: likelihood(machine, 0)):
        with pytest.raises(ParameterError, match="must be one"):
            ask(Odd())


@pytest.mark.parametrize(
    ("name", "near"), [("kr", "krr"), ("KRR", "krr"), ("gauss", "gaussian"), ("zzz", "")]
)
def test_a_misspelt_name_gets_the_nearest(name: str, near: str) -> None:
    hint = f" (did you mean {near}?)" if near else ""
    listed, all_listed = (
        f"must be one of {', '.join(names)}{hint}. Got {name!r}"
        for names in (OFFERED, [*OFFERED, *SHAPES])
    )
    with pytest.raises(ParameterError, match="mechanism") as caught:
        build(name, eps0=1.0)
    assert listed in str(caught.value)
    run = CliRunner().invoke(main, ["account", "--mechanism", name, "--n", "9", "--delta", "0.1"])
    assert (run.exit_code, run.stderr) == (2, f"Error: --mechanism {all_listed}.\n")

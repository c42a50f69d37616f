"""Protocols as data: every mechanism survives the round trip, bit for bit."""

import json
from pathlib import Path

import numpy as np
import pytest

from shuffledp import (
    KRR,
    LDP,
    Channel,
    CheckIn,
    Gaussian,
    ParameterError,
    Repeated,
    Shuffled,
    Subsampled,
)
from shuffledp.accounting.protocols import describe, restore
from shuffledp.accounting.randomizers import Randomizer
from shuffledp.accounting.randomizers.catalogue import MECHANISMS, build

GIVEN = {
    "eps0": 0.1 + 0.2,
    "delta0": 1e-7,
    "k": 7,
    "levels": 5,
    "sigma": 1.0 / 3.0,
    "sensitivity": 0.7,
    "scalar": True,
    "g": 3,
    "d": 2,
}


def _all(tmp_path: Path) -> list[Randomizer]:
    """Every mechanism of the catalogue, with and without its optional parameters."""
    rows = np.random.default_rng(1).random((4, 9)) ** 3
    file = tmp_path / "channel.csv"
    np.savetxt(file, rows / rows.sum(axis=1, keepdims=True), fmt="%.12f", delimiter=",")
    made = []
    for name, (_, needed, optional) in MECHANISMS.items():
        for taken in {needed, needed + optional}:
            given = {each: str(file) if each == "channel" else GIVEN[each] for each in taken}
            made.append(build(name, given))
    return made


def _round_trip(protocol: Shuffled) -> Shuffled:
    text = json.dumps(describe(protocol), allow_nan=False)
    restored = restore(json.loads(text))
    assert json.dumps(describe(restored)) == text
    return restored


def test_every_mechanism(tmp_path: Path) -> None:
    for randomizer in _all(tmp_path):
        for wrapped in (
            randomizer,
            CheckIn(randomizer, 0.1),
            Subsampled(randomizer, 30),
            Repeated(CheckIn(randomizer, 1.0 / 3.0), 1000),
            Repeated(Subsampled(CheckIn(randomizer, 0.5), 7), 3),
        ):
            protocol = Shuffled(wrapped, n=100)
            restored = _round_trip(protocol)
            assert str(restored) == str(protocol)
            if not isinstance(randomizer, Channel):
                assert restored == protocol


def test_a_channel_keeps_its_last_bits() -> None:
    rows = np.random.default_rng(2).random((3, 40))
    channel = Channel(rows / rows.sum(axis=1, keepdims=True))
    restored = _round_trip(Shuffled(channel, n=10)).randomizer
    assert isinstance(restored, Channel)
    assert np.array_equal(restored.matrix, channel.matrix)


def test_the_crowd_is_kept() -> None:
    protocol = Shuffled(KRR(4, eps0=1.0), n=1e6, colluders=10, minimum_batch=500)  # type: ignore[arg-type]
    assert _round_trip(protocol) == protocol
    assert describe(Shuffled(LDP(1), n=10)) == describe(Shuffled(LDP(1.0), n=10.0))  # type: ignore[arg-type]


def test_others_are_told_apart() -> None:
    base = Shuffled(Gaussian(sigma=2.0), n=100)
    others = [
        Shuffled(Gaussian(sigma=np.nextafter(2.0, 3.0)), n=100),
        Shuffled(Gaussian(sigma=2.0, scalar=True), n=100),
        Shuffled(Gaussian(sigma=2.0), n=101),
        Shuffled(Gaussian(sigma=2.0), n=100, colluders=1),
        Shuffled(Gaussian(sigma=2.0), n=100, minimum_batch=100),
        Shuffled(CheckIn(Gaussian(sigma=2.0), 1.0), n=100),
    ]
    texts = {json.dumps(describe(each), sort_keys=True) for each in [base, *others]}
    assert len(texts) == 1 + len(others)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"randomizer": {"mechanism": "krr", "k": 2, "eps0": 1.0}},
        {"randomizer": {"mechanism": "nonsense"}, "n": 3},
        {"randomizer": {"mechanism": "rr", "eps0": 1.0, "k": 3}, "n": 3},
        {"randomizer": {"mechanism": "rr", "eps0": -1.0}, "n": 3},
        {"randomizer": {"mechanism": "check-in", "rate": 0.5, "randomizer": 4}, "n": 3},
        {"randomizer": {"mechanism": "rr", "eps0": 1.0}, "n": 3, "unheard": 1},
    ],
)
def test_nonsense_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        restore(data)


def test_only_known_mechanisms_can_be_described() -> None:
    class Own(KRR):
        pass

    with pytest.raises(ParameterError, match="'randomizer'"):
        describe(Shuffled(Own(2, eps0=1.0), n=10))

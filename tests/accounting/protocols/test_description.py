"""Protocols as data; that every mechanism survives the round trip: tests/test_mechanisms.py."""

import json
from typing import Any

import numpy as np
import pytest

from shuffledp import (
    KRR,
    LDP,
    Channel,
    CheckIn,
    Gaussian,
    ParameterError,
    Shuffled,
)
from shuffledp.accounting.protocols import describe, restore


def _round_trip(protocol: Shuffled) -> Shuffled:
    text = json.dumps(describe(protocol), allow_nan=False)
    restored = restore(json.loads(text))
    assert json.dumps(describe(restored)) == text
    return restored


REPEATED: dict[str, Any] = {
    "mechanism": "repeated",
    "randomizer": {
        "mechanism": "drawn",
        "randomizer": {
            "mechanism": "check-in",
            "randomizer": {"mechanism": "ldp", "eps0": 0.7, "delta0": 0.0, "sequential": False},
            "rate": 0.4,
        },
        "m": 7,
    },
    "rounds": 3,
}
WRITTEN: list[dict[str, Any]] = [
    REPEATED,
    {"mechanism": "rr", "eps0": 0.7},
    {"mechanism": "krr", "eps0": 0.7, "k": 5},
    {"mechanism": "laplace", "eps0": 0.7},
    {"mechanism": "truncated-laplace", "eps0": 0.7},
    {"mechanism": "discrete-laplace", "levels": 4, "eps0": 0.7},
    {"mechanism": "gaussian", "sigma": 1.3, "sensitivity": 1.0, "scalar": True},
    {"mechanism": "discrete-gaussian", "levels": 5, "variance": 9.0},
    {"mechanism": "unary", "k": 5, "keep": 0.5, "flip": 0.25, "name": "any", "lose": 0.5},
    {"mechanism": "olh", "eps0": 0.7, "g": 3, "k": 5},
    {"mechanism": "hadamard", "eps0": 0.7, "k": 5},
    {"mechanism": "subset", "eps0": 0.7, "k": 5, "d": 2},
    {"mechanism": "one-bit", "eps0": 0.7},
    {"mechanism": "piecewise", "eps0": 0.7},
    {"mechanism": "discrete-piecewise", "eps0": 0.7, "levels": 8, "window": 3},
    {
        "mechanism": "one-coordinate",
        "randomizer": {"mechanism": "one-bit", "eps0": 0.7},
        "dimensions": 3,
    },
    {"mechanism": "one-prefix", "bits": 8, "step": 4, "g": 4, "eps0": 1.0},
    {"mechanism": "channel", "matrix": [[0.75, 0.25], [0.5, 0.5]]},
    {
        "mechanism": "gaussian-vector",
        "sigma": 1.3,
        "sensitivity": 1.7,
        "scalar": False,
        "dimensions": 3,
    },
]
"""As books hold them: none may change."""


@pytest.mark.parametrize("written", WRITTEN, ids=lambda written: written["mechanism"])
def test_what_is_written_in_books_can_be_read(written: dict[str, Any]) -> None:
    data = {"randomizer": written, "n": 100}
    assert json.dumps(describe(restore(data))) == json.dumps(data)


def test_a_book_that_does_not_say_may_mean_reports_in_order() -> None:
    written = {"randomizer": {"mechanism": "ldp", "eps0": 0.7, "delta0": 0.0}, "n": 100}
    assert restore(written).randomizer == LDP(0.7, sequential=True)


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

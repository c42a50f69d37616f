"""Every label is that of a registered theorem; printed numbers never look better than they are."""

import ast
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shuffledp
from shuffledp import LDP, InternalError, Shuffled, Status, Value
from shuffledp.labels import Direction, all_theorems, get_theorem, in_full, outward
from shuffledp.ledger.rules import Planned, Renyi, Sum, Undeclared
from shuffledp.training.accounting import CheckInRounds, Epochs

SOURCES = sorted(Path(shuffledp.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("status", [Status.PROVEN, Status.FIXED_PAIR])
def test_nobody_says_proven_but_the_registry(status: Status) -> None:
    """A theorem made on the spot, or one whose status was changed, labels no number."""
    known = get_theorem("chen-2024-gdp")
    for made in (replace(known, status=status), replace(known, id="mine", status=status)):
        with pytest.raises(InternalError, match="not registered"):
            Value(1.0, made)
        with pytest.raises(InternalError, match="not registered"):
            made.value(1.0)
    assert known.value(1.0).status is Status.ASYMPTOTIC


def test_labels_get_weaker_never_stronger() -> None:
    proven = get_theorem("stronger-clones")
    weak = proven.weakened("only a guess", Status.HEURISTIC, Direction.ESTIMATE)
    value = weak.value(0.1)
    assert (value.theorem, value.status, value.note) == (
        "stronger-clones",
        Status.HEURISTIC,
        "only a guess",
    )
    assert weak.proof is None
    with pytest.raises(InternalError, match="not PROVEN"):
        weak.weakened("why not", Status.PROVEN)
    assert get_theorem("stronger-clones").status is Status.PROVEN


def test_values_are_made_by_registered_theorems() -> None:
    """``theorem.value(number)`` makes a Value, in one place; every id that is written is known."""
    known = {theorem.id for theorem in all_theorems()}
    written = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", "")
            where = f"{path.name}, line {node.lineno}"
            assert name != "Value" or path.name == "labels.py", f"{where}: theorem.value(...)"
            if name == "Theorem":
                ids = [each.value for each in node.keywords if each.arg == "id"]
                written |= {each.value for each in ids if isinstance(each, ast.Constant)}
    assert written <= known
    assert len(written) > 50


def test_answers_of_runs_and_books_name_registered_theorems() -> None:
    known = {theorem.id: theorem for theorem in all_theorems()}
    accounts = [
        Epochs(eps0, 20, unit, 1e-5) for eps0 in (0.5, math.inf) for unit in ("sample", "client")
    ]
    for account in [
        *accounts,
        CheckInRounds(20.0, 100, 1.0, 1e-5),
        CheckInRounds(20.0, 100, 0.1, 1e-5),
    ]:
        for spent in (account.after(0), account.after(2)):
            for value in (spent.guarantee, *spent.claims):
                assert value.theorem in known
    for rule in (Sum, Renyi, Planned, Undeclared):
        assert known[rule.theorem.id] is rule.theorem
        assert rule.theorem.status is Status.PROVEN


@given(st.floats(1e-300, 1e300), st.booleans())
def test_rounding_goes_outward_and_not_far(value, up):
    shown = Fraction(outward(value, up))
    exact = Fraction(value)
    assert shown >= exact if up else shown <= exact
    assert abs(shown / exact - 1) < Fraction(1, 99_999)


def test_infinities_and_zero():
    assert outward(math.inf, up=True) == "inf"
    assert outward(0.0, up=False) == "0"


def test_an_interval_contains_its_ends_in_print():
    answer = Shuffled(LDP(2.0), 100_000).epsilon(1e-6)
    low, high = str(answer).split("[")[1].split("]")[0].split(", ")
    assert Fraction(low) <= Fraction(answer.lower) <= Fraction(answer.upper) <= Fraction(high)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1e-6, "1e-06"),
        (0.1, "0.1"),
        (2.0, "2"),
        (1.2345649e-6, "1.2345649e-06"),
        (0.1234564999, "0.1234564999"),
        (math.nextafter(0.1, 0.0), "0.1"),
        (math.nextafter(0.1, 1.0), "0.10000000000000002"),
        (math.inf, "inf"),
    ],
)
def test_what_was_asked_is_shown_in_full(value: float, shown: str) -> None:
    assert in_full(value) == shown

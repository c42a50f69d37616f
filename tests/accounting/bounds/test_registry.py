"""The registry keeps its promises: proofs exist, refutations recompute."""

from dataclasses import replace
from pathlib import Path

import pytest

import shuffledp
from shuffledp import Direction, ParameterError, Status, UnknownTheoremError
from shuffledp.accounting.bounds import all_bounds, all_theorems, get_bound, get_theorem
from shuffledp.accounting.protocols.refute import recompute
from shuffledp.labels import register

DOCS = Path(shuffledp.__file__).parents[2] / "docs"
BOUNDS = {b.theorem.id: b for b in all_bounds()}
THEOREMS = {theorem.id: theorem for theorem in all_theorems()}

PUBLISHED = {
    "balle-2019-bennett",
    "balle-2019-hoeffding",
    "chen-2024-exact",
    "chen-2024-exact-stronger",
    "chen-2024-gdp",
    "erlingsson-2019",
    "feldman-2021",
    "feldman-2021-approximate",
    "feldman-2021-closed",
    "feldman-2023-closed",
    "girgis-2021-full",
    "girgis-2021-lower",
    "girgis-2021-simple",
    "fixed-composition-2026",
    "informal-root",
    "stronger-clones",
    "su-2025",
    "takagi-2026-index",
    "wang-2023",
}


def _of(status: Status) -> list[str]:
    return [name for name, theorem in THEOREMS.items() if theorem.status is status]


def test_an_id_is_given_once() -> None:
    theorem = get_theorem("blanket")
    assert register(theorem) is theorem
    with pytest.raises(ParameterError, match="an id that no other theorem has"):
        register(replace(theorem, statement="something else"))
    assert get_theorem("blanket") is theorem


def test_a_bound_is_registered_with_its_theorem() -> None:
    assert all(THEOREMS[name] is b.theorem for name, b in BOUNDS.items())


def test_every_published_bound_is_there() -> None:
    assert set(BOUNDS) >= PUBLISHED


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_each_entry_is_complete(name: str) -> None:
    theorem = THEOREMS[name]
    for text in (theorem.citation, theorem.statement, theorem.validity):
        assert text.strip()
    assert get_theorem(name) is theorem
    assert theorem.to_dict()["id"] == name
    if theorem.refutation is None:
        assert theorem.status is not Status.REFUTED
    else:
        assert theorem.status in (Status.REFUTED, Status.ASYMPTOTIC)


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_labels_fit_together(name: str) -> None:
    theorem = THEOREMS[name]
    if theorem.status is Status.PROVEN:
        assert theorem.direction in (Direction.UPPER, Direction.EXACT)
    if theorem.direction is Direction.LOWER:
        assert theorem.status is Status.FIXED_PAIR
    if theorem.status is Status.ASYMPTOTIC:
        assert theorem.direction is Direction.ESTIMATE, "without an error term it bounds nothing"


@pytest.mark.parametrize(
    "name", sorted(_of(Status.PROVEN) + _of(Status.FIXED_PAIR) + _of(Status.ASYMPTOTIC))
)
def test_the_proof_is_written(name: str) -> None:
    proof = THEOREMS[name].proof
    assert proof is not None
    text = (DOCS / proof).read_text(encoding="utf-8")
    assert name in text, f"{proof} does not mention {name}"


@pytest.mark.parametrize(
    "name", [*(n for n, b in BOUNDS.items() if b.theorem.refutation), "poisson-batches"]
)
def test_refutations_recompute(name: str) -> None:
    refutation = THEOREMS[name].refutation
    assert refutation is not None
    claimed, leaked = recompute(name)
    assert leaked.status is Status.FIXED_PAIR
    assert leaked.direction is Direction.LOWER
    assert leaked.value > claimed.value
    assert claimed.value == pytest.approx(refutation.claimed, rel=1e-3, abs=0.0)
    assert leaked.value == pytest.approx(refutation.leaked, rel=5e-3, abs=0.0)


def test_what_its_authors_call_approximate_is_asymptotic_with_its_violation_on_record() -> None:
    assert "variation-ratio-2024" in _of(Status.REFUTED)
    for name in ("chen-2024-gdp", "composition-gdp"):
        assert BOUNDS[name].theorem.status is Status.ASYMPTOTIC
        assert BOUNDS[name].theorem.refutation is not None


def test_an_unknown_theorem_gets_the_nearest_name_and_where_all_are_listed() -> None:
    with pytest.raises(UnknownTheoremError, match="did you mean stronger-clones"):
        get_bound("stronger-clone")
    with pytest.raises(UnknownTheoremError, match="`shuffledp theorems` lists") as caught:
        get_bound("no-such-theorem")
    assert "no-such-theorem" in str(caught.value)
    assert isinstance(caught.value, KeyError)

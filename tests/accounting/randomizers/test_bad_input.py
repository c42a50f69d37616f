"""Errors name the parameter, and for channels the row."""

from __future__ import annotations

import math

import pytest

from shuffledp import (
    KRR,
    Channel,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHashing,
    ParameterError,
    Piecewise,
    RegimeError,
    Shuffled,
    SubsetSelection,
    UnaryEncoding,
    optimised_unary,
    rappor,
)

GOOD = [0.25, 0.75]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([GOOD, [0.5, 0.4]], "row 2"),
        ([[0.5, 0.6], GOOD], "row 1"),
        ([GOOD, GOOD, [1.5, -0.5]], "row 3"),
        ([GOOD, [math.nan, 1.0]], "row 2"),
        ([GOOD, [math.inf, 0.0]], "row 2"),
        ([GOOD, [0.2, 0.3, 0.5]], "row 2"),
        ([GOOD, GOOD, [1.0]], "row 3"),
        ([GOOD, ["a", "b"]], "row 2"),
        ([GOOD], "two rows"),
        ([], "two rows"),
        ([[], []], "rows"),
        (GOOD, "two rows"),
        ([[GOOD], [GOOD]], "two rows"),
        (None, "matrix"),
    ],
)
def test_bad_channels(matrix, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        Channel(matrix)
    assert "'matrix'" in str(caught.value)


def test_sums_nearly_one_are_normalised() -> None:
    channel = Channel([[0.1] * 10, [0.1 + 1e-12] * 10])
    assert channel.matrix.sum(axis=1) == pytest.approx([1.0, 1.0], abs=1e-15)


@pytest.mark.parametrize("theorem", ["stronger-clones", "feldman-2023-closed", "variation-ratio"])
def test_purity_is_needed(theorem: str) -> None:
    for randomizer in (Channel([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]), Gaussian(1.0, scalar=True)):
        with pytest.raises(RegimeError, match=r"eps0|pure"):
            Shuffled(randomizer, 100).bound(theorem, epsilon=0.1)


def test_no_blanket_for_vectors() -> None:
    with pytest.raises(RegimeError, match="scalar"):
        Shuffled(Gaussian(sigma=2.0), 100).bound("blanket", epsilon=0.1)
    assert "blanket" not in Shuffled(Gaussian(sigma=2.0), 100).delta(0.1).theorem


@pytest.mark.parametrize("eps0", [0.0, -1.0, math.nan, math.inf, 1e9, "one", None, True])
@pytest.mark.parametrize(
    "build",
    [
        lambda e: KRR(3, eps0=e),
        lambda e: Laplace(eps0=e),
        lambda e: DiscreteLaplace(3, eps0=e),
        lambda e: LocalHashing(eps0=e),
        lambda e: HadamardResponse(eps0=e),
        lambda e: SubsetSelection(4, eps0=e),
        lambda e: Piecewise(eps0=e),
        lambda e: rappor(3, e),
        lambda e: optimised_unary(3, e),
    ],
)
def test_bad_budgets(build, eps0) -> None:
    with pytest.raises(ParameterError, match="'eps0'"):
        build(eps0)


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: KRR(1, eps0=1.0), "k"),
        (lambda: KRR(2.5, eps0=1.0), "k"),
        (lambda: KRR(True, eps0=1.0), "k"),
        (lambda: LocalHashing(1, eps0=1.0), "g"),
        (lambda: SubsetSelection(4, 4, eps0=1.0), "d"),
        (lambda: SubsetSelection(4, 0, eps0=1.0), "d"),
        (lambda: SubsetSelection(1, eps0=1.0), "k"),
        (lambda: DiscreteLaplace(0, eps0=1.0), "levels"),
        (lambda: DiscreteLaplace(2.5, eps0=1.0), "levels"),
        (lambda: UnaryEncoding(3, 0.2, 0.3), "flip"),
        (lambda: UnaryEncoding(3, 1.0, 0.3), "keep"),
        (lambda: UnaryEncoding(3, 0.5, 0.0), "flip"),
        (lambda: UnaryEncoding(1, 0.5, 0.2), "k"),
        (lambda: Gaussian(sigma=0.0), "sigma"),
        (lambda: Gaussian(sigma=math.nan), "sigma"),
        (lambda: Gaussian(sigma=1.0, sensitivity=-1.0), "sensitivity"),
        (lambda: Gaussian(sigma=1e-5), "sigma"),
    ],
)
def test_bad_parameters(build, parameter: str) -> None:
    with pytest.raises(ParameterError, match=f"'{parameter}'"):
        build()


@pytest.mark.parametrize("sigma", [0.05, 0.06, 1e6])
def test_every_allowed_deviation_gives_an_answer(sigma: float) -> None:
    for scene in [*Gaussian(sigma, 1.0, scalar=True).blankets(), *Gaussian(sigma, 1.0).datasets()]:
        assert math.fsum(scene.outcomes.first) == pytest.approx(1.0, abs=1e-11)
        assert (scene.outcomes.base > 0.0).all()


@pytest.mark.parametrize("epsilon", [60.0, 100.0])
def test_gaussian_leaks_at_every_epsilon(epsilon: float) -> None:
    """sigma = 0.05: one report alone has delta(60) > 0.99 without a crowd."""
    found = Shuffled(Gaussian(0.05, 1.0), 1).delta(epsilon)
    assert found.upper > 0.9

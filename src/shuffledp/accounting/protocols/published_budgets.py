"""What published analyses say about unequal budgets, labelled; none of it is a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.accounting.bounds import get_bound, get_theorem
from shuffledp.accounting.bounds.published_personalized import (
    channel_hps,
    clones_curve,
    gaussian_hps,
    gdp_ccc,
    laplace_blanket_hoeffding,
    laplace_hps,
    lzx_clones,
)
from shuffledp.accounting.curves import Curve, PureEnd
from shuffledp.accounting.protocols.budgets import expand
from shuffledp.accounting.randomizers import LDP, Channel
from shuffledp.errors import ConversionError, ParameterError, RegimeError
from shuffledp.labels import Status, Value
from shuffledp.numerics.rounding import Array

_MOST = 2000
"""LZX compares every budget with every other: above this many they are summarised by quantiles."""


def published_budgets(
    budgets: object,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    delta0: object = 0.0,
    program: bool = False,
) -> list[Value]:
    """HPS and its baselines BGN, FV, CCC, LZX for Laplace noise (delta0 = 0) or Gaussian noise.

    Parameters
    ----------
    budgets
        One number per user, or a histogram ``{budget: count}``.
    delta, epsilon
        Exactly one of them: what is asked about.
    delta0
        Local delta, one number or one per user.
    program
        Compute as the authors' program does, which is what the paper's figures show: HPS with a
        binomial for the Poisson binomial (Gaussian noise: with a variance for a deviation), CCC
        with every user counted twice, BGN with the blanket of Laplace noise.

    Returns
    -------
    list of Value
        Labelled, none of them a guarantee. A baseline that says nothing here is left out.

    Examples
    --------
    >>> from shuffledp import published_budgets
    >>> [value.theorem for value in published_budgets({0.5: 100, 1.0: 50}, delta=1e-5)][0]
    'hps-2024'
    """
    delta, epsilon = _question(delta, epsilon)
    everyone = expand(budgets)
    deltas = _deltas(delta0, everyone.size)
    pure = not deltas.any()
    (eps, local), counts = _classes(everyone, deltas)
    n, top = int(counts.sum()), float(eps[-1])
    if pure:
        candidates: list[tuple[str, Callable[[], Curve]]] = [
            (
                "hps-2024",
                lambda: clones_curve(laplace_hps(eps, counts, program).delta, PureEnd(top)),
            ),
            ("ccc-2024-personal", lambda: gdp_ccc(eps, counts, 0.0, program)),
            ("lzx-2023", lambda: clones_curve(lzx_clones(eps, counts).pair_delta, PureEnd(top))),
            ("stronger-clones", lambda: get_bound("stronger-clones").curve(LDP(top), n)),
        ]
        if program:
            candidates.append(("balle-2019-hoeffding", lambda: laplace_blanket_hoeffding(top, n)))
        else:
            for name in ("balle-2019-hoeffding", "balle-2019-bennett"):
                candidates.append((name, lambda name=name: get_bound(name).curve(LDP(top), n)))  # type: ignore[misc]
    else:
        name, worst = "stronger-clones-approximate", float(deltas.max())
        candidates = [
            (
                "hps-2024",
                lambda: clones_curve(gaussian_hps(eps, counts, local, program).delta, PureEnd(top)),
            ),
            ("ccc-2024-personal", lambda: gdp_ccc(eps, counts, local, program)),
            (name, lambda: get_bound(name).curve(LDP(top, worst), n)),
        ]
    answers = []
    for name, build in candidates:
        theorem = get_bound(name).theorem
        try:
            curve = build()
            number = curve.epsilon(delta) if delta is not None else curve.delta(epsilon or 0.0)
        except (RegimeError, ConversionError):
            continue
        if theorem.status is Status.PROVEN:
            # proven for one randomizer shared by all: different noise scales are no such thing
            why = f"as if everyone ran the largest budget, {top:g}; not proven for unequal ones"
            theorem = theorem.weakened(why, Status.HEURISTIC)
        answers.append(theorem.value(number))
    return answers


def published_hps(
    channels: Sequence[Channel],
    counts: Sequence[int],
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    deltas: Sequence[float] | float = 0.0,
) -> Value:
    """HPS as published for any finite randomizers, one per class of users; not a guarantee.

    Parameters
    ----------
    channels
        One channel per class, all with the same outcomes; the victim is of the class whose budget
        is largest.
    counts
        How many users each class has.
    delta, epsilon
        Exactly one of them: what is asked about.
    deltas
        Local deltas of the classes.

    Returns
    -------
    Value
        Labelled REFUTED.

    Examples
    --------
    >>> from shuffledp import Channel, published_hps
    >>> published_hps([Channel([[0.7, 0.3], [0.3, 0.7]])], [1000], delta=1e-5).status.value
    'REFUTED'
    """
    delta, epsilon = _question(delta, epsilon)
    matrices = [channel.matrix for channel in channels]
    if not matrices or len({matrix.shape[1] for matrix in matrices}) != 1:
        shapes = [matrix.shape for matrix in matrices]
        raise ParameterError("channels", "at least one, all with the same outcomes", shapes)
    if len(counts) != len(channels):
        raise ParameterError("counts", f"one per channel ({len(channels)})", list(counts))
    users = np.array([checks.count("counts", count) for count in counts])
    local = _deltas(deltas, users.size)
    order = np.argsort([-channel.eps0 for channel in channels], kind="stable")
    claim = channel_hps([matrices[i] for i in order], users[order], local[order])
    curve = clones_curve(claim, PureEnd(channels[int(order[0])].eps0))
    number = curve.epsilon(delta) if delta is not None else curve.delta(epsilon or 0.0)
    return get_theorem("hps-2024").value(number)


def _question(delta: float | None, epsilon: float | None) -> tuple[float | None, float | None]:
    if (delta is None) == (epsilon is None):
        raise ParameterError("question", "exactly one of delta=, epsilon=", None)
    if delta is not None:
        return checks.probability("delta", delta), None
    return None, checks.non_negative("epsilon", epsilon)


def _deltas(given: object, n: int) -> Array:
    """Local deltas, one for all or one each."""
    if isinstance(given, int | float):
        return np.full(n, checks.probability("delta0", given) if given else 0.0)
    values = np.array([checks.probability("delta0", value) for value in given])  # type: ignore[attr-defined]
    if values.size != n:
        raise ParameterError("delta0", f"one number, or one each ({n})", values.size)
    return values


def _classes(eps: Array, deltas: Array) -> tuple[tuple[Array, Array], NDArray[np.int64]]:
    """Distinct pairs of budget and delta in ascending order, and how many users have them."""
    pairs, counts = np.unique(np.stack([eps, deltas], axis=1), axis=0, return_counts=True)
    if len(pairs) > _MOST:
        places = ((np.arange(_MOST) + 0.5) / _MOST * eps.size).astype(np.int64)
        places[-1] = eps.size - 1
        pairs = np.repeat(pairs, counts, axis=0)[places]
        counts = np.diff(np.round(np.linspace(0, eps.size, _MOST + 1))).astype(np.int64)
    return (pairs[:, 0], pairs[:, 1]), counts

"""What published analyses say about unequal budgets, labelled; none of it is a guarantee."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shuffledp import checks
from shuffledp.bounds import get_bound
from shuffledp.bounds.hps import (
    clones_curve,
    gaussian_hps,
    gdp_ccc,
    laplace_hps,
    lzx_clones,
)
from shuffledp.curves import Curve
from shuffledp.errors import ConversionError, ParameterError, RegimeError
from shuffledp.labels import Status, Value
from shuffledp.protocols.budgets import expand
from shuffledp.randomizers import LDP

_MOST = 2000
"""LZX compares every budget with every other: above this many they are summarised by quantiles."""


def published_budgets(
    budgets: object,
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    delta0: float = 0.0,
    program: bool = False,
) -> list[Value]:
    """HPS and its baselines BGN, FV, CCC, LZX for Laplace noise (delta0 = 0) or Gaussian noise.

    ``program`` computes HPS as its authors' program does (Gaussian noise only). A baseline that
    says nothing here is left out.
    """
    if (delta is None) == (epsilon is None):
        raise ParameterError("question", "exactly one of delta=, epsilon=", None)
    if delta is not None:
        delta = checks.probability("delta", delta)
    else:
        epsilon = checks.non_negative("epsilon", epsilon)
    if delta0:
        delta0 = checks.probability("delta0", delta0)
    eps, counts = np.unique(expand(budgets), return_counts=True)
    n, top = int(counts.sum()), float(eps[-1])
    if eps.size > _MOST:
        everyone = np.repeat(eps, counts)
        eps = np.quantile(everyone, (np.arange(_MOST) + 0.5) / _MOST)
        eps[-1] = top
        counts = np.diff(np.round(np.linspace(0, n, _MOST + 1))).astype(np.int64)
    candidates: list[tuple[str, Callable[[], Curve]]] = [
        (
            "hps-2024",
            lambda: clones_curve(
                gaussian_hps(eps, counts, delta0, program).delta
                if delta0
                else laplace_hps(eps, counts).delta,
                top,
            ),
        ),
        ("ccc-2024-personal", lambda: gdp_ccc(eps, counts, delta0)),
    ]
    if delta0:
        name = "stronger-clones-approximate"
        candidates.append((name, lambda: get_bound(name).curve(LDP(top, delta0), n)))
    else:
        candidates.append(
            ("lzx-2023", lambda: clones_curve(lzx_clones(eps, counts).pair_delta, top))
        )
        for name in ("stronger-clones", "balle-2019-hoeffding", "balle-2019-bennett"):
            candidates.append((name, lambda name=name: get_bound(name).curve(LDP(top), n)))  # type: ignore[misc]
    answers = []
    for name, build in candidates:
        theorem = get_bound(name).theorem
        try:
            curve = build()
            number = curve.epsilon(delta) if delta is not None else curve.delta(epsilon or 0.0)
        except (RegimeError, ConversionError):
            continue
        status, note = theorem.status, theorem.note
        if status is Status.PROVEN:
            # proven for one randomizer shared by all: different noise scales are no such thing
            status = Status.HEURISTIC
            note = f"as if everyone ran the largest budget, {top:g}; not proven for unequal ones"
        answers.append(Value(number, status, theorem.direction, name, note))
    return answers

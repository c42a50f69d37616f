"""Every data set of a few users, at any scale of numbers: channels of Arb balls, a silent symbol."""

from __future__ import annotations

import itertools

from flint import arb, ctx

Rows = list[list[arb]]

_BITS = 4000
"""Enough for 1 - rate at a rate of 1e-300, and for three users of it."""


def _law(rows: Rows, inputs: tuple[int, ...]) -> dict[tuple[int, ...], arb]:
    law = {(0,) * len(rows[0]): arb(1)}
    for x in inputs:
        bigger: dict[tuple[int, ...], arb] = {}
        for histogram, mass in law.items():
            for z, share in enumerate(rows[x]):
                key = (*histogram[:z], histogram[z] + 1, *histogram[z + 1 :])
                bigger[key] = bigger.get(key, arb(0)) + mass * share
        law = bigger
    return law


def response(k: int, eps0: float) -> Rows:
    """k-ary randomized response."""
    big = arb(eps0).exp()
    return [[(big if x == z else arb(1)) / (big + (k - 1)) for z in range(k)] for x in range(k)]


def unary(k: int, lose: float, flip: float) -> Rows:
    """All vectors of k bits."""
    keep, flips = 1 - arb(lose), arb(flip)
    rows = []
    for x in range(k):
        on = [keep if value == x else flips for value in range(k)]
        row = []
        for bits in itertools.product((0, 1), repeat=k):
            mass = arb(1)
            for p, bit in zip(on, bits, strict=True):
                mass *= p if bit else 1 - p
            row.append(mass)
        rows.append(row)
    return rows


def discrete_laplace(levels: int, eps0: float) -> Rows:
    """Reports clamped to 0..levels: beyond, nothing is told."""
    ratio = (-arb(eps0) / levels).exp()
    inside = (1 - ratio) / (1 + ratio)
    rows = []
    for x in range(levels + 1):
        row = [inside * ratio ** abs(z - x) for z in range(levels + 1)]
        row[0], row[-1] = ratio**x / (1 + ratio), ratio ** (levels - x) / (1 + ratio)
        rows.append(row)
    return rows


def subsets(k: int, d: int, eps0: float) -> Rows:
    """All subsets of size d."""
    big = arb(eps0).exp()
    chosen = list(itertools.combinations(range(k), d))
    rows = [[big if x in subset else arb(1) for subset in chosen] for x in range(k)]
    return [[mass / sum(row, arb(0)) for mass in row] for row in rows]


def precisely(function):  # type: ignore[no-untyped-def]
    """Run with that many bits."""

    def run(*args):  # type: ignore[no-untyped-def]
        before = ctx.prec
        ctx.prec = _BITS
        try:
            return function(*args)
        finally:
            ctx.prec = before

    return run


@precisely
def worst_delta(rows: Rows, rate: float, n: int, epsilon: float) -> arb:
    """The largest delta over all neighbouring data sets, each user silent with 1 - rate."""
    e, reports, silent = arb(epsilon).exp(), arb(rate), 1 - arb(rate)
    rows = [[reports * mass for mass in row] + [silent] for row in rows]
    values = range(len(rows))
    multisets = itertools.combinations_with_replacement(values, n)
    laws = {inputs: _law(rows, inputs) for inputs in multisets}
    worst = arb(0)
    for others in itertools.combinations_with_replacement(values, n - 1):
        for x, y in itertools.permutations(values, 2):
            p = laws[tuple(sorted((*others, x)))]
            q = laws[tuple(sorted((*others, y)))]
            terms = (mass - e * q[key] for key, mass in p.items())
            worst = max(worst, sum((t for t in terms if t > 0), arb(0)))
    return worst

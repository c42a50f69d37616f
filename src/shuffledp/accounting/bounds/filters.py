"""Theorems behind the rules of the ledger: totals that hold though spends follow results."""

from __future__ import annotations

from shuffledp.labels import Direction, Status, Theorem, register


def _filter(name: str, statement: str, validity: str, citation: str = "our own") -> Theorem:
    return register(
        Theorem(
            id=f"filter-{name}",
            citation=citation,
            statement=statement,
            validity=validity,
            status=Status.PROVEN,
            direction=Direction.UPPER,
            proof="proofs/filters.md",
        )
    )


SUM = _filter(
    "sum",
    "epsilons and deltas of all spends add up, however the spends are chosen",
    "each spend, as a whole, is (epsilon, delta)-DP; what is charged depends on the book alone",
    "Rogers, Roth, Ullman, Vadhan 2016 (NeurIPS) for single releases; proof our own",
)
RENYI = _filter(
    "renyi",
    "Rényi divergences of one order add up, however the spends are chosen",
    "one order, fixed before the first spend; stated deltas add up apart",
    "Feldman, Zrnic 2021 (NeurIPS); proof our own",
)
PLANNED = _filter(
    "planned",
    "a plan composed at the start holds in any order, broken off at any time",
    "every spend is of a kind in the plan, with places left",
)

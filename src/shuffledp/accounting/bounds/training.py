"""Theorems that only training runs use: what is known of epochs without a shuffler's help."""

from __future__ import annotations

from shuffledp.labels import Direction, Refutation, Status, Theorem, register

_PROOF = "proofs/training.md"

NOTHING_RELEASED = register(
    Theorem(
        id="nothing-released",
        citation="our own",
        statement="epsilon is 0 as long as nothing is released",
        validity="no release so far",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof=_PROOF,
    )
)
NO_NOISE = register(
    Theorem(
        id="no-noise",
        citation="our own",
        statement="without noise no finite epsilon is guaranteed",
        validity="eps0 infinite",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof=_PROOF,
    )
)
LAPLACE_UNSHUFFLED = register(
    Theorem(
        id="laplace-unshuffled",
        citation="our own, with the composition of Kairouz, Oh, Viswanath 2015 (ICML)",
        statement="epochs of Laplace noise on vectors compose as noise on one number does",
        validity="noise of scale (l1 distance)/eps0 on every coordinate; any order of visits",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof=_PROOF,
    )
)
CHEN_THEOREM_3 = register(
    Theorem(
        id="chen-2024-theorem-3",
        citation="Chen, Cao, Ge 2024 (ICASSP), Theorem 3",
        statement="T epochs of m blocks are (L, 2 T e^eps0 L/(m-1))-RDP",
        validity="blocks that are eps0-LDP; as m grows",
        status=Status.ASYMPTOTIC,
        direction=Direction.ESTIMATE,
        proof=_PROOF,
        refutation=Refutation(
            dataset="one sample of one block replaced, all other blocks far from it",
            witness="laplace-unshuffled",
            parameters={"eps0": 2.0, "n": 100, "order": 2.0},
            claimed=0.2985,
            leaked=1.596,
            mechanism="laplace",
        ),
        note="of samples it is refuted: a block is not eps0-LDP, so nothing is amplified",
    )
)

"""Averages and joint concavity (Wang et al. 2023, Lemma 3.1, Propositions 3.2, 3.3, 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp import checks
from shuffledp.accounting.curves.tradeoff.function import (
    Laws,
    TradeoffFunction,
    _law,
    check_weights,
    joint_direction,
)
from shuffledp.errors import ParameterError
from shuffledp.numerics.rounding import Array


def average(functions: Sequence[TradeoffFunction], weights: Laws) -> TradeoffFunction:
    """The pointwise mean, sum of w_i f_i(alpha): all parts tested at the same type I error.

    It bounds T(P, mixture of Q_i) from f_i = T(P, Q_i): one law is common. For mixtures on both
    sides it is too optimistic; ``joint`` is the one to use.
    """
    w = check_weights(weights, len(functions))
    knots = np.unique(np.concatenate([f.alphas for f in functions]))
    values = np.sum([weight * f(knots) for weight, f in zip(w, functions, strict=True)], axis=0)
    return TradeoffFunction(knots, values, joint_direction([f.direction for f in functions]))


def joint(functions: Sequence[TradeoffFunction], weights: Laws) -> TradeoffFunction:
    """T of ((X, I), (Y, I)), the index I ~ weights revealed: Lemma 3.1's right-hand side.

    All parts are tested at the same slope, which is the same as adding the conjugates: the pieces
    of all f_i, shrunk by w_i, sorted by steepness. Never above the trade-off function of the
    mixtures.
    """
    w = check_weights(weights, len(functions))
    return TradeoffFunction.from_masses(
        np.concatenate([x * f.first for x, f in zip(w, functions, strict=True)]),
        np.concatenate([x * f.second for x, f in zip(w, functions, strict=True)]),
        joint_direction([f.direction for f in functions]),
    )


@dataclass(frozen=True)
class JointPoint:
    """Lemma 3.1 at (t, c): the parts' type I errors, their mixture, and the bound there."""

    alphas: tuple[float, ...]
    alpha: float
    bound: float


@dataclass(frozen=True, eq=False)
class Mixture:
    """Discrete pairs (P_i, Q_i) on common outcomes and their weights."""

    firsts: Array
    seconds: Array
    weights: Array

    @classmethod
    def of(cls, pairs: Sequence[tuple[Laws, Laws]], weights: Laws) -> Mixture:
        """From a list of (P_i, Q_i)."""
        w = check_weights(weights, len(pairs))
        firsts = [_law(f"pairs[{i}][0]", pair[0]) for i, pair in enumerate(pairs)]
        seconds = [_law(f"pairs[{i}][1]", pair[1]) for i, pair in enumerate(pairs)]
        for i, law in enumerate([*firsts, *seconds]):
            if len(law) != len(firsts[0]):
                raise ParameterError(
                    f"pairs[{i % len(pairs)}]", f"on {len(firsts[0])} outcomes", len(law)
                )
        return cls(np.array(firsts), np.array(seconds), w)

    def true(self) -> TradeoffFunction:
        """T of the mixtures themselves."""
        return TradeoffFunction.from_pair(self.weights @ self.firsts, self.weights @ self.seconds)

    def parts(self) -> list[TradeoffFunction]:
        """T(P_i, Q_i) of every part."""
        return [
            TradeoffFunction.from_pair(p, q) for p, q in zip(self.firsts, self.seconds, strict=True)
        ]

    def joint(self) -> TradeoffFunction:
        """Lemma 3.1's lower bound of ``true()``."""
        return joint(self.parts(), self.weights)

    def at(self, t: float, c: float) -> JointPoint:
        """The (t, c) parametrisation: reject where q_i/p_i > t,
        with probability c where it equals t."""
        threshold = checks.non_negative("t", t)
        coin = checks.unit("c", c)
        over, even = self.seconds - threshold * self.firsts, self.seconds == threshold * self.firsts
        reject = np.where(even, coin, np.where(over > 0.0, 1.0, 0.0))
        alphas = np.sum(reject * self.firsts, axis=1)
        betas = np.sum((1.0 - reject) * self.seconds, axis=1)
        return JointPoint(
            tuple(alphas.tolist()), float(self.weights @ alphas), float(self.weights @ betas)
        )

    def is_tight(self, tolerance: float = 1e-12) -> bool:
        """Whether Lemma 3.1 holds with equality, for any number of parts.

        Exactly when the index adds nothing to the outcome: wherever several parts put mass, they do
        so at the same ratio p_i : q_i. (Proposition 6.1 as printed asks less: see
        ``printed_test``.)
        """
        w = self.weights[:, None]
        p, q = w * self.firsts, w * self.seconds
        total_p, total_q = p.sum(axis=0), q.sum(axis=0)
        return bool(np.all(np.abs(p * total_q - q * total_p) <= tolerance * (total_p + total_q)))

    def printed_test(self, tolerance: float = 1e-12) -> bool:
        """Proposition 6.1's condition for two parts, as printed: necessary, not sufficient.

        It compares the mixture's ratio p/q with w_1 p_1/q_1 + w_2 p_2/q_2, which agree as well
        wherever q_1 = q_2, whatever the p_i are. Two parts with Q_1 = Q_2 uniform on two outcomes
        and P_1, P_2 the two point masses pass it, and Lemma 3.1 is off by a factor 2.
        """
        if len(self.weights) != 2:
            raise ParameterError("pairs", "two (Proposition 6.1 is about m = 2)", len(self.weights))
        p, q, w = self.firsts, self.seconds, self.weights
        seen = (w @ p) > 0.0
        p, q = p[:, seen], q[:, seen]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = p / q
            mixed = (w @ p) / (w @ q)
            absent = (p == 0.0) & (q == 0.0)
            ratio[0] = np.where(absent[0], ratio[1], ratio[0])
            ratio[1] = np.where(absent[1], ratio[0], ratio[1])
            printed = sum(np.where(w[i] > 0.0, w[i] * ratio[i], 0.0) for i in range(2))
            same = (mixed == printed) | (
                np.abs(mixed - printed) <= tolerance * (1.0 + np.abs(mixed))
            )
        return bool(np.all(same))

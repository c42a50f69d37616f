"""The swap bound where a fixed number of users is drawn (docs/proofs/swap.md, section 7).

A place whose user was not drawn holds nothing, under every law alike; exchanging two places keeps
the number of those that do. Symbols: q = m / n the share drawn.
"""

from __future__ import annotations

from shuffledp.accounting.bounds.scopes import drawn
from shuffledp.accounting.bounds.subsampled import pure_end, share_drawn
from shuffledp.accounting.bounds.swap import SwapCurve, in_regime, swap_curve
from shuffledp.accounting.bounds.theorem import bound
from shuffledp.accounting.randomizers import Randomizer, Subsampled
from shuffledp.errors import RegimeError
from shuffledp.labels import Direction, Status, Theorem


def _drawn_of_few_laws(randomizer: Randomizer) -> Subsampled:
    """Users drawn in secret, of a randomizer of few kinds of laws, or of any of that budget."""
    found = drawn(randomizer)
    if not in_regime(found.randomizer).swaps():
        raise RegimeError("few kinds of laws that all allow every report", str(found))
    return found


@bound(
    Theorem(
        id="swap-drawn",
        citation="our own",
        statement="the swap bound given who was drawn: places without a report hold the same under"
        " every law",
        validity="m of n users drawn without replacement, in secret; randomizers of few kinds of"
        " known laws, or any eps0-LDP randomizer common to all users, 1e-4 <= eps0 <= 30, n >= 10;"
        " what a user reports depends on that user's value alone, not on other reports",
        status=Status.PROVEN,
        direction=Direction.UPPER,
        proof="proofs/swap.md",
    ),
    _drawn_of_few_laws,
    turn=3,
)
def swap_drawn(randomizer: Subsampled, n: int) -> SwapCurve:
    """For every data set at once."""
    inner, m, q = share_drawn(randomizer, n)
    if m == n:
        return swap_curve(inner.swaps(), (n,), inner.eps0)
    pairs = [pair.drawn(q) for pair in inner.swaps()]
    return swap_curve(pairs, (m, n - m), pure_end(inner.eps0, q))

"""How far each guarantee is from the truth: proven with the swap bounds, without them, leaked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shuffledp.accounting.protocols import Shuffled
from shuffledp.accounting.randomizers.catalogue import build
from shuffledp.display.palette import COLOURS
from shuffledp.errors import RegimeError
from shuffledp.labels import Value
from shuffledp.research.reproduce.result import Result, Row

RANDOMIZERS: dict[str, tuple[str, dict[str, float]]] = {
    "any (ldp)": ("ldp", {}),
    "rr": ("rr", {}),
    "krr, k = 10": ("krr", {"k": 10}),
    "laplace": ("laplace", {}),
    "piecewise": ("piecewise", {}),
    "plateau, width = 0.5": ("plateau", {"width": 0.5}),
    "rounding": ("rounding", {}),
    "one-bit": ("one-bit", {}),
    "rappor, k = 10": ("rappor", {"k": 10}),
    "oue, k = 10": ("oue", {"k": 10}),
    "olh": ("olh", {}),
    "hadamard, k = 2": ("hadamard", {"k": 2}),
    "hadamard, k = 8": ("hadamard", {"k": 8}),
    "subset, k = 10": ("subset", {"k": 10}),
}
"""Name in the table: mechanism and parameters of the catalogue."""
_BUDGETS = (0.5, 1.0, 2.0, 4.0)
_USERS = (10**3, 10**4, 10**5, 10**6)
_DELTA = 1e-6
_BEFORE = ("blanket", "stronger-clones")
_COLUMNS = (
    *("randomizer", "eps0", "n", "leaked", "proven", "theorem", "ratio"),
    *("proven before", "theorem before", "ratio before"),
)


def swap_gap() -> Result:
    """epsilon at delta = 1e-6 for every named randomizer, small and large budgets and crowds."""
    rows = [gap(name, eps0, n) for name in RANDOMIZERS for eps0 in _BUDGETS for n in _USERS]
    return Result(
        _COLUMNS,
        rows,
        {f"eps0 = {eps0:g}": _panel(rows, eps0) for eps0 in _BUDGETS},
        [
            f"epsilon at delta = {_DELTA:g}. Ratio: what is proven for every data set over what one"
            " data set leaks; 1 is exact.",
            f"Proven before: the smaller of {' and '.join(_BEFORE)}.",
        ],
        panel=(4.4, 3.6),
    )


def gap(name: str, eps0: float, n: int) -> Row:
    """One row of the table."""
    mechanism, parameters = RANDOMIZERS[name]
    protocol = Shuffled(build(mechanism, eps0=eps0, **parameters), n)
    found = protocol.epsilon(delta=_DELTA)
    before = min(_known(protocol), key=lambda value: value.value)
    return (
        *(name, eps0, n, found.lower, found.upper, found.theorem, found.upper / found.lower),
        *(before.value, before.theorem, before.value / found.lower),
    )


def _known(protocol: Shuffled) -> list[Value]:
    found = []
    for theorem in _BEFORE:
        try:
            found.append(protocol.bound(theorem, delta=_DELTA))
        except RegimeError:  # it does not speak of this randomizer
            continue
    return found


def _panel(rows: list[Row], eps0: float) -> Callable[[Any], None]:
    """A line of four dots per randomizer, few users above many."""

    def draw(axes: Any) -> None:
        names = list(RANDOMIZERS)
        for i, n in enumerate(_USERS):
            chosen = [row for row in rows if row[1:3] == (eps0, n)]
            at = [names.index(str(row[0])) + 0.2 * (i - 1.5) for row in chosen]
            now, before = ([row[column] for row in chosen] for column in (6, 9))
            shade = 0.4 + 0.2 * i
            axes.hlines(at, now, before, color="#cccccc", lw=0.8, zorder=1)
            axes.scatter(
                before,
                at,
                s=14,
                facecolors="none",
                edgecolors="black",
                alpha=shade,
                lw=0.8,
                label=f"without, n = {n:,}",
            )
            axes.scatter(
                now,
                at,
                s=14,
                color=COLOURS["PROVEN"],
                alpha=shade,
                lw=0.0,
                label=f"with, n = {n:,}",
                zorder=3,
            )
        axes.axvline(1.0, color="black", lw=0.8, zorder=0)
        axes.set(xlabel="proven / leaked epsilon", xlim=(0.97, None))
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_ylim(len(names) - 0.4, -0.6)

    return draw

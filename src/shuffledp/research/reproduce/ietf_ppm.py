"""The IETF's draft on differential privacy for DAP: symmetric RAPPOR, only sums released."""

from __future__ import annotations

from typing import Any

from shuffledp.accounting.protocols import Aggregated
from shuffledp.accounting.randomizers import rappor
from shuffledp.display.palette import COLOURS
from shuffledp.research.reproduce.result import Result, Row, relative

PRINTED = {5.0: 0.317, 6.5: 0.906, 7.0: 1.528}
"""Budget of each bit: epsilon in the draft's table."""
_USERS, _DELTA, _VALUES = 10**5, 1e-9, 10
_COLUMNS = (
    *("eps0", "draft", "removed, leaked", "removed, proven"),
    *("replaced, leaked", "replaced, proven", "proven / draft - 1"),
)


def rappor_sums() -> Result:
    """epsilon for one value removed and for one replaced; the counts of values are released."""
    rows: list[Row] = []
    for eps0, printed in PRINTED.items():
        removed, replaced = (
            Aggregated(rappor(_VALUES, 2.0 * eps0), _USERS, neighbours).epsilon(_DELTA)
            for neighbours in ("remove", "replace")
        )
        rows.append(
            (
                *(eps0, printed, removed.lower, removed.upper),
                *(replaced.lower, replaced.upper, relative(replaced.upper, printed)),
            )
        )

    def draw(axes: Any) -> None:
        at = list(PRINTED)
        axes.plot(at, [row[1] for row in rows], "o--", color=COLOURS["HEURISTIC"], label="draft")
        for column, name in ((3, "removed"), (5, "replaced")):
            ends = [[row[i] for row in rows] for i in (column - 1, column)]
            axes.fill_between(at, *ends, alpha=0.3)
            axes.plot(at, ends[1], "o-", label=f"value {name}, proven")
        axes.set(xlabel="eps0 of each bit", ylabel=f"epsilon at delta = {_DELTA:g}")
        axes.legend(frameon=False)

    return Result(
        _COLUMNS,
        rows,
        draw,
        [
            f"{_USERS:,} users, delta = {_DELTA:g}, any number of values; each bit is kept with"
            f" probability"
            " e^eps0 / (1 + e^eps0).",
            "The draft's numbers hold, for removal and for replacement: docs/proofs/counters.md,"
            " section 6, is"
            " the proof its open question asks for.",
            "The data set that leaks most has all others at the victim's other value.",
        ],
    )

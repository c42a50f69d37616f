"""The picture of docs/howto/tradeoff.md: python docs/howto/tradeoff_picture.py [file]."""

from __future__ import annotations

import sys
from pathlib import Path

from shuffledp.accounting.bounds.random_start import clipped_linear
from shuffledp.accounting.curves.tradeoff import Gaussian
from shuffledp.display.tradeoff import save_tradeoffs


def main(path: Path) -> None:
    """Theorem 5.1 for c = 1, 2, 4 beside c-GDP."""
    functions = {}
    for c in (1.0, 2.0, 4.0):
        functions[f"random start, c = {c:g}"] = clipped_linear(1.0, c).claim().function
        functions[f"{c:g}-GDP"] = Gaussian(c).below()
    save_tradeoffs(functions, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("tradeoff.png"))

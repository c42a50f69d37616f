"""The pair of data sets behind a Gaussian account, on a terminal."""

from __future__ import annotations

from typing import Any

from shuffledp.display.text import LOSS, NAMES, console, print_table


def print_pair(found: dict[str, Any], quantity: str) -> None:
    """The pair in words, its sensitivity, and every value that holds for it alone."""
    pair = found["pair"]
    out = console()
    out.print(
        f"pair: {pair['dataset']} (sensitivity {pair['sensitivity']:g};"
        " for values clipped to a ball,"
        " its diameter). These numbers hold for this pair only.",
    )
    values = [entry for entry in pair["values"] if entry["value"] is not None]
    least = min((entry["value"] for entry in values), default=0.0)
    rows = [
        (
            entry["theorem"],
            f"{entry['value']:.6g}",
            entry["direction"],
            f"{entry['value'] / least:.4g} x" if least > 0.0 else "",
        )
        for entry in values
    ]
    print_table(
        f"{NAMES[quantity]} of the pair", ("theorem", "value", LOSS, "over the smallest"), rows
    )

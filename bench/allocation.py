"""Random allocation in the centre: one epsilon beside PLD-accounting and random-allocation.

    python bench/allocation.py [--json] [--peers PYTHON]

The two packages want an older NumPy, so they live in an environment of their own (`make bench` makes
it); PYTHON is its interpreter. Each is asked distinct questions, the first of which warms it up: what
it compiles is not counted. Where there is no such interpreter our own figures are shown alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from figures import Figure, cold, publish, warm

from shuffledp import RandomAllocation

DELTA, SIGMA = 1e-6, 1.0
STEPS = (100, 1000)
PEERS = Path(__file__).parents[1] / ".venv-allocation" / "bin" / "python"
PROGRAM = """
import json, time
from PLD_accounting import gaussian_allocation_epsilon_range
from random_allocation import PrivacyParams, SchemeConfig, allocation_epsilon_decomposition
from random_allocation.comparisons.definitions import Direction

def pld(sigma, steps):
    upper, lower = gaussian_allocation_epsilon_range(delta={delta}, sigma=sigma, num_steps=steps)
    return upper, f"its interval is {{upper / lower - 1:.1%}} wide, its upper end {{upper:.4f}}"

def decomposition(sigma, steps):
    asked = PrivacyParams(sigma=sigma, num_steps=steps, num_selected=1, num_epochs=1, delta={delta})
    found = allocation_epsilon_decomposition(asked, SchemeConfig(), Direction.BOTH)
    return found, f"its upper end {{found:.4f}}"

rows = []
for name, ask in (("PLD-accounting", pld), ("random-allocation", decomposition)):
    ask(1.1 * {sigma}, {steps}[0])
    for steps in {steps}:
        start = time.process_time()
        note = ask({sigma}, steps)[1]
        rows.append([name, steps, time.process_time() - start, note])
print(json.dumps(rows))
"""


def peers(python: Path) -> list[tuple[str, int, float, str]]:
    """Package, steps, seconds, and what it finds; none where they are not installed."""
    if not python.exists():
        return []
    program = PROGRAM.format(delta=DELTA, sigma=SIGMA, steps=STEPS)
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return [tuple(row) for row in json.loads(done.stdout.splitlines()[-1])]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peers", type=Path, default=PEERS)
    others = peers(parser.parse_args().peers)
    figures = []
    for steps in STEPS:
        ours = warm(
            lambda i, t=steps: RandomAllocation(SIGMA + 0.01 * i, steps=t).epsilon(DELTA), 3
        )
        found = RandomAllocation(SIGMA, steps=steps).epsilon(DELTA)
        note = f"our interval is {found.upper / found.lower - 1:.1%} wide, its upper end {found.upper:.4f}"
        beside = [other for other in others if other[1] == steps] or [("", steps, None, "")]
        for name, _, seconds, theirs in beside:
            said = f"{note}; {theirs}" if theirs else note
            figures.append(
                Figure("epsilon, both ends, warm; steps", steps, ours, name, seconds, said)
            )
    statement = f"RandomAllocation({SIGMA}, steps=1000).epsilon({DELTA})"
    figures.append(Figure("epsilon, both ends, cold; steps", 1000, cold(statement)))
    publish("Random allocation in the centre (sigma = 1, delta = 1e-6)", figures)


if __name__ == "__main__":
    main()

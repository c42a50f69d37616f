"""A budget per user, each one's own: growth with the number of users.

python bench/personalized.py [--json]
"""

from __future__ import annotations

import numpy as np
from figures import Figure, publish, warm

from shuffledp.accounting.protocols import Personalized
from shuffledp.accounting.randomizers.families import KRRFamily, LaplaceFamily


def main() -> None:
    figures = []
    for n in (10**4, 10**5, 10**6):
        for family in (LaplaceFamily(), KRRFamily(8)):

            def ask(seed: int, n: int = n, family: LaplaceFamily | KRRFamily = family) -> None:
                budgets = np.random.default_rng(seed).uniform(0.05, 1.0, n if seed else 100)
                users = Personalized(family, budgets, budgets_visible=False)
                users.guarantees(delta=1e-5)

            figures.append(Figure(f"{family.name}, all classes; users", n, warm(ask, 1)))
    publish("Distinct budgets, hidden (0.05 to 1, delta = 1e-5)", figures)


if __name__ == "__main__":
    main()

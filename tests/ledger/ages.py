"""A ledger as an older version would have left it."""

import json

from shuffledp.ledger import Ledger


def aged(ledger: Ledger, version: int) -> None:
    """Back to format 1 or 2: no rules, no digests, and lost an epsilon labelled adaptive."""
    with ledger.store.transaction(write=True) as execute:
        execute("DROP TABLE shuffledp_links")
        execute("DROP TABLE shuffledp_rules")
        if version < 2:
            execute("DROP TABLE shuffledp_releases")
        for cohort, number, lost in execute("SELECT cohort, number, lost FROM shuffledp_spends"):
            epsilon = json.loads(lost)["epsilon"]
            where = "WHERE cohort = ? AND number = ?"
            execute(
                f"UPDATE shuffledp_spends SET lost = ?, adaptive = 1 {where}",
                *(epsilon, cohort, number),
            )
        execute("DELETE FROM shuffledp_ledger")
        execute("INSERT INTO shuffledp_ledger (version) VALUES (?)", version)

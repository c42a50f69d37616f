"""The tables and every statement, the same text for both stores.

A spend is numbered without gaps within its cohort. ``shuffledp_losses`` holds one row for each
different thing a cohort spent on, with all its rounds. ``shuffledp_releases`` (since format 2) says
which spend paid for the release of which reports. ``shuffledp_rules`` and ``shuffledp_links``
(since format 3) hold each cohort's rule and the chain of digests: number 0 is of the cohort itself,
the others of its spends. Since then ``lost`` is JSON, by amount, and ``adaptive`` means nothing.
"""

VERSION = 3

TABLES = (
    "CREATE TABLE IF NOT EXISTS shuffledp_ledger (version INTEGER PRIMARY KEY)",
    """CREATE TABLE IF NOT EXISTS shuffledp_cohorts (
        name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS shuffledp_losses (
        cohort TEXT NOT NULL REFERENCES shuffledp_cohorts (name),
        digest TEXT NOT NULL,
        description TEXT NOT NULL,
        rounds BIGINT NOT NULL CHECK (rounds > 0),
        PRIMARY KEY (cohort, digest)
    )""",
    """CREATE TABLE IF NOT EXISTS shuffledp_spends (
        cohort TEXT NOT NULL REFERENCES shuffledp_cohorts (name),
        number BIGINT NOT NULL,
        digest TEXT NOT NULL,
        rounds BIGINT NOT NULL CHECK (rounds > 0),
        label TEXT NOT NULL,
        key TEXT,
        lost TEXT NOT NULL,
        theorem TEXT NOT NULL,
        adaptive INTEGER NOT NULL,
        recorded TEXT NOT NULL,
        PRIMARY KEY (cohort, number),
        UNIQUE (cohort, key),
        FOREIGN KEY (cohort, digest) REFERENCES shuffledp_losses (cohort, digest)
    )""",
    """CREATE TABLE IF NOT EXISTS shuffledp_releases (
        reports TEXT PRIMARY KEY,
        cohort TEXT NOT NULL,
        number BIGINT NOT NULL,
        FOREIGN KEY (cohort, number) REFERENCES shuffledp_spends (cohort, number)
    )""",
    """CREATE TABLE IF NOT EXISTS shuffledp_rules (
        cohort TEXT PRIMARY KEY REFERENCES shuffledp_cohorts (name), rule TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS shuffledp_links (
        cohort TEXT NOT NULL REFERENCES shuffledp_cohorts (name),
        number BIGINT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (cohort, number)
    )""",
)
STAMP = "INSERT INTO shuffledp_ledger (version) VALUES (?) ON CONFLICT DO NOTHING"
READ_VERSION = "SELECT MAX(version) FROM shuffledp_ledger"
SINCE = {
    "shuffledp_cohorts": 1,
    "shuffledp_releases": 2,
    "shuffledp_rules": 3,
    "shuffledp_links": 3,
}
"""Rows of these tables tell that a ledger has this format at least, whatever its stamp says."""
HAS_ROWS = {name: f"SELECT 1 FROM {name} LIMIT 1" for name in SINCE}

ADD_COHORT = "INSERT INTO shuffledp_cohorts (name, epsilon, delta, created) VALUES (?, ?, ?, ?)"
READ_COHORT = "SELECT epsilon, delta, created FROM shuffledp_cohorts WHERE name = ?"
READ_NAMES = "SELECT name FROM shuffledp_cohorts ORDER BY name"

ADD_RULE = "INSERT INTO shuffledp_rules (cohort, rule) VALUES (?, ?)"
READ_RULE = "SELECT rule FROM shuffledp_rules WHERE cohort = ?"
ADD_LINK = "INSERT INTO shuffledp_links (cohort, number, digest) VALUES (?, ?, ?)"
READ_LINKS = "SELECT number, digest FROM shuffledp_links WHERE cohort = ?"
OF_THE_END = " AND number IN (0, ?, ?, ?)"

READ_LOSSES = "SELECT description, rounds FROM shuffledp_losses WHERE cohort = ? ORDER BY digest"
READ_ENTRIES = (
    "SELECT description, CAST(SUM(s.rounds) AS BIGINT)"
    " FROM shuffledp_spends s JOIN shuffledp_losses l"
    " ON l.cohort = s.cohort AND l.digest = s.digest WHERE s.cohort = ?"
    " GROUP BY l.digest, description ORDER BY l.digest"
)
ADD_LOSS = (
    "INSERT INTO shuffledp_losses (cohort, digest, description, rounds) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (cohort, digest) DO UPDATE SET rounds = shuffledp_losses.rounds + excluded.rounds"
)

READ_LAST = "SELECT COALESCE(MAX(number), 0) FROM shuffledp_spends WHERE cohort = ?"
ADD_SPEND = (
    "INSERT INTO shuffledp_spends"
    " (cohort, number, digest, rounds, label, key, lost, theorem, adaptive, recorded)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
READ_SPENDS = (
    "SELECT number, description, s.rounds, label, key, lost, theorem, recorded"
    " FROM shuffledp_spends s JOIN shuffledp_losses l"
    " ON l.cohort = s.cohort AND l.digest = s.digest WHERE s.cohort = ?"
)
READ_MARKS = (
    "SELECT number, label FROM shuffledp_spends WHERE cohort = ? AND label LIKE ? ORDER BY number"
)
BY_KEY = " AND key = ?"
BY_NUMBER = " AND number = ?"
IN_ORDER = " ORDER BY number"

ADD_RELEASE = "INSERT INTO shuffledp_releases (reports, cohort, number) VALUES (?, ?, ?)"
READ_RELEASE = "SELECT cohort, number FROM shuffledp_releases WHERE reports = ?"
READ_RELEASES = "SELECT number, reports FROM shuffledp_releases WHERE cohort = ?"
IN_NAME_ORDER = " ORDER BY reports"

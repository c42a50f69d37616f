"""The tables and every statement, the same text for both stores.

``shuffledp_tasks``    a row per task; ``waiting`` counts the reports that no budget was spent on
yet. ``shuffledp_epochs``   reports come into the newest epoch of their task; a batch closes epochs.
``shuffledp_batches``  a row per batch, whatever became of it. ``shuffledp_seen_T``   the names of
all reports that ever came to task T: none enters twice. ``shuffledp_chunks_E`` what came into epoch
E, a few hundred reports to a row, apart from their names.

Epochs and tasks have tables of their own so that what is deleted goes with its table. Reports lie
in a chunk in the order of their names, which are random, and chunks have random places: no table is
in the order of arrival, but for the heap that PostgreSQL keeps beside the places.
"""

VERSION = 1

TABLES = (
    "CREATE TABLE IF NOT EXISTS shuffledp_service (version INTEGER PRIMARY KEY)",
    """CREATE TABLE IF NOT EXISTS shuffledp_tasks (
        number INTEGER PRIMARY KEY,
        id {bytes} NOT NULL UNIQUE,
        document {bytes} NOT NULL,
        minimum BIGINT NOT NULL,
        largest BIGINT NOT NULL,
        record INTEGER NOT NULL,
        epoch BIGINT NOT NULL,
        waiting BIGINT NOT NULL CHECK (waiting >= 0),
        ended INTEGER NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS shuffledp_epochs (
        epoch BIGINT PRIMARY KEY,
        task INTEGER NOT NULL REFERENCES shuffledp_tasks (number),
        size BIGINT NOT NULL CHECK (size >= 0),
        batch {bytes}
    )""",
    """CREATE TABLE IF NOT EXISTS shuffledp_batches (
        id {bytes} PRIMARY KEY,
        task INTEGER NOT NULL REFERENCES shuffledp_tasks (number),
        state TEXT NOT NULL,
        size BIGINT NOT NULL
    )""",
)
STAMP = "INSERT INTO shuffledp_service (version) VALUES (?) ON CONFLICT DO NOTHING"
READ_VERSION = "SELECT MAX(version) FROM shuffledp_service"

MAKE_SEEN = "CREATE TABLE shuffledp_seen_{number} (id {bytes} NOT NULL PRIMARY KEY){unordered}"
MAKE_CHUNKS = (
    "CREATE TABLE shuffledp_chunks_{number}"
    " (place {bytes} NOT NULL PRIMARY KEY, size INTEGER NOT NULL,"
    " content {bytes} NOT NULL){unordered}"
)
DROP_SEEN = "DROP TABLE IF EXISTS shuffledp_seen_{number}"
DROP_CHUNKS = "DROP TABLE IF EXISTS shuffledp_chunks_{number}"
ADD_CHUNK = "INSERT INTO shuffledp_chunks_{number} (place, size, content) VALUES (?, ?, ?)"
READ_CHUNKS = "SELECT size, content FROM shuffledp_chunks_{number}"
COUNT_SEEN = "SELECT COUNT(*) FROM shuffledp_seen_{number}"
COUNT_CHUNKS = (
    "SELECT COALESCE(SUM(size), 0), COALESCE(SUM(LENGTH(content)), 0)"
    " FROM shuffledp_chunks_{number}"
)

ADD_TASK = (
    "INSERT INTO shuffledp_tasks"
    " (number, id, document, minimum, largest, record, epoch, waiting, ended)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)"
)
NEXT_TASK = "SELECT COALESCE(MAX(number), 0) + 1 FROM shuffledp_tasks"
READ_TASKS = (
    "SELECT number, id, document, minimum, largest, record, epoch, waiting, ended"
    " FROM shuffledp_tasks"
)
BY_ID = " WHERE id = ?"
BY_NUMBER = " WHERE number = ?"
IN_ORDER = " ORDER BY number"
ADD_WAITING = "UPDATE shuffledp_tasks SET waiting = waiting + ? WHERE number = ?"
NEW_EPOCH = "UPDATE shuffledp_tasks SET epoch = ? WHERE number = ?"
END_TASK = "UPDATE shuffledp_tasks SET ended = ? WHERE number = ?"

NEXT_EPOCH = "SELECT COALESCE(MAX(epoch), 0) + 1 FROM shuffledp_epochs"
ADD_EPOCH = "INSERT INTO shuffledp_epochs (epoch, task, size, batch) VALUES (?, ?, 0, NULL)"
GROW_EPOCH = "UPDATE shuffledp_epochs SET size = size + ? WHERE epoch = ?"
OPEN_EPOCHS = (
    "SELECT epoch, size FROM shuffledp_epochs WHERE task = ? AND batch IS NULL ORDER BY epoch"
)
CLOSE_EPOCH = "UPDATE shuffledp_epochs SET batch = ? WHERE epoch = ?"
REOPEN_EPOCHS = "UPDATE shuffledp_epochs SET batch = NULL WHERE batch = ?"
EPOCHS_OF_BATCH = "SELECT epoch, size FROM shuffledp_epochs WHERE batch = ? ORDER BY epoch"
EPOCHS_OF_TASK = "SELECT epoch, size, batch FROM shuffledp_epochs WHERE task = ? ORDER BY epoch"

ADD_BATCH = "INSERT INTO shuffledp_batches (id, task, state, size) VALUES (?, ?, 'closed', ?)"
READ_BATCHES = (
    "SELECT b.id, t.id, b.state, b.size FROM shuffledp_batches b"
    " JOIN shuffledp_tasks t ON t.number = b.task"
)
OF_TASK = " WHERE t.id = ? ORDER BY b.id"
ALL = " ORDER BY b.id"
BATCH_BY_ID = " WHERE b.id = ?"
MARK_BATCH = "UPDATE shuffledp_batches SET state = ? WHERE id = ? AND state = ?"

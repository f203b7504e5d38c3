"""Ways to change SQLite files with SQL, as another program could: tables, and what people decided.

Each function takes a random generator and bytes, and returns other bytes, as those of `mutations` do.
"""

import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path


def change_database(rng, data):
    """Change the table of a SQLite file with SQL."""
    statements = (
        "UPDATE loans SET size = 'x' WHERE rowid = 3", "UPDATE loans SET y = x'ff00' WHERE rowid < 4",
        "ALTER TABLE loans RENAME TO \"se\"\"lect\"", "CREATE TABLE copy AS SELECT * FROM loans",
        "ALTER TABLE loans RENAME COLUMN size TO y_given", "DELETE FROM loans", "DROP TABLE loans",
        "CREATE VIEW v AS SELECT load_extension('x'), * FROM loans", "PRAGMA journal_mode = WAL",
        "ALTER TABLE loans ADD COLUMN bad AS (randomblob(1000000000))",
        "UPDATE loans SET weight = 9e999", "UPDATE loans SET y = CAST(x'ff' AS TEXT) WHERE rowid = 2",
        "CREATE TRIGGER z AFTER UPDATE ON loans BEGIN SELECT 1; END", "VACUUM",
    )  # fmt: skip
    return run_statement(data, rng.choice(statements))


def run_statement(data, statement, values=()):
    """Return a SQLite file after a statement, if that is possible."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.sqlite"
        path.write_bytes(data)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            with suppress(sqlite3.Error):  # a row that is there already
                connection.execute(statement, values)
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path.read_bytes()


LABELS = (
    '"zzz"', "[1]", '{"a": 1}', "null", "true", '"' + "x" * 10**6 + '"', "", "1e999", '"\\ud800"', '"\x1b[2J"'
)  # fmt: skip
FORGE_LABEL = "INSERT INTO decisions SELECT max(id), ?, 'label', ?, NULL FROM acts"
STATEMENTS = (
    "INSERT INTO decisions SELECT max(id), 10000000, 'label', '\"no\"', NULL FROM acts",
    "INSERT INTO decisions SELECT max(id), 0, 'accept', '\"no\"', NULL FROM acts",
    "INSERT INTO decisions SELECT max(id), -5, 'keep', '\"no\"', NULL FROM acts",
    "PRAGMA user_version = 0", "PRAGMA user_version = 77", "PRAGMA application_id = 1",
    "DROP TRIGGER acts_stay", "CREATE TABLE more (a)", "DROP TABLE decisions",
    "INSERT INTO acts (undoes, who, at) VALUES (999, 'Ann', '2024')",
    "INSERT INTO acts (undoes, who, at) SELECT max(id), 'Bob', 'no time' FROM acts",
    "INSERT INTO acts (who, at) VALUES ('\x1b[2J', '2024')",
)  # fmt: skip


def change_decisions(rng, data):
    """Change a file of decisions with SQL, as another program could."""
    if rng.random() < 0.5:
        return run_statement(data, FORGE_LABEL, (rng.randrange(1, 31), rng.choice(LABELS)))
    return run_statement(data, rng.choice(STATEMENTS))

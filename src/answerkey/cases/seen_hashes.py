"""A set of hashes that takes the same memory for a thousand cases and for millions."""

from __future__ import annotations

import sqlite3

# A set of so many hashes takes about 4 MB; case files written by hand never leave it.
_MOST_IN_MEMORY = 50_000


class SeenHashes:
    """Remembers 64-bit hashes: the first ones in memory, the others in a temporary file.

    >>> seen = SeenHashes()
    >>> seen.add(7), seen.add(8), seen.add(7)
    (True, True, False)
    """

    def __init__(self, most_in_memory: int = _MOST_IN_MEMORY) -> None:
        self._most_in_memory = most_in_memory
        self._in_memory: set[int] = set()
        self._database: sqlite3.Connection | None = None

    def add(self, value: int) -> bool:
        """Remember a hash; whether it is new."""
        if value in self._in_memory:
            return False
        if len(self._in_memory) < self._most_in_memory:
            self._in_memory.add(value)
            return True
        if self._database is None:
            self._database = _open_temporary()
        cursor = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", [value])
        return cursor.rowcount > 0


def _open_temporary() -> sqlite3.Connection:
    # SQLite keeps a database without a name in a temporary file, of which only the pages of its
    # cache (2 MB) are in memory, and removes the file with the connection.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    # Nothing is kept after the run, so nothing needs to survive a crash.
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("CREATE TABLE seen (hash INTEGER PRIMARY KEY) WITHOUT ROWID")
    # One transaction for all hashes, as a commit for each of them takes far longer.
    database.execute("BEGIN")
    return database

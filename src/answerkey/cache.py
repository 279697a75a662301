"""The disk cache: values under a hash of everything that shaped them, kept between runs.

It only saves work: where it cannot be written nothing is kept, and an entry or a file that is damaged counts as absent.
Many small values (replies, vectors) go to a `DiskCache`, large ones (an index, the pages of a PDF) to files of their own.

    cache = DiskCache(cache_folder() / "replies.sqlite")
    cache.put({b"key": b"value"})
    cache.get([b"key"])                                   # {b"key": b"value"}
    pages = kept_file("pages", digest("a.pdf"), lambda: b"what takes long to make")
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from answerkey.errors import StorageError
from answerkey.files import write_file

LIMIT_BYTES = 1 << 30
_KEYS_PER_QUERY = 500  # SQLite takes 999 values per query in older builds
_SUM_BYTES = 8  # of the checksum before each value
_SCHEMA = "CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)"
_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def cache_folder() -> Path:
    """`$ANSWERKEY_CACHE`, or the system's folder for caches: on Linux `~/.cache/answerkey`."""
    chosen = os.environ.get("ANSWERKEY_CACHE")
    if chosen:
        return Path(chosen)
    # Earlier versions used this folder on every system; replies in it are paid for, so it stays in use.
    earlier = Path.home() / ".cache" / "answerkey"
    if earlier.is_dir():
        return earlier
    # Imported here: it is not needed where the folder is chosen.
    from platformdirs import user_cache_path

    return user_cache_path("answerkey", appauthor=False)


def digest(*parts: object) -> str:
    """One hash of plain values, whatever the order of their keys."""
    return hashlib.sha256(_SORTED.encode(parts).encode()).hexdigest()


def kept_file(kind: str, key: str, make: Callable[[], bytes]) -> bytes:
    """The result of `make`, from the disk if it was made before under this key."""
    path = cache_folder() / kind / key
    with suppress(OSError):
        content = path.read_bytes()
        if content[:_SUM_BYTES] == _sum(content[_SUM_BYTES:]):
            return content[_SUM_BYTES:]
    content = make()
    with suppress(OSError, StorageError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, _sum(content) + content, durable=False)
    return content


class DiskCache:
    """Values by key in one SQLite file, safe with several threads and processes, bounded in size.

    Nothing is opened before the first use, and an object may outlive a fork.
    """

    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.path = path
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._gone = False
        # Bytes written since the size was last looked at. So many that the first write looks.
        self._unchecked = limit_bytes

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values that are known, by key."""
        rows: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _KEYS_PER_QUERY):
            part = keys[start : start + _KEYS_PER_QUERY]
            marks = ",".join("?" * len(part))
            for key, value in self._run(
                f"SELECT key, value FROM entries WHERE key IN ({marks})", part
            ):
                if value[:_SUM_BYTES] == _sum(value[_SUM_BYTES:]):
                    rows[key] = value[_SUM_BYTES:]
        return rows

    def put(self, values: Mapping[bytes, bytes]) -> None:
        rows = [(key, _sum(value) + value) for key, value in values.items()]
        self._run("INSERT OR REPLACE INTO entries (key, value) VALUES (?, ?)", rows, many=True)
        self._unchecked += sum(len(value) for _, value in rows)
        if self._unchecked <= self.limit_bytes // 64:
            return
        # Past the limit the oldest quarter goes; its pages are used again, so the file stops growing.
        self._unchecked = 0
        pages = "(SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)"
        size = self._run(f"SELECT ({pages}) * page_size FROM pragma_page_size", ())
        if size and size[0][0] > self.limit_bytes:
            oldest = (
                "SELECT id FROM entries ORDER BY id LIMIT (SELECT count(*) / 4 + 1 FROM entries)"
            )
            self._run(f"DELETE FROM entries WHERE id IN ({oldest})", ())

    def drop(self, key: bytes) -> None:
        self._run("DELETE FROM entries WHERE key = ?", (key,))

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _run(self, sql: str, values: Sequence[Any], many: bool = False) -> list[tuple[Any, ...]]:
        """The rows; none where the cache cannot be used at the moment."""
        with self._lock:
            try:
                connection = self._open()
                if connection is None:
                    return []
                execute = connection.executemany if many else connection.execute
                with connection:
                    return execute(sql, values).fetchall()
            except sqlite3.OperationalError:  # locked, full, read-only: it may work next time
                return []
            except sqlite3.DatabaseError:  # not a database, or a damaged one: it is deleted
                if self._connection is not None:
                    with suppress(sqlite3.Error):
                        self._connection.close()
                    self._connection = None
                for ending in ("", "-wal", "-shm"):
                    with suppress(OSError):
                        Path(f"{self.path}{ending}").unlink(missing_ok=True)
                return []

    def _open(self) -> sqlite3.Connection | None:
        if self._gone or (self._connection and self._process == os.getpid()):
            return self._connection
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            self._gone = True
            return None
        self._process = os.getpid()  # a connection must not be carried over a fork
        self._connection = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
        # Readers and a writer at the same time; a power cut may lose the last entries, which are only a cache.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_SCHEMA)
        return self._connection


def _sum(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=_SUM_BYTES).digest()

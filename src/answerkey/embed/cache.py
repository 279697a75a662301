"""Vectors on disk, keyed by model and text: one SQLite file, safe with several processes, bounded in size.

It only ever saves work: a locked, full or read-only disk means that nothing is kept, and a damaged file is dropped.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from answerkey.embed.embedder import Vectors

LIMIT_BYTES = 1 << 30
_KEYS_A_QUERY = 500
_SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, vector BLOB NOT NULL)"
T = TypeVar("T")


def cache_folder() -> Path:
    """`$ANSWERKEY_CACHE`, or `~/.cache/answerkey`."""
    return Path(os.environ.get("ANSWERKEY_CACHE") or Path.home() / ".cache" / "answerkey")


class VectorCache:
    """Nothing is opened before the first use. One object may serve several threads and outlive a fork."""

    def __init__(self, path: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.path = path
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._gone = False

    def get(self, model: str, texts: Sequence[str]) -> dict[str, Vectors]:
        """The vectors that are known, by text."""
        import numpy as np

        by_key = {_key(model, text): text for text in texts}
        found: dict[str, Vectors] = {}
        for keys in _slices(list(by_key), _KEYS_A_QUERY):
            marks = ",".join("?" * len(keys))
            for key, blob in self._run(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", keys):
                if len(blob) % 4 == 0:
                    found[by_key[key]] = np.frombuffer(blob, dtype="<f4")
        return {text: vector for text, vector in found.items() if abs(float(vector @ vector) - 1) < 1e-3}

    def put(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        rows = [(_key(model, text), vector.astype("<f4").tobytes()) for text, vector in vectors.items()]
        self._run("INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)", rows, many=True)
        self._trim()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _trim(self) -> None:
        """Past the limit the oldest quarter goes; its pages are used again, so the file stops growing."""
        pages = (
            "(SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)"
        )
        size = self._run(f"SELECT ({pages}) * page_size FROM pragma_page_size", ())
        if size and size[0][0] > self.limit_bytes:
            oldest = "SELECT id FROM vectors ORDER BY id LIMIT (SELECT count(*) / 4 + 1 FROM vectors)"
            self._run(f"DELETE FROM vectors WHERE id IN ({oldest})", ())

    def _run(self, sql: str, values: Sequence[Any], many: bool = False) -> list[tuple[Any, ...]]:
        """The rows; none where the cache cannot be used just now."""
        with self._lock:
            try:
                connection = self._open()
                if connection is None:
                    return []
                with connection:
                    return (connection.executemany if many else connection.execute)(sql, values).fetchall()
            except sqlite3.OperationalError:  # locked, full, read-only: it may be better next time
                return []
            except sqlite3.DatabaseError:  # not a database, or a torn one
                self._drop()
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
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_SCHEMA)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        for ending in ("", "-wal", "-shm"):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)


def _key(model: str, text: str) -> bytes:
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=20).digest()


def _slices(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))

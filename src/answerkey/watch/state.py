"""The state folder of a watch: one SQLite file, changed in one transaction per look.

A process that is killed leaves the state of the look before. A lock keeps a second one out.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from answerkey.errors import InputError, StorageError
from answerkey.types import Case

STATE_FILE = "watch.sqlite"
_LOCK = "watch.lock"
_FORMAT = 2  # 1 kept the evidence as counts and logarithms
_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (answer INTEGER PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS looks (number INTEGER PRIMARY KEY, result BLOB NOT NULL);
"""
T = TypeVar("T")


class WatchState:
    """The facts, the answers that were counted, and the results of all looks."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def read(self, name: str, kind: type[T]) -> T | None:
        """A fact by its name; None before it was written."""
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", [name]).fetchone()
        if row is None:
            return None
        return msgspec.json.decode(row[0], type=kind)

    def write(self, name: str, value: object) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO facts VALUES (?, ?)", [name, msgspec.json.encode(value)]
        )

    def is_new(self, case: Case) -> bool:
        """Whether an answer was not read before; from now on it was."""
        cursor = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", [answer_key(case)])
        return cursor.rowcount > 0

    def add_look(self, result: object) -> None:
        self._database.execute(
            "INSERT INTO looks (result) VALUES (?)", [msgspec.json.encode(result)]
        )

    def looks(self, kind: type[T]) -> list[T]:
        """The results of all looks, oldest first."""
        rows = self._database.execute("SELECT result FROM looks ORDER BY number")
        return [msgspec.json.decode(row[0], type=kind) for row in rows]

    def count_looks(self) -> int:
        return int(self._database.execute("SELECT COUNT(*) FROM looks").fetchone()[0])


def answer_key(case: Case) -> int:
    """A number for one recorded answer, the same whichever file it is read from.

    Traces have ids. Without a time, the ids of two equal rows of a log make the difference.
    """
    trace = case.extra.get("trace_id")
    if trace:
        parts = [str(trace), str(case.extra.get("span_id")), case.question]
    else:
        if case.recorded:
            answer = case.recorded.answer
        else:
            answer = None
        when = case.extra.get("time") or case.id
        parts = [str(when), str(case.extra.get("conversation")), case.question, str(answer)]
    digest = hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@contextmanager
def open_state(folder: Path) -> Generator[WatchState]:
    """The state of a folder, locked; what the block changes is kept when it ends without an error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK).open("a+")
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    with lock:
        _take_lock(lock.fileno(), folder)
        database = _open_database(folder)
        try:
            database.execute("BEGIN IMMEDIATE")
            yield WatchState(database)
            database.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageError(f"{folder / STATE_FILE}: {error}") from None
        finally:
            database.close()  # without a commit nothing of the block remains


def _take_lock(number: int, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # on Windows the database itself keeps a second writer out
        return
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        message = "another watch is running on this state; it will be done soon"
        raise StorageError(f"{folder}: {message}") from None


def _open_database(folder: Path) -> sqlite3.Connection:
    path = folder / STATE_FILE
    try:
        database = sqlite3.connect(path, isolation_level=None, timeout=5.0)
        database.executescript(_TABLES)
        version = int(database.execute("PRAGMA user_version").fetchone()[0])
        if version == 0:
            database.execute(f"PRAGMA user_version = {_FORMAT}")
        elif version > _FORMAT:
            database.close()
            raise InputError(f"{path}: written by a newer answerkey; update answerkey")
        elif version < _FORMAT:
            database.close()
            raise InputError(
                f"{path}: written by an earlier answerkey, whose evidence cannot be continued; "
                "give another --state"
            )
        return database
    except sqlite3.Error as error:
        fix = "remove the folder to start the watch anew"
        raise StorageError(f"{path}: not a readable state: {error}; {fix}") from None


@contextmanager
def read_state(folder: Path) -> Generator[WatchState]:
    """The state for reading only, without the lock."""
    path = folder / STATE_FILE
    if not path.is_file():
        raise InputError(f"{folder}: no state of a watch; `answerkey watch` writes one")
    try:
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5.0)
    except sqlite3.Error as error:
        raise StorageError(f"{path}: not a readable state: {error}") from None
    try:
        yield WatchState(database)
    except (sqlite3.Error, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageError(f"{path}: not a readable state: {error}") from None
    finally:
        database.close()


def new_cases(state: WatchState, cases: Iterable[Case]) -> Generator[Case]:
    """The cases whose answers were not read before."""
    for case in cases:
        if case.recorded is not None and state.is_new(case):
            yield case

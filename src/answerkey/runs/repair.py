"""A damaged run.sqlite: what can be read of it, and its replacement before a run is resumed.

Every answer is looked up on its own, so that an unreadable part takes nothing else with it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from answerkey.errors import StorageError
from answerkey.runs.case_row import Stage
from answerkey.runs.database import (
    DATABASE,
    DamagedDatabase,
    create_tables,
    open_to_read,
    temporary_database,
)
from answerkey.runs.manifest import Manifest, stored_manifest
from answerkey.runs.repeats import Repeats
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import RowRules, RunWriter, Scored
from answerkey.runs.score import in_chunks
from answerkey.runs.state import RunState

_REPAIRED = f"repaired.{DATABASE}"  # complete; a kill may leave it before it is put in place
_AT_ONCE = 256
# Checking a larger file for damage would delay each page of the viewer; SQLite reports damage when
# it reads that part.
_MOST_CHECKED = 64_000_000  # bytes


def is_damaged(path: Path, connection: sqlite3.Connection, repeats: Repeats) -> bool:
    """Whether SQLite finds a fault in the structure of the file, or cases have lost their answer."""
    if path.stat().st_size > _MOST_CHECKED:
        return False
    orphans = (
        "SELECT EXISTS (SELECT 1 FROM cases LEFT JOIN answers ON place = cases.n"
        " WHERE place IS NULL)"
    )
    try:
        # `quick_check`, as the full check of the indexes takes several times as long.
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            return True
        # With repeats a place is no position, so the join does not hold.
        return repeats.times == 1 and bool(connection.execute(orphans).fetchone()[0])
    except sqlite3.DatabaseError:
        return True


def copy_readable(connection: sqlite3.Connection, manifest: Manifest) -> sqlite3.Connection:
    """A temporary database with everything that can be read of a damaged one, which is closed."""
    copy = temporary_database()
    writer = RunWriter(copy, RowRules.of_manifest(manifest))
    _copy_answers(connection, _all_places(manifest), writer)
    connection.close()
    return copy


def prepare_resume(folder: Path, places: Iterable[int] | None = None) -> RunState:
    """The state of a run to resume; a damaged database is replaced with what can be read of it.

    `places` are those of its answers, if they do not begin with 0.
    """
    path = folder / DATABASE
    if (folder / _REPAIRED).exists():
        _put_repaired_in_place(folder)
    if not path.exists():
        return RunState()
    try:
        with closing(open_to_read(folder)) as connection:
            repeats = stored_manifest(folder).repeats
            if is_damaged(path, connection, repeats):
                raise DamagedDatabase(path, "its structure is damaged")
            return RunReader(connection, repeats, path).read_state()
    except DamagedDatabase:
        return _repair(folder, places)


def _put_repaired_in_place(folder: Path) -> None:
    """Replace a damaged database with its repaired copy; a kill leaves the copy for the next try."""
    damaged = folder / f"damaged.{DATABASE}"
    if not damaged.exists():  # kept: somebody may recover more
        shutil.copyfile(folder / DATABASE, damaged)
    # Before the file has its name: SQLite would apply the old write-ahead file to it.
    for name in (f"{DATABASE}-wal", f"{DATABASE}-shm"):
        (folder / name).unlink(missing_ok=True)
    os.replace(folder / _REPAIRED, folder / DATABASE)


def _repair(folder: Path, places: Iterable[int] | None) -> RunState:
    manifest = stored_manifest(folder)
    rescued = folder / f".{DATABASE}.repaired"
    # A kill may have left a half-written copy.
    with suppress(FileNotFoundError):
        rescued.unlink()
    rules = RowRules.of_manifest(manifest)
    with closing(sqlite3.connect(rescued, isolation_level=None)) as target:
        create_tables(target)
        # A file that can't even be opened leaves an empty database: its cases are asked again.
        with suppress(StorageError), closing(open_to_read(folder)) as source:
            _copy_answers(source, places or _all_places(manifest), RunWriter(target, rules))
        state = RunReader(target, rules.repeats, rescued).read_state()
    os.replace(rescued, folder / _REPAIRED)
    _put_repaired_in_place(folder)
    return state


def _all_places(manifest: Manifest) -> range:
    """The places that answers of a run may have."""
    recorded = (manifest.records or {}).get("answers", 0)
    # A resumed run may keep the positions of cases that are gone: twice as many are plenty.
    return range(2 * max(recorded, (manifest.count or 0) * manifest.repeats.times))


def _copy_answers(connection: sqlite3.Connection, places: Iterable[int], writer: RunWriter) -> None:
    """Copy each answer at these places that can be read, with its verdict if that can be read.

    The places are not read from the file: its list of them may be what is damaged.
    """
    # Without repeats, each place is read on its own.
    reader = RunReader(connection, Repeats())
    for chunk in in_chunks(places, _AT_ONCE):
        scored: list[Scored] = []
        for place in chunk:
            attempt = _read_attempt(reader, place)
            if attempt is None:
                _copy_answer(reader, place, writer)
            else:
                scored.append(attempt)
        writer.add_scores(scored, with_answers=True)


def _read_attempt(reader: RunReader, place: int) -> Scored | None:
    # Any part may be unreadable; what can be read must not be lost with it.
    with suppress(sqlite3.Error, StorageError):
        for outcome, stage in reader.scored_attempts(place):
            return Scored(place, outcome, stage == Stage.STOPPED)
    return None


def _copy_answer(reader: RunReader, place: int, writer: RunWriter) -> None:
    """The answer alone: its verdict is missing or lost."""
    with suppress(sqlite3.Error, StorageError):
        writer.add_answers(list(reader.answers([place])))

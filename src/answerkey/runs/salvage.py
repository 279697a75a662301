"""What can still be read of a damaged run.sqlite: every answer is looked up on its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress

from answerkey.errors import StorageError
from answerkey.runs.repeats import Repeats
from answerkey.runs.run_reader import RunReader
from answerkey.runs.run_writer import RunWriter, Scored
from answerkey.runs.score import in_chunks
from answerkey.types import Outcome

_AT_ONCE = 256
# Checking a larger file for damage would delay each page of the viewer; SQLite reports damage when
# it reads that part.
MOST_CHECKED = 64_000_000  # bytes


def is_damaged(connection: sqlite3.Connection, repeats: Repeats) -> bool:
    """Whether SQLite finds a fault in the structure of the file, or cases have lost their answer."""
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


def salvage(connection: sqlite3.Connection, places: Iterable[int], writer: RunWriter) -> None:
    """Copy each answer at these places that can be read, with its verdict if that can be read.

    The places are not read from the file: its list of them may be what is damaged.
    """
    # Without repeats, each place is read on its own.
    reader = RunReader(connection, Repeats())
    for chunk in in_chunks(places, _AT_ONCE):
        scored: list[Scored] = []
        for place in chunk:
            outcome = _read_attempt(reader, place)
            if outcome is None:
                _copy_answer(reader, place, writer)
            else:
                scored.append(Scored(place, *outcome))
        writer.add_scores(scored, with_answers=True)


def _read_attempt(reader: RunReader, place: int) -> tuple[Outcome, bool] | None:
    # Any part may be unreadable; what can be read must not be lost with it.
    with suppress(sqlite3.Error, StorageError):
        return reader.scored_attempt(place)
    return None


def _copy_answer(reader: RunReader, place: int, writer: RunWriter) -> None:
    """The answer alone: its verdict is missing or lost."""
    with suppress(sqlite3.Error, StorageError):
        writer.add_answers(reader.answer(place))

"""Runs of format 1, which earlier versions stored as two journals, or on a cluster as Parquet parts.

They are read into a temporary database with the tables of today, so that nothing else knows them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import msgspec

from answerkey.coerce.values import describe_value, is_mapping
from answerkey.errors import StorageError
from answerkey.files import read_as, read_json
from answerkey.runs.ask import Answered
from answerkey.runs.database import DATABASE
from answerkey.runs.records import StoredOutcome, StoredScores
from answerkey.runs.run_reader import NumberedOutcome, RunReader
from answerkey.runs.run_writer import RunWriter, Scored
from answerkey.runs.score import in_chunks
from answerkey.types import Case, Response

RESPONSES = "responses.jsonl"
SCORES = "scores.jsonl"
PARTS = "parts"
_FORMAT = 1
_AT_ONCE = 256
_MOST = 10_000_000  # positions of cases before they are compared with the size of the file
# Bytes; lines of a few kilobytes are read five times as fast as with the usual 8,192.
_READ_AHEAD = 1 << 16
_Position = Annotated[int, msgspec.Meta(ge=0)]


class _Numbered(Protocol):
    n: _Position


_Record = TypeVar("_Record", bound=_Numbered)


class _StoredAnswer(msgspec.Struct):
    """A line of responses.jsonl; `removed` takes a case out that is no longer in the suite."""

    n: _Position
    id: str
    case: Case | None = None
    response: Response | None = None
    removed: bool = False

    def __post_init__(self) -> None:
        if not self.removed and (self.case is None or self.response is None):
            raise ValueError("no case or no response")

    def to_answered(self) -> Answered:
        return self.n, self.case or Case(self.id, ""), self.response or Response()


class _StoredVerdict(StoredScores, kw_only=True):
    """A line of scores.jsonl."""

    n: _Position
    id: str


def is_format1(folder: Path) -> bool:
    """Whether a run has journals or parts, and no database."""
    if (folder / DATABASE).exists():
        return False
    return any((folder / name).exists() for name in (RESPONSES, SCORES, PARTS))


def import_run(folder: Path, connection: sqlite3.Connection, writer: RunWriter) -> dict[str, int]:
    """Read a run of format 1 through `writer` into `connection`; returns its number of records."""
    if (folder / PARTS).is_dir():
        _import_parts(folder, writer)
        return {}
    records = {RESPONSES: 0, SCORES: 0}
    for chunk in in_chunks(_read_journal(folder / RESPONSES, _StoredAnswer), _AT_ONCE):
        records[RESPONSES] += len(chunk)
        writer.add_answers([each.to_answered() for each in chunk if not each.removed])
        writer.remove([each.n for each in chunk if each.removed])
    # Opened after the answers are there, as scores are joined to them.
    reader = RunReader(connection, writer.repeats)
    for chunk in in_chunks(_read_journal(folder / SCORES, _StoredVerdict), _AT_ONCE):
        records[SCORES] += len(chunk)
        answers = {n: (case, response) for n, case, response in reader.answers(v.n for v in chunk)}
        scored = [
            Scored(each.n, each.outcome(*answers[each.n]), each.stopped)
            for each in chunk
            if each.n in answers
        ]
        writer.add_scores(scored)
    return records


def _import_parts(folder: Path, writer: RunWriter) -> None:
    """Read the Parquet files of a run on a cluster; their names sort in the order of the cases."""
    for path in sorted((folder / PARTS).glob("shard-*.parquet")):
        writer.add_outcomes(list(_outcomes_in(path)))


def _outcomes_in(path: Path) -> Iterator[NumberedOutcome]:
    parquet: Any = import_module("pyarrow.parquet")  # it ships no types
    try:
        rows = parquet.read_table(path, columns=["n", "outcome"]).to_pylist()
        for row in rows:
            stored = msgspec.convert(read_json(row["outcome"]), StoredOutcome)
            yield row["n"], stored.outcome(stored.case, stored.response)
    # pyarrow raises subclasses of these for a file that it cannot read.
    except (OSError, LookupError, ValueError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise StorageError(f"{path}: damaged ({reason}); remove it to read the others") from None


def _read_journal(path: Path, kind: type[_Record]) -> Iterator[_Record]:
    """Every record; an incomplete last line is skipped."""
    try:
        with path.open("rb", _READ_AHEAD) as file:
            offset = 0
            for number, line in enumerate(file):
                # A line without its end was being written when the run was killed.
                if line.endswith(b"\n"):
                    if number == 0:
                        _check_header(line, path)
                    else:
                        yield _decode(line, path, offset, kind)
                offset += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _check_header(line: bytes, path: Path) -> None:
    try:
        header = read_json(line)
    except ValueError as error:
        raise _damaged_line(line, path, 0, error) from None
    if is_mapping(header):
        version = header.get("format")
    else:
        version = None
    if version != _FORMAT:
        raise StorageError(
            f"{path}, line 1: format {describe_value(version)}, expected {_FORMAT}; "
            "use the version that wrote it"
        )


def _decode(line: bytes, path: Path, offset: int, kind: type[_Record]) -> _Record:
    """The record of a line, its types checked; keys that `kind` does not name are ignored."""
    try:
        record = read_as(line, kind)
        # The state of a run has a byte per position: a damaged number could fill the memory.
        if record.n >= _MOST and record.n >= _MOST + path.stat().st_size:
            raise ValueError(f"no case has the position {record.n}")
        return record
    except ValueError as error:
        raise _damaged_line(line, path, offset, error) from None


def _damaged_line(line: bytes, path: Path, offset: int, error: Exception) -> StorageError:
    with path.open("rb") as file:
        number = file.read(offset).count(b"\n") + 1
    start = line[:60].decode(errors="replace").rstrip("\n")
    return StorageError(
        f"{path}, line {number}: damaged record {start!r} ({error}); remove that line"
    )

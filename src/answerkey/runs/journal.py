"""The two append-only journals of a run, responses and scores: JSON lines that are also the checkpoint.

Only this module, `journal_index` and `store` know the keys of their records. A record is on disk when `append` returns;
a line that a crash left incomplete is cut off when the journal is opened again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import msgspec

from answerkey import __version__
from answerkey.coerce.values import describe_value, is_mapping
from answerkey.errors import StorageError
from answerkey.files import json_line, read_as, read_json
from answerkey.runs.records import digest_of, to_json
from answerkey.types import Case, Response, Status, Verdict

RESPONSES, SCORES = "responses.jsonl", "scores.jsonl"
FORMAT = 1
_MOST = 10_000_000  # positions of cases before they are compared with the size of the file
ASK, ANSWERED, FINISHED, STOPPED, REMOVED = range(5)
REMOVED_END = b'"removed":true}\n'
READ_AHEAD = (
    1 << 16
)  # bytes; lines of a few kilobytes are read five times as fast as with the usual 8,192


class Journal:
    """The writing end of a journal; `append` may be called from several threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._size = _repair(self._file)
        except OSError as error:
            raise _cannot_write(path, error) from error
        if self._size == 0:
            self.append([{"format": FORMAT, "kind": path.stem, "answerkey": __version__}])

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        self.append_lines([json_line(record) for record in records])

    def append_lines(self, lines: Sequence[bytes]) -> None:
        """One write for all the records, then one sync. All or nothing: what a full disk cut short is removed again."""
        data = b"".join(line + b"\n" for line in lines)
        try:
            with self._lock:
                try:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(self._file, view) :]
                except OSError:
                    os.ftruncate(self._file, self._size)
                    raise
                self._size += len(data)
                os.fdatasync(self._file)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self) -> None:
        os.close(self._file)


def _repair(file: int) -> int:
    """The size after an incomplete last line is cut off."""
    size = end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - READ_AHEAD)
        newline = os.pread(file, end - start, start).rfind(b"\n")
        end = start + newline + 1
        if newline >= 0:
            break
    if end != size:
        os.ftruncate(file, end)
    return end


def _cannot_write(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: cannot be written: {error.strerror or error}; nothing written before is lost: "
        "free some space or allow writing, then continue with --resume"
    )


def read_journal(path: Path, kind: type[RecordType]) -> Iterator[RecordType]:
    """Every record, as far as `kind` reads it; an incomplete last line is skipped."""
    return (decoded(line, path, offset, kind) for offset, line in journal_lines(path))


def journal_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The complete lines after the header, each with the byte at which it begins."""
    try:
        with path.open("rb", READ_AHEAD) as file:
            offset = 0
            for number, line in enumerate(file):
                if line.endswith(b"\n"):
                    if number == 0:
                        _check_header(line, path)
                    else:
                        yield offset, line
                offset += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _check_header(line: bytes, path: Path) -> None:
    try:
        header = read_json(line)
    except ValueError as error:
        raise damaged_line(line, path, 0, error) from None
    found = header.get("format") if is_mapping(header) else None
    if found != FORMAT:
        raise StorageError(
            f"{path}, line 1: format {describe_value(found)}, this version reads {FORMAT}; use the version that wrote it"
        )


def decoded(line: bytes, path: Path, offset: int, kind: type[RecordType]) -> RecordType:
    """The record of a line, its types checked; keys that `kind` does not name are ignored."""
    try:
        record = read_as(line, kind)
        # Memory would be taken for every case before it.
        if record.n >= _MOST and record.n >= _MOST + path.stat().st_size:
            raise ValueError(f"no case has the position {record.n}")
        return record
    except ValueError as error:
        raise damaged_line(line, path, offset, error) from None


Position = Annotated[int, msgspec.Meta(ge=0)]


class Numbered(Protocol):
    n: Position


RecordType = TypeVar("RecordType", bound=Numbered)


class NumberedRecord(msgspec.Struct):
    """What every line of a journal has."""

    n: Position
    id: str


class _Problem(msgspec.Struct):
    error: str | None = None


class AnswerState(NumberedRecord):
    """What a line of responses.jsonl says about the state of its case."""

    response: _Problem | None = None
    removed: bool = False

    def __post_init__(self) -> None:
        if self.response is None and not self.removed:
            raise ValueError("no response")


class _KnownCase(AnswerState):
    case: dict[str, Any] = {}


class ScoreState(NumberedRecord):
    """What a line of scores.jsonl says about the state of its case."""

    verdict: Verdict
    stopped: bool = False


def damaged_line(line: bytes, path: Path, offset: int, error: Exception) -> StorageError:
    with path.open("rb") as file:
        number = file.read(offset).count(b"\n") + 1
    start = line[:60].decode(errors="replace").rstrip("\n")
    return StorageError(
        f"{path}, line {number}: damaged record {start!r} ({error}); remove that line, then resume"
    )


def response_record(n: int, case: Case, response: Response) -> dict[str, object]:
    return {"n": n, "id": case.id, "case": to_json(case), "response": to_json(response)}


def removed_record(n: int, case_id: str) -> dict[str, object]:
    """Takes a case out of the run: it is no longer in the suite."""
    return {"n": n, "id": case_id, "removed": True}


class RunState:
    """How far each case is, by position, one byte each. An unscored answer is scored again; an error is asked again."""

    def __init__(self, folder: Path | None = None) -> None:
        self._codes = bytearray()
        if folder is None:
            return
        for record in read_journal(folder / RESPONSES, AnswerState):
            asked = record.response is not None and record.response.error
            self[record.n] = REMOVED if record.removed else ASK if asked else ANSWERED
        for record in read_journal(folder / SCORES, ScoreState):
            if record.stopped:
                self[record.n] = STOPPED
            elif self[record.n] in (ANSWERED, STOPPED) and record.verdict.status != Status.ERROR:
                self[record.n] = FINISHED

    def __getitem__(self, n: int) -> int:
        return self._codes[n] if n < len(self._codes) else ASK

    def __setitem__(self, n: int, code: int) -> None:
        if n >= len(self._codes):
            self._codes.extend(bytes(n + 1 - len(self._codes)))
        self._codes[n] = code

    def count(self, code: int) -> int:
        return self._codes.count(code)

    def positions(self, code: int) -> list[int]:
        return [n for n, each in enumerate(self._codes) if each == code]

    def score_again(self) -> None:
        """The scoring changed: every answer is scored again, and none is asked again."""
        self._codes = self._codes.replace(bytes([FINISHED]), bytes([ANSWERED]))


def known_cases(folder: Path) -> dict[str, tuple[int, str]]:
    """The cases in the journal by id: position and a hash of the case. Read only when the cases changed."""
    known: dict[str, tuple[int, str]] = {}
    for record in read_journal(folder / RESPONSES, _KnownCase):
        if record.removed:
            known.pop(record.id, None)
        else:
            known[record.id] = record.n, digest_of(record.case)
    return known

"""The two append-only journals of a run, responses and scores: JSON lines that are also the checkpoint.

Only this module and `store` know the keys of their records. A record is on disk when `append` returns; a line that a
crash left incomplete is cut off when the journal is opened again.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated

import msgspec

from answerkey import __version__
from answerkey.coerce.values import is_mapping, shown
from answerkey.errors import StorageError
from answerkey.files import json_line, read_json
from answerkey.runs.records import digest_of, from_json, judged_json, outcome_from_json, to_json
from answerkey.runs.repeats import Repeats
from answerkey.types import Case, Json, Outcome, Response, Status, Verdict

RESPONSES, SCORES = "responses.jsonl", "scores.jsonl"
FORMAT = 1
_MOST = 10_000_000  # positions of cases before they are compared with the size of the file
ASK, ANSWERED, FINISHED, STOPPED, REMOVED = range(5)
_POSITION = re.compile(rb'\{"n":(\d{1,7}),')
_REMOVED = b'"removed":true}\n'


class Journal:
    """The writing end of a journal; `append` may be called from several threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._write_lock, self._sync_lock = threading.Lock(), threading.Lock()
        self._written = self._synced = 0
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._size = _repair(self._file)
        except OSError as error:
            raise _cannot_write(path, error) from error
        if self._size == 0:
            self.append([{"format": FORMAT, "kind": path.stem, "answerkey": __version__}])

    def append(self, records: Sequence[Json]) -> None:
        """One write for all the records, then one sync; threads that wait together share a sync."""
        data = b"".join(json_line(record) + b"\n" for record in records)
        try:
            with self._write_lock:
                self._append_whole(data)
                self._written += 1
                mine = self._written
            with self._sync_lock:
                if self._synced < mine:
                    reached = self._written
                    os.fdatasync(self._file)
                    self._synced = reached
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def _append_whole(self, data: bytes) -> None:
        """All or nothing: what a full disk cut short is removed again."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def close(self) -> None:
        os.close(self._file)


def _repair(file: int) -> int:
    """The size after an incomplete last line is cut off."""
    size = os.fstat(file).st_size
    block, end = 1 << 16, size
    while end > 0:
        start = max(0, end - block)
        newline = os.pread(file, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end != size:
        os.ftruncate(file, end)
    return end


def _cannot_write(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: cannot be written: {error.strerror or error}; nothing written before is lost: "
        "free some space or allow writing, then continue with --resume"
    )


def read_journal(path: Path) -> Iterator[tuple[int, Json]]:
    """Each record with the byte at which its line begins; an incomplete last line is skipped."""
    for offset, line in _lines(path):
        yield offset, _decoded(line, path, offset)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The complete lines after the header, each with the byte at which it begins."""
    try:
        with path.open("rb") as file:
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


def count_records(path: Path) -> int:
    """The complete lines after the header; 0 without a file."""
    try:
        with path.open("rb") as file:
            return max(sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1, 0)
    except FileNotFoundError:
        return 0


def _check_header(line: bytes, path: Path) -> None:
    try:
        header = read_json(line)
    except ValueError as error:
        raise _damaged(line, path, 0, error) from None
    found = header.get("format") if is_mapping(header) else None
    if found != FORMAT:
        raise StorageError(
            f"{path}, line 1: format {shown(found)}, this version reads {FORMAT}; use the version that wrote it"
        )


def _decoded(line: bytes, path: Path, offset: int) -> Json:
    """The record of a line. Its fields are checked when they are read; here only what tells the state of the case."""
    try:
        record = read_json(line)
        shape = (
            _Removed if _REMOVED in line and record.get("removed") else _Scored if path.name == SCORES else _Answered
        )
        n = msgspec.convert(record, shape).n
        if n >= _MOST and n >= _MOST + path.stat().st_size:  # memory would be taken for every case before it
            raise ValueError(f"no case has the position {n}")
        return record
    except (ValueError, AttributeError) as error:
        raise _damaged(line, path, offset, error) from None


class _Removed(msgspec.Struct):
    n: Annotated[int, msgspec.Meta(ge=0)]
    id: str


class _Problem(msgspec.Struct):
    error: str | None = None


class _Answered(_Removed):
    response: _Problem
    case: Json


class _Status(msgspec.Struct):
    status: str


class _Scored(_Removed):
    verdict: _Status


def _damaged(line: bytes, path: Path, offset: int, error: Exception) -> StorageError:
    with path.open("rb") as file:
        number = file.read(offset).count(b"\n") + 1
    start = line[:60].decode(errors="replace").rstrip("\n")
    return StorageError(f"{path}, line {number}: damaged record {start!r} ({error}); remove that line, then resume")


def response_record(n: int, case: Case, response: Response) -> Json:
    return {"n": n, "id": case.id, "case": to_json(case), "response": to_json(response)}


def removed_record(n: int, case_id: str) -> Json:
    """Takes a case out of the run: it is no longer in the suite."""
    return {"n": n, "id": case_id, "removed": True}


class RunState:
    """How far each case is, by position, one byte each. An unscored answer is scored again; an error is asked again."""

    def __init__(self, folder: Path | None = None) -> None:
        self._codes = bytearray()
        if folder is None:
            return
        for _, record in read_journal(folder / RESPONSES):
            if record.get("removed"):
                self[record["n"]] = REMOVED
            else:
                self[record["n"]] = ASK if record["response"].get("error") else ANSWERED
        for _, record in read_journal(folder / SCORES):
            n = record["n"]
            if record.get("stopped"):
                self[n] = STOPPED
            elif self[n] in (ANSWERED, STOPPED) and record["verdict"]["status"] != Status.ERROR:
                self[n] = FINISHED

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
    for _, record in read_journal(folder / RESPONSES):
        if record.get("removed"):
            known.pop(record["id"], None)
        else:
            known[record["id"]] = record["n"], digest_of(record["case"])
    return known


@dataclass(frozen=True, slots=True)
class StoredCase:
    """One case as its journals have it: JSON, and the bytes at which the two records begin (-1: not scored)."""

    n: int
    answered: Json
    judged: Json | None
    answered_at: int
    scored_at: int

    def outcome(self, path: Path) -> Outcome:
        """The outcome; `path` names the run, or its part, where a record is damaged."""
        try:
            return outcome_from_json(self.answered, self.judged)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            key = shown(self.answered.get("id", self.n))
            raise StorageError(
                f"{path}: the record of case {key} is damaged ({error}); "
                f"remove its line from {RESPONSES} and {SCORES}, then resume"
            ) from None


class JournalIndex:
    """Finds the newest response and score of each attempt by position, with 16 bytes per attempt in memory.

    Positions of attempts and of cases are the same unless cases are repeated.
    """

    def __init__(self, folder: Path, repeats: Repeats = Repeats()) -> None:  # noqa: B008
        self.folder, self.repeats = folder, repeats
        self.responses, self.scores = array("q"), array("q")
        for name, offsets in ((RESPONSES, self.responses), (SCORES, self.scores)):
            for n, offset in _positions(folder / name):
                if n >= len(offsets):
                    offsets.extend([-1] * (n + 1 - len(offsets)))
                offsets[n] = offset

    def __len__(self) -> int:
        """How many cases have all their answers and scores."""
        done = [at >= 0 and scored >= 0 for at, scored in zip(self.responses, self.scores, strict=False)]
        times = self.repeats.times
        return sum(done) if times == 1 else sum(sum(done[n : n + times]) == times for n in range(0, len(done), times))

    def records(self) -> Iterator[StoredCase]:
        """Every answered case, in case order; with repeats those with all their answers, and positions instead of bytes."""
        if self.repeats.times > 1:
            yield from (stored_case(n, outcome) for n, outcome in self.numbered(stopped=True))
            return
        yield from self._stored()

    def _stored(self) -> Iterator[StoredCase]:
        with _open(self.folder / RESPONSES) as responses, _open(self.folder / SCORES) as scores:
            for n, at in enumerate(self.responses):
                if at >= 0:
                    scored = self.scores[n] if n < len(self.scores) else -1
                    judged = _record(scores, scored) if scored >= 0 else None
                    yield StoredCase(n, _record(responses, at), judged, at, scored)

    def numbered(self, *, unscored: bool = False, stopped: bool = False) -> Iterator[tuple[int, Outcome]]:
        """The outcomes in case order with their positions. One that is not scored only with `unscored`; one that the
        run stopped at, to ask it again on resume, only with `stopped` or `unscored`."""
        return self.repeats.combined(self.attempts(unscored=unscored, stopped=stopped), whole=not stopped)

    def attempts(self, *, unscored: bool = False, stopped: bool = False) -> Iterator[tuple[int, Outcome]]:
        """As `numbered`, with an outcome per answer."""
        for stored in self._stored():
            if unscored or (stored.judged is not None and (stopped or not stored.judged.get("stopped"))):
                yield stored.n, stored.outcome(self.folder)

    def outcomes(self, *, unscored: bool = False) -> Iterator[Outcome]:
        return (outcome for _, outcome in self.numbered(unscored=unscored))

    def at(self, positions: Iterable[int]) -> Iterator[Outcome]:
        """The outcomes of those of the cases at these positions that have an answer, in the order given."""
        for n in positions:
            places = [place for place in self.repeats.positions(n) if place < len(self.responses)]
            if found := [self.attempt(place) for place in places if self.responses[place] >= 0]:
                yield self.repeats.combine(found)

    def attempt(self, n: int) -> Outcome:
        """The outcome of the answer at this position."""
        return outcome_at(self.folder, self.responses[n], self.scores[n] if n < len(self.scores) else -1)

    def answers(self, positions: Iterable[int] | None = None) -> Iterator[tuple[int, Case, Response]]:
        """The newest responses, of all answered cases or of some."""
        wanted = range(len(self.responses)) if positions is None else positions
        with _open(self.folder / RESPONSES) as responses:
            for n in wanted:
                if self.responses[n] >= 0:
                    answered = _record(responses, self.responses[n])
                    outcome = StoredCase(n, answered, None, self.responses[n], -1).outcome(self.folder)
                    yield n, outcome.case, outcome.response


def stored_case(n: int, outcome: Outcome) -> StoredCase:
    """An outcome as JSON, with its position in place of its bytes."""
    answered: Json = {
        "n": n,
        "id": outcome.case.id,
        "case": to_json(outcome.case),
        "response": to_json(outcome.response),
    }
    return StoredCase(n, answered, judged_json(outcome), n, n)


def outcome_at(folder: Path, answered_at: int, scored_at: int) -> Outcome:
    """One whole outcome from the bytes at which its records begin; -1 for a case that is not scored."""
    with _open(folder / RESPONSES) as responses, _open(folder / SCORES) as scores:
        answered, judged = _record(responses, answered_at), _record(scores, scored_at) if scored_at >= 0 else None
        return StoredCase(answered["n"], answered, judged, answered_at, scored_at).outcome(folder)


def _positions(path: Path) -> Iterator[tuple[int, int]]:
    """The position of each record's case with the byte of its line, or -1 for a removed case; lines are not parsed."""
    for offset, line in _lines(path):
        found = _POSITION.match(line)
        n = int(found[1]) if found else _decoded(line, path, offset)["n"]
        yield n, -1 if line.endswith(_REMOVED) else offset


def _open(path: Path) -> IO[bytes]:
    return path.open("rb") if path.is_file() else open(os.devnull, "rb")


def _record(file: IO[bytes], at: int) -> Json:
    if file.tell() != at:
        file.seek(at)
    return _decoded(file.readline(), Path(file.name), at)


class JournalTail:
    """Follows the journals of a run in progress: each call returns only what was added since the last one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at = {RESPONSES: 0, SCORES: 0}

    def answered(self) -> list[tuple[int, bool]]:
        """The positions of new responses, and whether each removes its case."""
        return [(record["n"], bool(record.get("removed"))) for record in self._new(RESPONSES)]

    def scored(self) -> list[tuple[int, str, Verdict]]:
        """Position, id and verdict of each new score."""
        return [(r["n"], r["id"], from_json(Verdict, r["verdict"])) for r in self._new(SCORES)]

    def _new(self, name: str) -> list[Json]:
        path = self._folder / name
        if not path.is_file():
            return []
        records: list[Json] = []
        with path.open("rb") as file:
            file.seek(self._at[name])
            while (line := file.readline()).endswith(b"\n"):
                if at := self._at[name]:  # the header is at 0
                    records.append(_decoded(line, path, at))
                self._at[name] += len(line)
        return records


def find_text(folder: Path, answered_at: Sequence[int], text: str) -> Iterator[int]:
    """Which of these responses have the text in their id, question or answer, ignoring case; one line in memory."""
    quick = json_line(text.lower())[1:-1].decode("utf-8", "replace")  # as it stands in a line of JSON
    with _open(folder / RESPONSES) as file:
        for row, at in enumerate(answered_at):
            file.seek(at)
            line = file.readline()
            if quick in line.decode("utf-8", "replace").lower() and has_text(read_json(line), text):
                yield row


def has_text(answered: Json, text: str) -> bool:
    """Whether the id, question or answer of a stored response contains the text, ignoring case."""
    case, needle = answered["case"], text.lower()
    texts = (case["id"], case["question"], answered["response"].get("answer"))
    return any(needle in each.lower() for each in texts if each)

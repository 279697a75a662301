"""An append-only file of JSON lines. The journal is the checkpoint: there is no second state.

A record is on disk when `append` returns. A line that a crash tore is cut off when the journal is opened again.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from answerkey import __version__
from answerkey.errors import StorageError
from answerkey.files import json_line, read_json
from answerkey.types import Json

FORMAT = 1
_POSITION = re.compile(rb'\{"n":(\d+),')
_REMOVED = b'"removed":true}\n'


class Journal:
    """One writer's end of a journal; `append` may be called from several threads at once."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self._write_lock, self._sync_lock = threading.Lock(), threading.Lock()
        self._written = self._synced = 0
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            self._size = _repair(self._file)
        except OSError as error:
            raise _storage_error(path, error) from error
        if self._size == 0:
            self.append([{"format": FORMAT, "kind": kind, "answerkey": __version__}])

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
            raise _storage_error(self.path, error) from error

    def _append_whole(self, data: bytes) -> None:
        """All of it or nothing: what a full disk cut short is taken back."""
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


def read_journal(path: Path) -> Iterator[tuple[int, Json]]:
    """Each record with the byte where its line begins; a torn last line is passed over."""
    for offset, line in _lines(path):
        yield offset, decoded(line, path)


def positions(path: Path) -> Iterator[tuple[int, int]]:
    """The position of each record's case, and the byte where its line begins or -1 for one taken out; not parsed whole."""
    for offset, line in _lines(path):
        found = _POSITION.match(line)
        n = int(found[1]) if found else int(decoded(line, path)["n"])
        yield n, -1 if line.endswith(_REMOVED) else offset


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines after the header, each with the byte where it begins."""
    try:
        with path.open("rb") as file:
            offset = 0
            for number, line in enumerate(file):
                if line.endswith(b"\n"):
                    if number == 0:
                        _check_header(decoded(line, path), path)
                    else:
                        yield offset, line
                offset += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _storage_error(path, error) from error


def decoded(line: bytes, path: str | Path) -> Json:
    try:
        return read_json(line)
    except ValueError:
        shown = line[:60].decode(errors="replace")
        raise StorageError(f"{path}: a damaged line, {shown!r}; remove that line, then resume") from None


def _check_header(header: Json, path: Path) -> None:
    if header.get("format") != FORMAT:
        raise StorageError(
            f"{path}: format {header.get('format')!r}, this version reads {FORMAT}; use the version that wrote it"
        )


def _repair(file: int) -> int:
    """The size after a torn last line is cut off."""
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


def _storage_error(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: cannot be written: {error.strerror or error}; nothing written before is lost: "
        "make room or allow writing, then go on with --resume"
    )

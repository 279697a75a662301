"""Search in the ids, questions and answers of a run, ignoring case.

The first search of a run reads its journal. Meanwhile the texts are written to a file without a name, in lower case and one
after the other, in which 100 MB are searched in a tenth of a second; the memory of the server stays small.
"""

from __future__ import annotations

import os
import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from answerkey.files import json_line
from answerkey.reports.rows import journal_state, read_rows
from answerkey.runs.journal import RESPONSES
from answerkey.runs.journal_index import CaseTexts, JournalIndex, stored_texts
from answerkey.runs.store import read_index

_BLOCK = 1 << 20
_END = b"\xff"  # in no text of UTF-8
_WORTH_WRITING = 4_000_000  # bytes of a journal
_MOST = 2  # runs whose texts are kept
_lock = threading.Lock()
_written: dict[tuple[Path, str], SearchText] = {}


class SearchText:
    """The texts of a run in one file; `find` returns the places of the cases that contain a text."""

    def __init__(self, folder: Path) -> None:
        self._file = TemporaryFile(buffering=_BLOCK)  # noqa: SIM115
        self._rows, self._ends, end = array("q"), array("q"), 0
        for row, texts in _texts(folder):
            line = _END.join(_bytes(text) for text in texts) + _END
            self._file.write(line)
            end += len(line)
            self._rows.append(row)
            self._ends.append(end)
        self._file.flush()

    def find(self, text: str) -> Iterator[int]:
        needle, at = _bytes(text), 0
        while block := os.pread(self._file.fileno(), _BLOCK, at):
            found, after = block.find(needle), at + len(block) - len(needle) + 1
            while found >= 0:
                place = bisect_right(self._ends, at + found)
                yield self._rows[place]
                after = max(after, self._ends[place])
                found = block.find(needle, self._ends[place] - at)
            if len(block) < _BLOCK:
                return
            at = after


def find_text(folder: Path, text: str) -> set[int]:
    """The places of the cases that contain the text."""
    if written := _written.get((folder, journal_state(folder))):
        return set(written.find(text))
    needle = text.lower()
    quick = json_line(needle)[1:-1] if text.isascii() else b""  # as it stands in a line of JSON
    return {row for row, texts in _texts(folder, quick) if any(needle in each.lower() for each in texts)}


def write_search_text(folder: Path) -> None:
    """Prepare the search of a large run; where the system has no space for it, searches read the journal."""
    key = folder, journal_state(folder)
    large = (folder / RESPONSES).is_file() and (folder / RESPONSES).stat().st_size > _WORTH_WRITING
    if not large or key in _written or not _lock.acquire(blocking=False):
        return
    with suppress(OSError):
        _written[key] = SearchText(folder)
        for old in list(_written)[:-_MOST]:
            del _written[old]
    _lock.release()


def _texts(folder: Path, quick: bytes = b"") -> Iterator[tuple[int, CaseTexts]]:
    """The texts of each case with its place; of journals only those whose line contains `quick`."""
    index = read_index(folder)
    if isinstance(index, JournalIndex) and index.repeats.times == 1:
        yield from stored_texts(folder, read_rows(folder).answered_at, quick)
        return
    for row, (_, outcome) in enumerate(index.numbered(stopped=True)):
        yield row, (outcome.case.id, outcome.case.question, outcome.response.answer or "")


def _bytes(text: str) -> bytes:
    return text.lower().encode("utf-8", "surrogatepass")

"""A copy of the cases of a run as they were read, so that they are read from their files only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile

import msgspec

from answerkey.files import json_line, read_as
from answerkey.runs.records import to_json
from answerkey.types import Case, Response

_IN_MEMORY = 1 << 24  # bytes; more than that goes to a temporary file without a name
_MOST = 1 << 31  # bytes of that file
_AT_ONCE = 1 << 18  # bytes that are read at a time
_BEGIN = b'{"n":'


class _CopiedCase(msgspec.Struct):
    """What a line of the copy holds."""

    n: int
    case: Case


class CaseCopy:
    """Numbered cases; each call streams them, as `source` does, in a fifth of the time. Where there is no space for the
    copy, or it would be very large, they are read from `source` again."""

    def __init__(self, source: Callable[[], Iterator[tuple[int, Case]]]) -> None:
        self._source = source
        self._size = 0
        self._file: SpooledTemporaryFile[bytes] | None = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (closed with this)

    def __del__(self) -> None:
        self._give_up()

    def add(self, n: int, case: bytes, recorded: Response | None) -> None:
        """Add a case as JSON; its recorded answer is not part of that."""
        if self._file is None:
            return
        if recorded is not None:
            case = b'%b,"recorded":%b}' % (case[:-1], json_line(to_json(recorded)))
        line = b'%b%d,"case":%b}\n' % (_BEGIN, n, case)
        self._size += len(line)
        try:
            self._file.write(line)
        except OSError:
            self._give_up()
        if self._size > _MOST:
            self._give_up()

    def finish(self) -> None:
        """Called after the last case: what is still in a buffer is written."""
        try:
            if self._file is not None:
                self._file.flush()
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        file = self._file
        self._file = None
        if file is not None:
            with suppress(OSError):
                file.close()

    def __call__(self) -> Iterator[tuple[int, Case]]:
        if self._file is None:
            yield from self._source()
        for line in self._lines():
            copied = read_as(line, _CopiedCase)
            yield copied.n, copied.case

    def _lines(self) -> Iterator[bytes]:
        """Each case with its number, as the JSON of a `_CopiedCase` without a line end."""
        place = 0
        while self._file is not None:
            self._file.seek(place)  # another stream may have been read in between
            lines = self._file.readlines(_AT_ONCE)
            place = self._file.tell()
            if not lines:
                return
            yield from (line[:-1] for line in lines)

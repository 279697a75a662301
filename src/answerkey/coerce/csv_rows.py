"""Rows of CSV files, whichever separator they use."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

from answerkey.coerce.columns import log_column
from answerkey.coerce.decode import encoding_of, warn_once
from answerkey.coerce.rows import Row, name_columns
from answerkey.coerce.values import Place
from answerkey.errors import InputError

# Added as the last line: a quote that is never closed swallows it. A private-use character, so
# that no file has it by chance.
_END = "\ue000end of file"
_SEPARATORS = ",;\t|"
_EXCEL_SEPARATOR = re.compile(r'"?sep=(.)"?\s*')
# As programs write a missing value; "None" may be an answer.
_NULLS = frozenset({"nan", "NaN", "null", "NULL", "<NA>"})


def csv_rows(path: Path, name: str) -> Iterator[Row]:
    # The default of 128 KB is less than some passages; the limit is one for the whole process.
    csv.field_size_limit(1 << 30)
    # The csv module must see the line ends itself: cells may contain them.
    with path.open(encoding=encoding_of(path), newline="") as file:
        yield from _CsvTable(file, name).rows()


class _CsvTable:
    """Reads a table row by row, and keeps the lines of the row at hand for its error messages."""

    def __init__(self, file: IO[str], name: str) -> None:
        self._name = name
        separator, self._skipped = separator_of(file)
        self._lines: list[str] = []
        self._reader = csv.reader(self._remember(chain(file, [_END])), delimiter=separator)
        self._first_line = 0

    def _remember(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._lines.append(line)
            yield line

    @property
    def _line(self) -> int:
        return self._reader.line_num + self._skipped

    def rows(self) -> Iterator[Row]:
        try:
            header = next(self._reader, [_END])
            if header == [_END]:  # an empty file
                return
            names = name_columns(_unique_names(header), Place(self._name, 1 + self._skipped))
            columns = list(names.canonical.values())
            self._start_row()
            for cells in self._reader:
                # The added line came as a row of its own, so every quote was closed.
                if cells == [_END]:
                    return
                self._check_closed(cells)
                self._start_row()
                if any(cell.strip() for cell in cells):
                    place = Place(self._name, self._line, names=names.written)
                    cells = self._fit(cells, columns, place)
                    names_of_row = [*columns, *_number_columns(len(columns), len(cells))]
                    yield dict(_filled_cells(names_of_row, cells)), place
        except csv.Error as error:
            raise InputError(f"{self._name}, line {self._line}: not valid CSV: {error}") from None

    def _start_row(self) -> None:
        self._first_line = self._line + 1
        self._lines.clear()

    def _check_closed(self, cells: Sequence[str]) -> None:
        if not cells or not cells[-1].endswith(_END):
            return
        quotes = [
            number
            for number, line in enumerate(self._lines, self._first_line)
            for _ in range(line.count('"'))
        ]
        # Every second quote opens a cell; the last of these was never closed.
        opening = quotes[::2] or [self._first_line]
        place = f"{self._name}, line {opening[-1]}"
        raise InputError(f"{place}: a quoted cell begins here and does not end; close the quote")

    def _fit(self, cells: list[str], columns: Sequence[str], place: Place) -> list[str]:
        surplus = cells[len(columns) :]
        if not any(cell.strip() for cell in surplus):  # separators at the end of a row
            cells = cells[: len(columns)]
        if len(cells) == len(columns):
            return cells
        # A bot that logs more since an update leaves the old header. A blank before the surplus
        # is that of a sentence, whose comma was not quoted.
        if surplus and _is_log(columns) and not surplus[0].startswith(" "):
            added = ", ".join(_number_columns(len(columns), len(cells)))
            fix = 'name them in the header, for example "session_id", to use them'
            warn_once(f"{self._name}: rows have cells without a name ({added}); {fix}")
            return cells
        problem = f"found {len(cells)} cells, expected {len(columns)} as in the header"
        fix = "quote cells that hold the separator or a line break"
        raise InputError(f"{place}: {problem}; {fix}")


def _number_columns(first: int, last: int) -> list[str]:
    """Names of the cells after the last that the header names."""
    return [f"column_{number}" for number in range(first + 1, last + 1)]


def _is_log(columns: Sequence[str]) -> bool:
    return {"question", "answer"} <= set(columns) and log_column("time", columns) is not None


def separator_of(file: IO[str]) -> tuple[str, int]:
    """The separator of the cells, and the number of lines to skip before the header.

    Excel may name the separator in a first line `sep=;`. Otherwise it is the one that the first
    line has most often outside quotes. The file is left where the header begins.
    """
    first = file.readline()
    named = _EXCEL_SEPARATOR.fullmatch(first)
    if named:
        return named[1], 1
    file.seek(0)
    # Questions in quotes have commas of their own.
    unquoted = re.sub(r'"[^"]*"', "", first)
    return max(_SEPARATORS, key=unquoted.count), 0


def _filled_cells(columns: Iterable[str], cells: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """The cells that have a value.

    An empty answer stays, as a bot may well have answered nothing; an empty question is an error.
    """
    for column, cell in zip(columns, cells, strict=True):
        text = cell.strip()
        if text in _NULLS:
            if column in ("answer", "question"):
                # A null answer is an error of the bot, which the metrics must see.
                yield column, None
        elif text or column in ("answer", "question"):
            yield column, cell


def _unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Unique names: the second `score` is `score_2`; a column without a name has its number."""
    counts: Counter[str] = Counter()
    unique: list[str] = []
    for number, name in enumerate(names, start=1):
        counts[name] += 1
        if not name.strip():
            unique.append(f"column_{number}")
        elif counts[name] > 1:
            unique.append(f"{name}_{counts[name]}")
        else:
            unique.append(name)
    return tuple(unique)

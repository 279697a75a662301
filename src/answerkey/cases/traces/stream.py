"""The records of a trace file, one after another, so that a file of any size needs little memory."""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from answerkey.cases.traces.families import NAMES
from answerkey.cases.traces.records import BadSpan, Span, is_span, spans_of, wrapper_context
from answerkey.coerce.csv_rows import separator_of
from answerkey.coerce.values import is_list, is_mapping, is_number
from answerkey.errors import InputError

_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_BLOCK = 1 << 20
_INNER = frozenset(NAMES["wrappers"]["inner"])
_OUTER = _INNER | frozenset(NAMES["wrappers"]["outer"])
_DEEPEST = 12  # wrappers inside wrappers
_LONGEST_LINE = 1 << 20  # a longer line is read piece by piece: parsed, it takes ten times as much
_FIRST_RECORDS = 5  # records that are looked at to find out whether a file holds spans


@dataclass(frozen=True, slots=True)
class Damage:
    """A part of a file that cannot be read: where, and why."""

    place: str
    reason: str


Record = tuple[object, Mapping[str, object], str]  # the value, what its wrappers say, its place


class _BadJson(ValueError):
    """Text that is no JSON, from some place onwards."""


class _JsonCursor:
    """Reads JSON values from a file piece by piece; it holds one value in memory, not the file."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._position = 0
        self._is_at_end = False

    def _read_more(self) -> bool:
        if self._is_at_end:
            return False
        # Reading as much again as is held keeps the work linear for a value of any size.
        block = self._file.read(max(_BLOCK, len(self._text) - self._position))
        self._is_at_end = not block
        self._text = self._text[self._position :] + block
        self._position = 0
        return bool(block)

    def peek(self) -> str:
        """The next character that is not white space; "" at the end of the file."""
        while True:
            while self._position < len(self._text):
                character = self._text[self._position]
                if character not in " \t\r\n\ufeff":
                    return character
                self._position += 1
            if not self._read_more():
                return ""

    def skip(self, character: str) -> bool:
        """Step over a character where it is next."""
        if self.peek() != character:
            return False
        self._position += 1
        return True

    def expect(self, character: str) -> None:
        if not self.skip(character):
            raise _BadJson(
                f'expected "{character}", found "{self.peek() or "the end of the file"}"'
            )

    def value(self) -> object:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value: object
                value, end = self._decoder.raw_decode(self._text, self._position)
            except RecursionError:
                raise _BadJson("nested too deeply") from None
            except ValueError as error:
                if self._read_more():
                    continue
                reason = getattr(error, "msg", None) or "a number with too many digits"
                raise _BadJson(f"not valid JSON: {reason}") from None
            # A number at the end of what was read may have more digits.
            if end == len(self._text) and is_number(value) and self._read_more():
                continue
            self._position = end
            return value

    def skip_line(self) -> None:
        """Step over the rest of the line, after a value that could not be read."""
        while True:
            end = self._text.find("\n", self._position)
            if end >= 0:
                self._position = end + 1
                return
            self._position = len(self._text)
            if not self._read_more():
                return


def records_of_json(file: IO[str]) -> Iterator[Record | Damage]:
    """The records of JSON, of JSON lines, and of several JSON values in a row."""
    cursor = _JsonCursor(file)
    number = 0
    while cursor.peek():
        number += 1
        place = f"value {number}"
        try:
            yield from _records(cursor, {}, place, 0)
        except _BadJson as error:
            yield Damage(place, str(error))
            cursor.skip_line()
        # Several values in a row may be separated by commas.
        cursor.skip(",")


def _records(
    cursor: _JsonCursor, context: Mapping[str, object], place: str, depth: int
) -> Iterator[Record | Damage]:
    start = cursor.peek()
    if start == "[" and depth <= _DEEPEST:
        yield from _records_of_list(cursor, context, place, depth)
    elif start == "{" and depth <= _DEEPEST:
        yield from _records_of_object(cursor, context, place, depth)
    else:
        yield cursor.value(), context, place


def _records_of_list(
    cursor: _JsonCursor, context: Mapping[str, object], place: str, depth: int
) -> Iterator[Record | Damage]:
    cursor.expect("[")
    number = 0
    while not cursor.skip("]"):
        number += 1
        yield from _records(cursor, context, f"{place}, item {number}", depth + 1)
        if not cursor.skip(","):
            cursor.expect("]")
            return


def _records_of_object(
    cursor: _JsonCursor, context: Mapping[str, object], place: str, depth: int
) -> Iterator[Record | Damage]:
    """The object as one record, or the records of the lists of spans that it wraps."""
    cursor.expect("{")
    fields: dict[str, object] = {}
    is_wrapper = False
    # Lists deeper in a record belong to the record: only the file's own wrapper is called `data`.
    wrappers = _OUTER if depth == 0 else _INNER
    while not cursor.skip("}"):
        key = cursor.value()
        if not isinstance(key, str):
            raise _BadJson("the key of an object is no text")
        cursor.expect(":")
        # A span may have a list of this name itself, such as its children.
        if key in wrappers and cursor.peek() == "[" and not is_span(fields):
            is_wrapper = True
            inner = {**context, **wrapper_context(fields)}
            yield from _records_of_list(cursor, inner, f"{place}, {key}", depth + 1)
        else:
            fields[key] = cursor.value()
        if not cursor.skip(","):
            cursor.expect("}")
            break
    # A trace of Langfuse that names its observations before its own fields is both.
    if not is_wrapper or is_span(fields):
        yield fields, context, place


def records_of_csv(file: IO[str]) -> Iterator[Record | Damage]:
    """The rows of a table of spans, such as Phoenix and Langfuse export."""
    # Prompts in a cell are longer than the default of 128 KB.
    csv.field_size_limit(1 << 30)
    separator, _ = separator_of(file)
    reader = csv.DictReader(file, delimiter=separator)
    try:
        for row in reader:
            cells = {key: value for key, value in row.items() if key and value not in (None, "")}
            yield cells, {}, f"line {reader.line_num}"
    except csv.Error as error:
        yield Damage(f"line {reader.line_num}", f"not valid CSV: {error}")


def records_of_parquet(path: Path, name: str) -> Iterator[Record | Damage]:
    from answerkey.coerce.parquet_rows import raw_parquet_rows

    for number, row in raw_parquet_rows(path, name):
        cells = {key: cell for key, cell in row.items() if cell is not None}
        yield cells, {}, f"row {number}"


def records_of(path: Path, name: str) -> Iterator[Record | Damage]:
    """The records of a file, by its ending."""
    if path.suffix.lower() == ".parquet":
        yield from records_of_parquet(path, name)
        return
    # A whole file may be one line, so that it is not read line by line to find its encoding, and
    # one bad byte is no reason to refuse the other spans.
    with path.open(encoding=_encoding_of(path), errors="replace", newline="") as file:
        yield from _records_of_text(file, path)


def _encoding_of(path: Path) -> str:
    with path.open("rb") as file:
        has_mark = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return "utf-16" if has_mark else "utf-8-sig"


def _records_of_text(file: IO[str], path: Path) -> Iterator[Record | Damage]:
    if path.suffix.lower() in (".csv", ".tsv"):
        return records_of_csv(file)
    if _has_value_per_line(file):
        return records_of_lines(file)
    return records_of_json(file)


def _has_value_per_line(file: IO[str]) -> bool:
    """Whether the first line is a whole value and not the only one; the file is left at its start."""
    # A document that is indented over many lines has no whole value on its first line.
    first = file.readline(_LONGEST_LINE)
    second = file.readline(_LONGEST_LINE)
    file.seek(0)
    try:
        json.loads(first.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return bool(second.strip())


def records_of_lines(file: IO[str]) -> Iterator[Record | Damage]:
    """One record per line; a damaged line leaves the others alone."""
    for number, line in enumerate(file, start=1):
        place = f"line {number}"
        text = line.strip().lstrip("\ufeff")
        if not text:
            continue
        try:
            value = json.loads(text)
        except RecursionError:
            yield Damage(place, "nested too deeply")
            continue
        except ValueError as error:
            reason = getattr(error, "msg", None) or "a number with too many digits"
            yield Damage(place, f"not valid JSON: {reason}")
            continue
        for item in value if is_list(value) else [value]:
            yield item, {}, place


def holds_spans(path: Path, name: str) -> bool:
    """Whether one of the first records of a file is a span."""
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        return False
    try:
        if ending == ".parquet":
            return _has_span(records_of_parquet(path, name))
        # Any byte will do for a first look; reading the file in earnest names a bad one.
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            return _has_span(_records_of_text(file, path))
    except InputError:
        return False


def _has_span(records: Iterator[Record | Damage]) -> bool:
    # Not only the first record: a file may begin with a header or a damaged line.
    first = (record for record in islice(records, _FIRST_RECORDS) if not isinstance(record, Damage))
    return any(_is_trace_record(value) for value, _, _ in first)


def _is_trace_record(value: object) -> bool:
    if is_list(value):
        return bool(value) and is_mapping(value[0]) and is_span(value[0])
    return is_span(value)


def read_spans(path: Path, name: str) -> Iterator[Span | Damage]:
    """The spans of a file; what is no span is reported with its place."""
    for record in records_of(path, name):
        if isinstance(record, Damage):
            yield record
            continue
        value, context, place = record
        for span in spans_of(value, context):
            if isinstance(span, BadSpan):
                yield Damage(place, str(span))
            else:
                yield span

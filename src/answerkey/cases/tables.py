"""JSON lists, JSON lines, CSV and Parquet: rows, each with its place."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from answerkey.cases.columns import Place, canonical_columns, row_to_case, row_to_response
from answerkey.cases.other_tools import with_expected_columns
from answerkey.decode import encoding_of, read_lines, read_text
from answerkey.errors import InputError
from answerkey.types import Case, Response

Row = tuple[dict[str, Any], Place]
_PARQUET_BATCH = 1024


def cases_of_rows(rows: Iterator[Row], path: Path, before: int = 0) -> Iterator[Case]:
    """`before` is how many rows of the file come before these, where only a part of it is read."""
    for number, (row, place) in enumerate(rows, start=before + 1):
        yield row_to_case(with_expected_columns(row), place, default_id=f"{path.stem}#{number}")


def responses_of_rows(rows: Iterator[Row]) -> Iterator[tuple[str, Response]]:
    """Recorded answers of a second file, by id."""
    for row, place in rows:
        key = str(row.get("id") or "").strip()
        if not key:
            raise place.error(
                "id", row.get("id"), "the id of a case", "recorded answers are joined to cases by id"
            )
        yield key, row_to_response(row, place)


def parse_json(path: Path, name: str) -> Any:
    try:
        return _STRICT.decode(read_text(path).strip())
    except ValueError as error:
        raise InputError(f"{name}{_line_of(error)}: not valid JSON: {_reason(error)}") from None


def json_rows(path: Path, name: str) -> Iterator[Row]:
    return rows_of_list(parse_json(path, name), name)


def rows_of_list(data: Any, name: str) -> Iterator[Row]:
    """The rows of a parsed JSON value: a list of objects, or an object that holds one under a usual key."""
    if isinstance(data, dict):
        for key in ("cases", "data", "rows", "examples", "test_cases", "questions", "results", "samples"):
            if isinstance(data.get(key), list):
                data = data[key]
                break
        else:
            data = [data]
    if not isinstance(data, list):
        raise InputError(f"{name}: found {type(data).__name__}, expected a list of cases")
    return _renamed(((row, Place(name, n, "item")) for n, row in enumerate(data, start=1)))


def jsonl_rows(path: Path, name: str) -> Iterator[Row]:
    return rows_of_lines(read_lines(path), name)


def rows_of_lines(lines: Iterator[tuple[int, str]], name: str) -> Iterator[Row]:
    def rows() -> Iterator[Row]:
        for number, line in lines:
            try:
                yield _STRICT.decode(line), Place(name, number)
            except ValueError as error:
                raise InputError(f"{name}, line {number}: not valid JSON: {_reason(error)}") from None

    return _renamed(rows())


def csv_rows(path: Path, name: str) -> Iterator[Row]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding=encoding_of(path), errors="replace", newline="") as file:
        sample = file.readline()
        file.seek(0)
        delimiter = max(",;\t", key=sample.count)
        reader = csv.reader(file, delimiter=delimiter)
        header = next(reader, None)
        if not header:
            return
        columns = list(canonical_columns(header, Place(name, 1)).values())
        try:
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                place = Place(name, reader.line_num)
                if len(cells) != len(columns):
                    raise InputError(
                        f"{name}, line {reader.line_num}: found {len(cells)} cells, expected {len(columns)} as in the header; "
                        "quote cells that hold the separator or a line break"
                    )
                # An empty cell is an absent value, except an answer: a bot may well have said nothing.
                yield {c: v for c, v in zip(columns, cells, strict=True) if v.strip() or c == "answer"}, place
        except csv.Error as error:
            raise InputError(f"{name}, line {reader.line_num}: not valid CSV: {error}") from None


def parquet_rows(path: Path, name: str, start: int = 0, stop: int | None = None) -> Iterator[Row]:
    """The rows from `start` up to `stop`; of the rest only what shares a row group with them is read."""
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(path)
        columns = canonical_columns(file.schema_arrow.names, Place(name, 1, "row"))
        end = file.metadata.num_rows if stop is None else stop
        groups, number = _row_groups(file, start, end)
        for batch in file.iter_batches(batch_size=_PARQUET_BATCH, row_groups=groups):
            first = max(start - number, 0)
            kept = batch.slice(first, max(min(end - number, len(batch)) - first, 0))
            for place, row in enumerate(kept.to_pylist(), start=number + first + 1):
                yield {columns[key]: value for key, value in row.items()}, Place(name, place, "row")
            number += len(batch)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{name}: not a readable Parquet file: {str(error).splitlines()[0]}") from None


def _row_groups(file: Any, start: int, end: int) -> tuple[list[int], int]:
    """The row groups that hold these rows, and how many rows come before the first of them."""
    groups: list[int] = []
    before = number = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if number < end and number + rows > start:
            before = before if groups else number
            groups.append(group)
        number += rows
    return groups, before


def _renamed(rows: Iterator[tuple[Any, Place]]) -> Iterator[Row]:
    """Rows with canonical names; the mapping is worked out once for each new set of names."""
    known: dict[tuple[str, ...], dict[str, str]] = {}
    for row, place in rows:
        if not isinstance(row, dict):
            raise InputError(
                f"{place.file}, {place.unit} {place.line}: found {type(row).__name__}, expected an object with named values"
            )
        names = tuple(row)
        if names not in known:
            known[names] = canonical_columns(list(names), place)
        columns = known[names]
        yield {columns[key]: value for key, value in row.items()}, place


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not allowed in JSON; use null where a value is unknown")


_STRICT = json.JSONDecoder(parse_constant=_no_constant)


def _line_of(error: ValueError) -> str:
    return f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""


def _reason(error: ValueError) -> str:
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)

"""Rows of Parquet files (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from answerkey.coerce.decode import check_regular
from answerkey.coerce.rows import Row, name_columns
from answerkey.coerce.values import Place
from answerkey.errors import InputError, MissingPackage

_BATCH = 1024
# A small file may claim to unpack to anything: seven kilobytes can hold a cell of 200 MB.
_MOST_BYTES = 1 << 30
_MOST_EXPANSION = 1000
_SMALL_FILE_BYTES = 64 << 20


def parquet_rows(path: Path, name: str, start: int = 0, stop: int | None = None) -> Iterator[Row]:
    """The rows from `start` up to `stop`; of the rest only what shares a row group is read."""
    columns = None
    for number, cells in raw_parquet_rows(path, name, start, stop):
        if columns is None:
            columns = name_columns(tuple(cells), Place(name, 1, "row"))
        row = {columns.canonical[key]: _without_nan(cell) for key, cell in cells.items()}
        yield row, Place(name, number, "row", names=columns.written)


def raw_parquet_rows(
    path: Path, name: str, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, dict[str, object]]]:
    """The rows as the file has them, with their numbers from 1."""
    check_regular(path)
    pyarrow = import_pyarrow()
    failures = (pyarrow.ArrowException, OSError, MemoryError, UnicodeDecodeError)
    try:
        file = pyarrow.parquet.ParquetFile(path)
        _check_size(file.metadata, path, name)
        yield from _numbered_rows(file, _select_groups(file.metadata, start, stop))
    except failures as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{name}: not a readable Parquet file: {reason}") from None


def _without_nan(cell: object) -> object:
    # NaN is the only value that differs from itself.
    return None if cell != cell else cell


def _check_size(metadata: Any, path: Path, name: str) -> None:
    size = path.stat().st_size
    groups = range(metadata.num_row_groups)
    claimed = sum(metadata.row_group(group).total_byte_size for group in groups)
    # Columns with repeated values compress well, so large files may grow a thousandfold.
    allowed = max(
        min(_MOST_BYTES, _SMALL_FILE_BYTES + _MOST_EXPANSION * size), _MOST_EXPANSION * size
    )
    if claimed > allowed:
        unpacked = f"{claimed / 1e6:,.0f} MB"
        raise InputError(f"{name}: a file of {size:,} bytes that unpacks to {unpacked} is not read")


@dataclass(frozen=True, slots=True)
class _Selection:
    """Row groups to read, and the rows of them that are wanted."""

    groups: list[int]
    rows_before: int  # rows of the file before the first of these groups
    start: int
    stop: int


def _select_groups(metadata: Any, start: int, stop: int | None) -> _Selection:
    end = metadata.num_rows if stop is None else stop
    sizes = (metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    ends = list(accumulate(sizes, initial=0))
    groups = [
        number
        for number, (first, last) in enumerate(pairwise(ends))
        if first < end and last > start
    ]
    return _Selection(groups, ends[groups[0]] if groups else 0, start, end)


def _numbered_rows(file: Any, selection: _Selection) -> Iterator[tuple[int, dict[str, object]]]:
    """The selected rows with their numbers, from 1."""
    number = selection.rows_before
    for batch in file.iter_batches(batch_size=_BATCH, row_groups=selection.groups):
        first = max(selection.start - number, 0)
        count = max(min(selection.stop - number, len(batch)) - first, 0)
        rows = batch.slice(first, count).to_pylist()
        yield from enumerate(rows, start=number + first + 1)
        number += len(batch)


def import_pyarrow() -> ModuleType:
    """pyarrow with its `parquet` module, or an error with the command that installs it."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise MissingPackage("pyarrow", "parquet") from None
    return import_module("pyarrow")

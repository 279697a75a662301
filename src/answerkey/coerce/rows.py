"""Rows with our column names, each with its place, from any table."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from answerkey.coerce.columns import canonical_columns, column_notice
from answerkey.coerce.values import Place, is_mapping
from answerkey.errors import InputError
from answerkey.text import printable

log = logging.getLogger("answerkey.cases")

Row = tuple[dict[str, object], Place]
_MOST_COLUMNS = 10_000
_announced: dict[str, set[str]] = {}  # the names that were announced, by file


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns of a table: as written to ours, and back for error messages."""

    canonical: Mapping[str, str]
    written: Mapping[str, str]


@cache
def _column_names(names: tuple[str, ...]) -> ColumnNames:
    canonical = canonical_columns(names)
    written = {column: name for name, column in canonical.items() if name != column}
    return ColumnNames(canonical, written)


def name_columns(names: tuple[str, ...], place: Place) -> ColumnNames:
    """Our names of a table's columns; those that no metric reads are announced, once per file."""
    if len(names) > _MOST_COLUMNS:
        count = f"{len(names):,} columns"
        raise InputError(f"{place}: found {count}, expected at most {_MOST_COLUMNS:,}")
    columns = _column_names(names)
    announced = _announced.setdefault(place.file, set())
    # Rows of JSON lines may bring new names later; only those are announced.
    if not announced.issuperset(names):
        new = {name: ours for name, ours in columns.canonical.items() if name not in announced}
        notice = column_notice(new)
        if notice:
            log.warning("%s", printable(f"{place.file}: {notice}"))
        announced.update(names)
    return columns


def rename_columns(rows: Iterable[tuple[object, Place]]) -> Iterator[Row]:
    """Rows with canonical names; the mapping is computed once for each set of names."""
    for row, place in rows:
        if not is_mapping(row):
            example = '{"question": "…", "expected": "…"}'
            kind = type(row).__name__
            raise InputError(f"{place}: found {kind}, expected an object such as {example}")
        columns = name_columns(tuple(row), place)
        named = {columns.canonical[key]: value for key, value in row.items()}
        yield named, replace(place, names=columns.written)

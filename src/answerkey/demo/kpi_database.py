"""The figures of periods, from SQLite over CSV or Parquet tables. Values of a question are always parameters.

A question names a period as `December 2025`, `Q3 2025`, `2024`, `last month` or `this year`.
"""

from __future__ import annotations

import csv
import re
import sqlite3
import threading
from calendar import month_name, monthrange
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from answerkey.coerce.decode import encoding_of
from answerkey.coerce.parquet_rows import import_pyarrow
from answerkey.demo.kpi_catalog import Catalog, Kpi
from answerkey.errors import InputError, SettingsError

Filters = Mapping[str, tuple[str, ...]]
# The catalogue's SQL may only read. Nothing can attach a file or change a table, whatever a
# measure contains.
_ALLOWED = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}


@dataclass(frozen=True, slots=True)
class Period:
    """Whole months, first and last day included; `label` is how a person says it."""

    first: date
    last: date
    label: str

    @property
    def months(self) -> int:
        return (self.last.year - self.first.year) * 12 + self.last.month - self.first.month + 1


class KpiDatabase:
    """Tables in memory.

    Besides SQLite's own functions, SQL may use `last_day(day)` and `date_diff('day', a, b)`.
    """

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        # A run asks from several threads; the lock lets one query in at a time.
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        self._lock = threading.Lock()
        self._connection.create_function("last_day", 1, _sql_last_day, deterministic=True)
        self._connection.create_function("date_diff", 3, _date_diff, deterministic=True)
        tables = sorted(path for path in folder.iterdir() if path.suffix in {".csv", ".parquet"})
        if not tables:
            raise InputError(f"no .csv or .parquet table in {folder}")
        for path in tables:
            self._load(path)
        for name, sql in catalog.views.items():
            self._owner_sql(f'CREATE VIEW "{name}" AS {sql}', f"view {name}")
        # Only now, because the tables and views above had to be created.
        self._connection.set_authorizer(_authorize)
        for kpi in catalog.kpis:
            # A measure that does not run is an error at the start, not at the first question.
            self._owner_sql(f'SELECT {kpi.measure} FROM "{kpi.source}" LIMIT 1', f"kpi {kpi.name}")
        sources = dict.fromkeys(kpi.source for kpi in catalog.kpis)
        days = [self._rows(f'SELECT max(month) FROM "{source}"', [])[0][0] for source in sources]
        dated = [date.fromisoformat(day[:10]) for day in days if day is not None]
        if not dated:
            raise InputError(f"no row with a month in {', '.join(sources)}")
        self.latest = max(dated)

    def value(self, kpi: Kpi, period: Period, filters: Filters) -> float | None:
        """The figure; None where no row is left."""
        where, values = _where(period, filters)
        # A measure may give 0 for no rows; only the count shows that there are none.
        sql = f'SELECT {kpi.measure}, count(*) FROM "{kpi.source}" WHERE {where}'
        figure, row_count = self._rows(sql, values)[0]
        if row_count == 0 or figure is None:
            return None
        return float(figure)

    def by(
        self, kpi: Kpi, dimension: str, period: Period, filters: Filters
    ) -> list[tuple[str, float]]:
        """The figure for each value of a dimension, highest first."""
        where, values = _where(period, filters)
        sql = f'SELECT "{dimension}", {kpi.measure} AS v FROM "{kpi.source}" WHERE {where}'
        sql = f"{sql} GROUP BY 1 ORDER BY v DESC, 1"
        return [
            (str(name), float(value))
            for name, value in self._rows(sql, values)
            if value is not None
        ]

    def members(self, kpi: Kpi, dimension: str) -> list[str]:
        """Every value of a dimension: what a question may name."""
        rows = self._rows(f'SELECT DISTINCT "{dimension}" FROM "{kpi.source}" ORDER BY 1', [])
        return [str(name) for (name,) in rows if name is not None]

    def close(self) -> None:
        self._connection.close()

    def _load(self, path: Path) -> None:
        if not path.stem.isidentifier():
            raise InputError(
                f"{path.name}: the name of a table may have only letters, digits and _"
            )
        if path.suffix == ".csv":
            read = _read_csv
        else:
            read = _read_parquet
        names, rows = read(path)
        columns = ", ".join(f'"{name}"' for name in names)
        try:
            self._connection.execute(f'CREATE TABLE "{path.stem}" ({columns})')
            places = ", ".join("?" * len(names))
            self._connection.executemany(f'INSERT INTO "{path.stem}" VALUES ({places})', rows)
        except sqlite3.Error as error:
            raise InputError(f"{path.name}: not readable as a table: {error}") from error

    def _owner_sql(self, sql: str, what: str) -> None:
        try:
            self._connection.execute(sql).fetchall()
        except sqlite3.Error as error:
            raise SettingsError(f"{what}: {error}") from error

    def _rows(self, sql: str, values: list[object]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()


def _where(period: Period, filters: Filters) -> tuple[str, list[object]]:
    """The condition and its parameters.

    Column names come from the catalogue; everything from the question is a parameter.
    """
    condition = "month BETWEEN ? AND ?"
    parameters: list[object] = [period.first.isoformat(), period.last.isoformat()]
    for name, values in filters.items():
        condition += f' AND "{name}" IN ({", ".join("?" * len(values))})'
        parameters += values
    return condition, parameters


def _read_csv(path: Path) -> tuple[list[str], Iterable[Sequence[object]]]:
    """The columns and rows.

    A column in which every cell is a number is one of numbers; an empty cell is null.
    """
    with path.open(encoding=encoding_of(path), newline="") as file:
        lines = list(csv.reader(file))
    if not lines:
        raise InputError(f"{path.name}: the file is empty; expected a header and rows")
    names, *rows = lines
    if any(len(row) != len(names) for row in rows):
        raise InputError(
            f"{path.name}: not readable as a table: a row has more or fewer cells than the header"
        )
    columns = [_convert_column([row[n] for row in rows]) for n in range(len(names))]
    return names, [list(row) for row in zip(*columns, strict=True)]


def _convert_column(cells: Sequence[str]) -> list[object]:
    for kind in (int, float):
        try:
            # Whole numbers first: as floats, ids and years would be shown with a decimal point.
            return [kind(cell) if cell else None for cell in cells]
        except ValueError:
            continue
    return [cell or None for cell in cells]


def _read_parquet(path: Path) -> tuple[list[str], Iterable[Sequence[object]]]:
    pyarrow = import_pyarrow()
    failures: tuple[type[Exception], ...] = (pyarrow.ArrowException, OSError)
    try:
        table = pyarrow.parquet.read_table(path)
    except failures as error:
        raise InputError(
            f"{path.name}: not readable as a table: {str(error).splitlines()[0]}"
        ) from error
    columns = [[_plain_cell(cell) for cell in column.to_pylist()] for column in table.columns]
    return list(table.column_names), list(zip(*columns, strict=True))


def _plain_cell(cell: object) -> object:
    """Dates become text, which sorts by time."""
    if cell is None or isinstance(cell, str | int | float):
        return cell
    return str(cell)


# SQLite calls it for every row, and there are few distinct days.
@lru_cache(maxsize=4096)
def _sql_last_day(day: str | None) -> str | None:
    if day is None:
        return None
    return _last_day(date.fromisoformat(day[:10])).isoformat()


def _date_diff(unit: str, start: str | None, end: str | None) -> int | None:
    if start is None or end is None or unit != "day":
        return None
    return (date.fromisoformat(end[:10]) - date.fromisoformat(start[:10])).days


def _authorize(action: int, *_: str | None) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


_YEAR = re.compile(r"\b(20\d\d)\b")
_QUARTER = re.compile(r"\bq([1-4])\b|\b(first|second|third|fourth) quarter\b")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}


def month_of(day: date) -> Period:
    return Period(day.replace(day=1), _last_day(day), f"{month_name[day.month]} {day.year}")


def shift_period(period: Period, months: int) -> Period:
    """The period of the same length that begins so many months later (or earlier)."""
    first = _add_months(period.first, months)
    last = _last_day(_add_months(first, period.months - 1))
    if period.months == 1:
        return month_of(first)
    if period.months == 12 and first.month == 1:
        return Period(first, last, str(first.year))
    start = f"{month_name[first.month]} {first.year}"
    end = f"{month_name[last.month]} {last.year}"
    return Period(first, last, f"{start} to {end}")


def find_period(question: str, catalog: Catalog, latest: date) -> Period | None:
    """The period the question names, None where it names none. A year alone is the whole of it."""
    named_year = _YEAR.search(question)
    names_last_year = catalog.count("last_year", question) > 0
    year = latest.year
    if names_last_year:
        year = latest.year - 1
    elif named_year:
        year = int(named_year[1])
    if quarter := _QUARTER.search(question):
        number = int(quarter[1] or _ORDINALS[quarter[2]])
        first = date(year, 3 * number - 2, 1)
        return Period(first, _last_day(_add_months(first, 2)), f"Q{number} {year}")
    if month := _find_month(question, catalog):
        # Without a year, the latest month of that name that is in the tables.
        if named_year is None and date(year, month, 1) > latest:
            year -= 1
        return month_of(date(year, month, 1))
    if catalog.count("last_month", question):
        return month_of(latest)
    # After quarter and month: "June 2025" names a year as well.
    if named_year or names_last_year or catalog.count("this_year", question):
        return _year_until(year, latest)
    return None


def _year_until(year: int, latest: date) -> Period:
    """The whole year, or for the current one the months that are in the tables."""
    last = date(year, 12, 31)
    if year >= latest.year:
        last = max(_last_day(latest), date(year, 1, 31))
    return Period(date(year, 1, 1), last, str(year))


def _find_month(question: str, catalog: Catalog) -> int | None:
    for number, names in enumerate(catalog.months, 1):
        if any(_names_month(question, name) for name in names):
            return number
    return None


def _names_month(question: str, name: str) -> bool:
    pattern = rf"\b{name}\b"
    if len(name) <= 3:
        # Short names are words too ("may", "mar"): they need a year after them, or "in" before.
        pattern = rf"\b(?:in|for|of|during)\s+{name}\b|\b{name}\s+20\d\d\b"
    return re.search(pattern, question) is not None


def _add_months(day: date, months: int) -> date:
    count = day.year * 12 + day.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)


def _last_day(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])

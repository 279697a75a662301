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
from answerkey.coerce.tables import import_pyarrow
from answerkey.demo.kpi_catalog import Catalog, Kpi
from answerkey.errors import InputError, SettingsError

Filters = Mapping[str, tuple[str, ...]]
# What the catalogue's SQL may do: read. Nothing can attach a file or change a table, whatever a measure says.
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
    """Tables in memory. Besides SQLite's own functions, SQL may use `last_day(day)` and `date_diff('day', a, b)`."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
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
        self._connection.set_authorizer(_authorize)
        for kpi in catalog.kpis:
            self._owner_sql(f'SELECT {kpi.measure} FROM "{kpi.source}" LIMIT 1', f"kpi {kpi.name}")
        sources = dict.fromkeys(kpi.source for kpi in catalog.kpis)
        days = [self._rows(f'SELECT max(month) FROM "{source}"', [])[0][0] for source in sources]
        self.latest = max(date.fromisoformat(day[:10]) for day in days if day is not None)

    def value(self, kpi: Kpi, period: Period, filters: Filters) -> float | None:
        """The figure; None where no row is left."""
        where, values = _where(period, filters)
        row = self._rows(
            f'SELECT {kpi.measure}, count(*) FROM "{kpi.source}" WHERE {where}', values
        )[0]
        return None if row[1] == 0 or row[0] is None else float(row[0])

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
        names, rows = _read_csv(path) if path.suffix == ".csv" else _read_parquet(path)
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
    """Column names come from the catalogue; everything from the question is a parameter."""
    columns = "".join(
        f' AND "{name}" IN ({", ".join("?" * len(values))})' for name, values in filters.items()
    )
    given = [value for values in filters.values() for value in values]
    return f"month BETWEEN ? AND ?{columns}", [
        period.first.isoformat(),
        period.last.isoformat(),
        *given,
    ]


def _read_csv(path: Path) -> tuple[list[str], list[list[object]]]:
    """The columns and rows; a column in which every cell is a number is one of numbers, an empty cell is null."""
    with path.open(encoding=encoding_of(path), newline="") as file:
        names, *rows = csv.reader(file) or [[]]
    if any(len(row) != len(names) for row in rows):
        raise InputError(
            f"{path.name}: not readable as a table: a row has more or fewer cells than the header"
        )
    columns = [_typed([row[n] for row in rows]) for n in range(len(names))]
    return names, [list(row) for row in zip(*columns, strict=True)]


def _typed(cells: Sequence[str]) -> list[object]:
    for kind in (int, float):
        try:
            return [kind(cell) if cell else None for cell in cells]
        except ValueError:
            pass
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
    kept = (str, int, float, type(None))  # dates as text, which sorts by time
    columns = [
        [one if isinstance(one, kept) else str(one) for one in column.to_pylist()]
        for column in table.columns
    ]
    return list(table.column_names), list(zip(*columns, strict=True))


@lru_cache(maxsize=4096)  # it is called for every row, and there are few days
def _sql_last_day(day: str | None) -> str | None:
    return None if day is None else _last_day(date.fromisoformat(day[:10])).isoformat()


def _date_diff(unit: str, start: str | None, end: str | None) -> int | None:
    if start is None or end is None or unit != "day":
        return None
    return (date.fromisoformat(end[:10]) - date.fromisoformat(start[:10])).days


def _authorize(action: int, *_: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


_YEAR = re.compile(r"\b(20\d\d)\b")
_QUARTER = re.compile(r"\bq([1-4])\b|\b(first|second|third|fourth) quarter\b")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}


def month_of(day: date) -> Period:
    return Period(day.replace(day=1), _last_day(day), f"{month_name[day.month]} {day.year}")


def shifted(period: Period, months: int) -> Period:
    """The period of the same length that begins so many months later (or earlier)."""
    first = _plus(period.first, months)
    last = _last_day(_plus(first, period.months - 1))
    if period.months == 1:
        return month_of(first)
    if period.months == 12 and first.month == 1:
        return Period(first, last, str(first.year))
    return Period(
        first,
        last,
        f"{month_name[first.month]} {first.year} to {month_name[last.month]} {last.year}",
    )


def find_period(question: str, catalog: Catalog, latest: date) -> Period | None:
    """The period the question names, None where it names none. A year alone is the whole of it."""
    named_year, last_year = _YEAR.search(question), catalog.count("last_year", question)
    year = latest.year - 1 if last_year else int(named_year[1]) if named_year else latest.year
    quarter = _QUARTER.search(question)
    if quarter:
        number = int(quarter[1] or _ORDINALS[quarter[2]])
        first = date(year, 3 * number - 2, 1)
        return Period(first, _last_day(_plus(first, 2)), f"Q{number} {year}")
    month = _month(question, catalog)
    if month:
        # Without a year, the latest month of that name that is in the tables.
        known = named_year is not None or date(year, month, 1) <= latest
        return month_of(date(year if known else year - 1, month, 1))
    if catalog.count("last_month", question):
        return month_of(latest)
    if named_year or last_year or catalog.count("this_year", question):
        last = date(year, 12, 31) if year < latest.year else _last_day(latest)
        return Period(date(year, 1, 1), max(last, date(year, 1, 31)), str(year))
    return None


def _month(question: str, catalog: Catalog) -> int | None:
    for number, names in enumerate(catalog.months, 1):
        for name in names:
            # Short names are words too ("may", "mar"): they need a year after them or "in" before them.
            pattern = (
                rf"\b{name}\b"
                if len(name) > 3
                else rf"\b(?:in|for|of|during)\s+{name}\b|\b{name}\s+20\d\d\b"
            )
            if re.search(pattern, question):
                return number
    return None


def _plus(day: date, months: int) -> date:
    count = day.year * 12 + day.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)


def _last_day(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])

"""The figures, from DuckDB over CSV or Parquet tables. Values of a question are always parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import duckdb

from answerkey.demo.kpi_catalog import Catalog, Kpi
from answerkey.errors import InputError, SettingsError

Filters = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Period:
    """Whole months, first and last day included; `label` is how a person says it."""

    first: date
    last: date
    label: str

    @property
    def months(self) -> int:
        return (self.last.year - self.first.year) * 12 + self.last.month - self.first.month + 1


class Database:
    """Tables in memory. One connection is shared; every call takes a cursor, so threads do not meet."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._connection = duckdb.connect(":memory:")
        tables = sorted(path for path in folder.iterdir() if path.suffix in {".csv", ".parquet"})
        if not tables:
            raise InputError(f"no .csv or .parquet table in {folder}")
        for path in tables:
            self._load(path)
        # From here on nothing can read or write a file, whatever a measure says.
        self._connection.execute("SET enable_external_access = false")
        for name, sql in catalog.views.items():
            self._owner_sql(f'CREATE VIEW "{name}" AS {sql}', f"view {name}")
        for kpi in catalog.kpis:
            self._owner_sql(f'SELECT {kpi.measure} FROM "{kpi.source}" LIMIT 1', f"kpi {kpi.name}")
        self.latest = self._latest(catalog)

    def value(self, kpi: Kpi, period: Period, filters: Filters) -> float | None:
        """The figure; None where no row is left."""
        where, values = _where(period, filters)
        row = self._rows(f'SELECT {kpi.measure}, count(*) FROM "{kpi.source}" WHERE {where}', values)[0]
        return None if row[1] == 0 or row[0] is None else float(row[0])

    def by(self, kpi: Kpi, dimension: str, period: Period, filters: Filters) -> list[tuple[str, float]]:
        """The figure for each value of a dimension, highest first."""
        where, values = _where(period, filters)
        sql = f'SELECT "{dimension}", {kpi.measure} AS v FROM "{kpi.source}" WHERE {where} GROUP BY 1 ORDER BY v DESC, 1'
        return [(str(name), float(value)) for name, value in self._rows(sql, values) if value is not None]

    def members(self, kpi: Kpi, dimension: str) -> list[str]:
        """Every value of a dimension: what a question may name."""
        rows = self._rows(f'SELECT DISTINCT "{dimension}" FROM "{kpi.source}" ORDER BY 1', [])
        return [str(name) for (name,) in rows if name is not None]

    def close(self) -> None:
        self._connection.close()

    def _load(self, path: Path) -> None:
        if not path.stem.isidentifier():
            raise InputError(f"{path.name}: the name of a table may hold letters, digits and _ only")
        read = self._connection.read_csv if path.suffix == ".csv" else self._connection.read_parquet
        try:
            read(str(path)).create(path.stem)
        except duckdb.Error as error:
            raise InputError(f"{path.name}: not readable as a table: {_first_line(error)}") from error

    def _owner_sql(self, sql: str, what: str) -> None:
        try:
            self._connection.execute(sql)
        except duckdb.Error as error:
            raise SettingsError(f"{what}: {_first_line(error)}") from error

    def _latest(self, catalog: Catalog) -> date:
        sources = dict.fromkeys(kpi.source for kpi in catalog.kpis)
        days = [self._rows(f'SELECT max(month) FROM "{source}"', [])[0][0] for source in sources]
        return max(day for day in days if day is not None)

    def _rows(self, sql: str, values: list[Any]) -> list[tuple[Any, ...]]:
        return self._connection.cursor().execute(sql, values).fetchall()


def _where(period: Period, filters: Filters) -> tuple[str, list[Any]]:
    """Column names come from the catalogue; everything that a question said is a parameter."""
    columns = "".join(
        f' AND "{name}" IN ({", ".join("?" * len(values))})' for name, values in filters.items()
    )
    given = [value for values in filters.values() for value in values]
    return f"month BETWEEN ? AND ?{columns}", [period.first, period.last, *given]


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]

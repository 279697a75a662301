"""Tables of figures that an earlier experiment recorded: no rankings, only results."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from answerkey.coerce.columns import canonical_columns
from answerkey.coerce.csv_rows import separator_of
from answerkey.coerce.decode import encoding_of

# configuration to statistic to metric to value
RecordedFigures = dict[str, dict[str, dict[str, float]]]
_STATISTICS = frozenset(
    {"mean", "std", "min", "max", "count", "median", "sum", "var", "sem", "25%", "50%", "75%"}
)
# pandas writes an index without a name under an empty header.
_NAME_COLUMNS = (
    "config_name", "configuration", "config", "setting", "method", "model", "model_key", "model_name",
    "name", "",
)  # fmt: skip
# Texts beside the figures, which say more about a configuration.
_TEXT_COLUMNS = frozenset({"model_name", "description", "note", "notes", "comment"})
_RANKING_COLUMNS = frozenset({"question", "id", "retrieved", "relevant"})
_PARAMETERS = ("alpha", "k")
_VALUE_COLUMNS = ("value", "score", "mean")


@dataclass(frozen=True, slots=True)
class LongTable:
    """A table with one row per parameter and metric: `alpha` or `k`, `metric`, `value`.

    `values` maps a metric to (parameter, mean) pairs, ascending.
    """

    parameter: str
    values: dict[str, list[tuple[float, float]]]


def read_figures(path: Path, most: int | None = None) -> RecordedFigures | None:
    """The figures of a CSV file, or None where it is no such table.

    Two layouts are understood: pandas' two header rows (metric, statistic), and one row per
    configuration with numbers only. `most` limits the lines that are read.
    """
    header, *rows = _read_cells(path, most) or [[]]
    if len(header) < 2 or header[0].lower() not in _NAME_COLUMNS:
        return None
    # A table with queries and ids has rankings to measure, not figures.
    if _RANKING_COLUMNS & set(canonical_columns(header).values()):
        return None
    statistics = ["value"] * len(header)
    if rows:
        below = [cell.lower() for cell in rows[0]]
    else:
        below = []
    if len(below) > 1 and _STATISTICS.issuperset(below[1:]):
        statistics = below
        rows = rows[1:]
    figures: RecordedFigures = {}
    for cells in rows:
        values = _row_values(header[1:], statistics[1:], cells[1:])
        if values is None:
            return None
        for metric, statistic, value in values:
            figures.setdefault(cells[0], {}).setdefault(statistic, {})[metric] = value
    return figures or None


def _row_values(
    metrics: Sequence[str], statistics: Sequence[str], cells: Sequence[str]
) -> list[tuple[str, str, float]] | None:
    """The numbers of one row; None where a cell is text, so that this is another kind of table."""
    values: list[tuple[str, str, float]] = []
    for metric, statistic, cell in zip(metrics, statistics, cells, strict=False):
        if not cell or metric.lower() in _TEXT_COLUMNS:
            continue
        try:
            value = float(cell)
        except ValueError:
            return None
        # NaN is no figure, and no output may contain it.
        if value == value:
            values.append((metric, statistic, value))
    return values


def read_long_table(path: Path) -> LongTable | None:
    """A table with the columns `alpha` or `k`, `metric` and a value; None for any other file."""
    header, *rows = _read_cells(path, None) or [[]]
    names = [name.lower() for name in header]
    parameter = next((name for name in _PARAMETERS if name in names), "")
    value_column = next((name for name in _VALUE_COLUMNS if name in names), "")
    if not parameter or not value_column or "metric" not in names:
        return None
    # The values by metric and by the value of the parameter.
    collected: dict[str, dict[float, list[float]]] = {}
    for cells in rows:
        row = dict(zip(names, cells, strict=False))
        at = _number_or_nan(row.get(parameter))
        value = _number_or_nan(row.get(value_column))
        if math.isnan(at) or math.isnan(value):
            continue
        points = collected.setdefault(_metric_name(row.get("metric", "")), {})
        points.setdefault(at, []).append(value)
    if not collected:
        return None
    # Several rows of one setting are its queries: the table then holds values, not means.
    values = {
        metric: [(at, sum(column) / len(column)) for at, column in sorted(points.items())]
        for metric, points in collected.items()
    }
    return LongTable(parameter, values)


def _number_or_nan(cell: str | None) -> float:
    try:
        return float(cell or "")
    except ValueError:
        return math.nan


def _metric_name(written: str) -> str:
    """`precision@k`, `precision_at_k` and `f1_score` are our `precision` and `f1`."""
    name = written.strip().lower()
    for ending in ("@k", "_at_k", "_score"):
        name = name.removesuffix(ending)
    return name


def _read_cells(path: Path, most: int | None) -> list[list[str]]:
    try:
        with path.open(encoding=encoding_of(path), newline="") as file:
            separator, _ = separator_of(file)
            lines = list(islice(csv.reader(file, delimiter=separator), most))
    # Not a CSV file, so that it is no table of figures; another reader names the error.
    except csv.Error:
        return []
    return [[cell.strip() for cell in line] for line in lines]

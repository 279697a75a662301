"""Tables of figures that a project worked out itself: the mean, deviation and so on of each metric, per configuration."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path

from answerkey.coerce.columns import canonical_columns
from answerkey.coerce.decode import encoding_of
from answerkey.coerce.tables import separator_of

# configuration to statistic to metric to value
RecordedFigures = dict[str, dict[str, dict[str, float]]]
_STATISTICS = frozenset({"mean", "std", "min", "max", "count", "median", "sum", "var", "sem", "25%", "50%", "75%"})
_NAMES = ("config_name", "configuration", "config", "setting", "method", "model", "name", "")


def read_figures(path: Path, most: int | None = None) -> RecordedFigures | None:
    """The figures of a CSV file, or None where it is no such table; `most` limits the lines that are read.

    Two layouts: pandas' two header rows (metric, statistic), and one row per configuration with numbers only.
    """
    try:
        with path.open(encoding=encoding_of(path), newline="") as file:
            separator, _ = separator_of(file)
            header, *rows = list(islice(csv.reader(file, delimiter=separator), most)) or [[]]
    except csv.Error:
        return None
    names = [cell.strip() for cell in header]
    below = [cell.strip().lower() for cell in rows[0]] if rows else []
    two_rows = len(below) > 1 and _STATISTICS.issuperset(below[1:])
    statistics = below if two_rows else ["value"] * len(names)
    if not names or names[0].lower() not in _NAMES or len(names) < 2:
        return None
    if {"question", "id", "retrieved", "relevant"} & set(canonical_columns(names).values()):
        return None
    figures: RecordedFigures = {}
    for cells in rows[two_rows:]:
        if not any(cell.strip() for cell in cells[1:]):  # the name of pandas' index, on a row of its own
            continue
        for metric, statistic, cell in zip(names[1:], statistics[1:], cells[1:], strict=False):
            try:
                value = float(cell)
            except ValueError:
                if cell.strip():
                    return None
                continue
            if value == value:
                figures.setdefault(cells[0].strip(), {}).setdefault(statistic, {})[metric] = value
    return figures or None

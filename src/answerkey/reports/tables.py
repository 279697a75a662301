"""Tables that several reports print: metrics by route, routes expected and taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from answerkey.reports.numbers import format_figure
from answerkey.runs.figures import Figures


def component_rows(by_route: Mapping[str, Figures]) -> list[list[str]]:
    """The mean of each metric per route; the first row names the routes. Empty for one route."""
    names = sorted({name for part in by_route.values() for name in part.average_scores})
    # For one route the table would repeat the averages.
    if len(by_route) < 2 or not names:
        return []
    rows = [["", *by_route]]
    for name in names:
        row = [name]
        for part in by_route.values():
            entry = part.average_scores.get(name)
            row.append(format_figure(entry.mean if entry else None))
        rows.append(row)
    return rows


def confusion_rows(table: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """Cases per expected route (row) and taken route (column); the first row names the columns."""
    if not table:
        return []
    taken_routes = sorted({route for row in table.values() for route in row})
    rows = [["", *taken_routes]]
    for expected_route, row in table.items():
        rows.append([expected_route, *(str(row.get(route, 0)) for route in taken_routes)])
    return rows


def align_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in plain text: the first column to the left, the others to the right."""
    columns: list[list[str]] = []
    for number, column in enumerate(zip(*rows, strict=True)):
        width = max(map(len, column))
        if number == 0:
            columns.append([text.ljust(width) for text in column])
        else:
            columns.append([text.rjust(width) for text in column])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]

"""The tables of docs/validity_tables.md, from the figures just measured; the text around them is written by hand.

A table stands between `<!-- table NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a table: a name, how many rows, and figures by column, each with its interval or alone."""

    name: str
    count: int
    figures: Mapping[str, tuple[float, ...]]


def filled(page: str, tables: Mapping[str, Sequence[Line]]) -> str:
    """The page with these tables made new; raises for a table that the page has no place for."""
    for name, lines in tables.items():
        place = re.compile(rf"(<!-- table {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not place.search(page):
            raise ValueError(f"the page has no place for the table {name}")
        page = place.sub(
            lambda found, lines=lines: f"{found[1]}\n{_table(lines)}\n\n{found[2]}", page
        )
    return page


def _table(lines: Sequence[Line]) -> str:
    columns = list(lines[0].figures)
    rows = [
        "| | rows | " + " | ".join(columns) + " |",
        "|---|---:|" + "---:|" * len(columns),
        *(
            f"| {line.name} | {line.count:,} | "
            + " | ".join(_cell(line.figures[c]) for c in columns)
            + " |"
            for line in lines
        ),
    ]
    return "\n".join(rows)


def _cell(figure: tuple[float, ...]) -> str:
    if not figure or figure[0] != figure[0]:
        return "–"
    value, *ends = figure
    return f"{value:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]" if ends else f"{value:.3f}"

"""The table of `compare --by`: before and after per group."""

from __future__ import annotations

from dataclasses import dataclass

from answerkey.comparison.by_group import ComparisonByGroup, GroupComparison
from answerkey.comparison.number_text import format_number, format_rates
from answerkey.reports.tables import align_columns
from answerkey.text import format_count


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group as text; `rates` is `-` for runs without a profile."""

    name: str
    n: int
    rates: str
    a: str
    b: str
    diff: str
    interval: str
    p: str


def groups_text(table: ComparisonByGroup) -> str:
    """A line per group, largest first."""
    has_passes = any(group.passes is not None and group.passes.n for group in table.groups)
    header = [table.column, "n", "A", "B", "B − A", "95 % interval", "p (Holm)"]
    if has_passes:
        header.insert(2, "passed")
    rows = [_cells(group_row(group), has_passes) for group in table.groups]
    lines = [f"By {table.column}: {table.measure}", *align_columns([header, *rows])]
    if table.without:
        lines.append(f"{format_count(table.without, 'case')} without {table.column}")
    return "\n".join(lines)


def group_row(group: GroupComparison) -> GroupRow:
    figures = group.figures
    interval = "-"
    if figures.interval is not None:
        low = format_number(figures.interval.low, sign="+")
        high = format_number(figures.interval.high, sign="+")
        interval = f"{low} to {high}"
    rates = "-"
    if group.passes is not None and group.passes.n:
        rates = format_rates(group.passes)
    diff = "-"
    if figures.diff is not None:
        diff = format_number(figures.diff, sign="+")
    return GroupRow(
        # Names come from the user's column and may hold line breaks.
        " ".join(group.name.split()),
        figures.n,
        rates,
        _number(figures.mean_a),
        _number(figures.mean_b),
        diff,
        interval,
        _number(figures.p_holm),
    )


def _cells(row: GroupRow, has_passes: bool) -> list[str]:
    rates = [row.rates] if has_passes else []
    return [row.name, str(row.n), *rates, row.a, row.b, row.diff, row.interval, row.p]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

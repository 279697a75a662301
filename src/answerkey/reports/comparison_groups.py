"""The table of `compare --by`: before and after per group."""

from __future__ import annotations

from answerkey.comparison.by_group import ComparisonByGroup, GroupComparison
from answerkey.comparison.number_text import format_number, format_rates
from answerkey.reports.tables import align_columns
from answerkey.text import format_count


def groups_text(table: ComparisonByGroup) -> str:
    """A line per group, largest first."""
    has_passes = any(group.passes is not None and group.passes.n for group in table.groups)
    header = [table.column, "n", "A", "B", "B − A", "95 % interval", "p (Holm)"]
    if has_passes:
        header.insert(2, "passed")
    rows = [_row(group, has_passes) for group in table.groups]
    lines = [f"By {table.column}: {table.measure}", *align_columns([header, *rows])]
    if table.without:
        lines.append(f"{format_count(table.without, 'case')} without {table.column}")
    return "\n".join(lines)


def _row(group: GroupComparison, has_passes: bool) -> list[str]:
    figures = group.figures
    interval = "-"
    if figures.interval is not None:
        low = format_number(figures.interval.low, sign="+")
        high = format_number(figures.interval.high, sign="+")
        interval = f"{low} to {high}"
    row = [" ".join(group.name.split()), str(figures.n)]
    if has_passes:
        row.append(format_rates(group.passes) if group.passes and group.passes.n else "-")
    row += [_number(figures.mean_a), _number(figures.mean_b)]
    row.append("-" if figures.diff is None else format_number(figures.diff, sign="+"))
    row += [interval, _number(figures.p_holm)]
    return row


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

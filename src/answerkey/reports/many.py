"""The table of several runs as plain text, and its chart of quality against cost."""

from __future__ import annotations

import os
from collections.abc import Sequence

from answerkey.comparison.many import PASS_RATE, ManyRow, ManyRuns, Standing
from answerkey.comparison.number_text import format_p
from answerkey.percentages import format_percent_range
from answerkey.reports.tables import align_columns
from answerkey.text import short_label

_LONGEST_NAME = 34  # the table fits 100 columns with names of this length
_MOST_KINDS = 2


def many_text(table: ManyRuns) -> str:
    """The sentence, one line per run, and the notes that the lines need."""
    names = short_names([row.run for row in table.rows])
    header = ["run", table.measure, "95 %", "best", "p", "cost", "sec", "failures"]
    rows = [_text_cells(table, row, name) for row, name in zip(table.rows, names, strict=True)]
    lines = [table.sentence, "", *align_columns([header, *rows]), ""]
    lines += [
        f"{name}: {row.standing.value}: {row.obstacle}"
        for row, name in zip(table.rows, names, strict=True)
        if row.obstacle
    ]
    lines.append(
        "best: difference from the best run, same cases; p with Holm's correction; cost and seconds per answer"
    )
    if table.cheapest:
        lines.append("*: the cheapest run without a detectable difference from the best")
    return "\n".join(lines)


def _text_cells(table: ManyRuns, row: ManyRow, name: str) -> list[str]:
    interval = ""
    if row.interval and table.measure == PASS_RATE:
        interval = format_percent_range(row.interval.low, row.interval.high)
    elif row.interval:
        interval = f"{row.interval.low:.2f}–{row.interval.high:.2f}"
    mark = " *" if row.is_cheapest else ""
    return [
        short_label(name, _LONGEST_NAME) + mark,
        table.format_value(row),
        interval,
        format_difference(table, row),
        format_p(row.figures.p_holm) if row.figures else "",
        "-" if row.cost is None else f"{row.cost:.4g}",
        "-" if row.seconds is None else f"{row.seconds:.2f}",
        ", ".join(f"{kind} {count}" for kind, count in row.kinds[:_MOST_KINDS]) or "-",
    ]


def format_difference(table: ManyRuns, row: ManyRow) -> str:
    """`best`, or the difference from the best run: in points of a rate, else in the metric's unit."""
    if row.standing is Standing.BEST:
        return "best"
    if row.figures is None or row.figures.diff is None:
        return "-"
    if table.measure == PASS_RATE:
        return f"{100 * row.figures.diff:+.1f}"
    return f"{row.figures.diff:+.3f}"


def short_names(paths: Sequence[str]) -> list[str]:
    """The paths without the folder that all of them share."""
    # Absolute and relative paths may be mixed on the command line.
    absolute = [os.path.abspath(path) for path in paths]
    # The folder of a single path would be the path itself.
    if len(set(absolute)) < 2:
        return list(paths)
    shared = os.path.commonpath(absolute)
    # Nothing is shared but the root, and a name without its leading slash would mislead.
    if shared == os.path.dirname(shared):
        return list(paths)
    return [os.path.relpath(path, shared) for path in absolute]

"""report.md: the summary for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from answerkey.metrics.judge.card import card_lines
from answerkey.reports.text import component_rows, confusion_rows, figure, gate_line, heading, mean_text, passed
from answerkey.runs.summary import Summary
from answerkey.text import printable

_MENTION = re.compile(r"@(?!(?<=\w@)\d+(?![\w-]|\.\w))")  # `recall@5` mentions nobody, and stays


def markdown_report(summary: Summary) -> str:
    first, *rest = heading(summary)
    lines = [f"## {cell(first)}", "", *(f"- {cell(line)}" for line in rest), ""]
    lines += ["| metric | mean | 95 % interval | scored |", "|---|---:|---|---:|"]
    for name, entry in summary.figures.average_scores.items():
        interval = f"{figure(entry.ci95[0])} to {figure(entry.ci95[1])}" if entry.ci95 else ""
        mean = figure(entry.mean) + (f": {cell(entry.reading)}" if entry.reading else "")
        lines.append(f"| `{code(name)}` | {mean} | {interval} | {entry.n}/{entry.of} |")
    totals = summary.figures.totals
    if totals.scored and summary.bands:
        lines += ["", "| band | cases | share |", "|---|---:|---:|"]
        lines += [f"| {cell(name)} | {n} | {n / totals.cases:.1%} |" for name, n in summary.bands.items()]
    for title, groups in (("type", summary.by_type), ("route", summary.by_route)):
        if groups:
            lines += ["", f"| {title} | cases | passed | mean score |", "|---|---:|---|---|"]
            lines += [
                f"| {cell(name)} | {part.totals.cases} | {passed(part)} | {mean_text(part.score)} |"
                for name, part in groups.items()
            ]
    lines += _table("mean of", component_rows(summary.by_route))
    lines += _table("expected route, taken →", confusion_rows(summary.route_confusion))
    if summary.gates:
        lines += ["", "| gate |", "|---|", *(f"| `{code(gate_line(gate))}` |" for gate in summary.gates)]
    if summary.judge:
        title, *about = card_lines(summary.judge)
        lines += ["", f"**{cell(title)}**", "", *(f"- {cell(line.strip())}" for line in about)]
    if summary.disagreements:
        lines += ["", "Metrics disagree; read these cases:", ""]
        lines += [f"- `{code(found.id)}`: {cell(found.what)}" for found in summary.disagreements]
    return "\n".join(lines) + "\n"


def _table(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """A table: the first row names the columns, the first cell of every other row names the row."""
    if not rows:
        return []
    (_, *columns), *rest = rows
    lines = ["", f"| {title} | {' | '.join(cell(name) for name in columns)} |"]
    lines.append(f"|---|{'---:|' * len(columns)}")
    return lines + [f"| `{code(name)}` | {' | '.join(figures)} |" for name, *figures in rest]


def cell(text: object) -> str:
    """Text that stays text in Markdown: no table break, no HTML, no link, no mention."""
    plain = printable(str(text)).replace("\n", " ")
    for sign in "\\`*_[]<>|#!~":
        plain = plain.replace(sign, {"<": "&lt;", ">": "&gt;"}.get(sign, f"\\{sign}"))
    return _MENTION.sub("@\u200b", plain)


def code(text: object) -> str:
    """Text between backticks, where nothing is a link or a mention."""
    return printable(str(text)).replace("`", "'").replace("\n", " ").replace("|", "\\|")

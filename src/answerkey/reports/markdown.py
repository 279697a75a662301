"""report.md: the summary for a pull request."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from answerkey.reports.text import component_rows, confusion_rows, figure, gate_line, heading, judge_lines, mean, rate
from answerkey.text import printable

_MENTION = re.compile(r"@(?!(?<=\w@)\d+(?![\w-]|\.\w))")  # `recall@5` mentions nobody, and stays


def markdown_report(summary: Mapping[str, Any]) -> str:
    first, *rest = heading(summary)
    lines = [f"## {cell(first)}", "", *(f"- {cell(line)}" for line in rest), ""]
    lines += ["| metric | mean | 95 % interval | scored |", "|---|---:|---|---:|"]
    for name, entry in summary["average_scores"].items():
        interval = f"{figure(entry['ci95'][0])} to {figure(entry['ci95'][1])}" if entry["ci95"] else ""
        mean_text = figure(entry["mean"]) + (f": {cell(entry['reading'])}" if entry.get("reading") else "")
        lines.append(f"| `{code(name)}` | {mean_text} | {interval} | {entry['n']}/{entry['of']} |")
    bands = summary["performance"]["bands"]
    if summary["totals"]["scored"] and bands:
        lines += ["", "| band | cases | share |", "|---|---:|---:|"]
        lines += [f"| {cell(name)} | {band['count']} | {band['share']:.1%} |" for name, band in bands.items()]
    for title, groups in (("type", summary["by_type"]), ("route", summary["by_route"])):
        if groups:
            lines += ["", f"| {title} | cases | passed | mean score |", "|---|---:|---|---|"]
            lines += [_group_row(name, part) for name, part in groups.items()]
    lines += _table("mean of", component_rows(summary["by_route"]))
    lines += _table("expected route, taken →", confusion_rows(summary["route_confusion"]))
    if summary.get("gates"):
        lines += ["", "| gate |", "|---|", *(f"| `{code(gate_line(gate))}` |" for gate in summary["gates"])]
    if card := judge_lines(summary):
        lines += ["", f"**{cell(card[0])}**", "", *(f"- {cell(line.strip())}" for line in card[1:])]
    if summary["disagreements"]:
        lines += ["", "Metrics disagree; read these cases:", ""]
        lines += [f"- `{code(entry['id'])}`: {cell(entry['what'])}" for entry in summary["disagreements"]]
    return "\n".join(lines) + "\n"


def _table(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """A table: the first row names the columns, the first cell of every other row names the row."""
    if not rows:
        return []
    (_, *columns), *rest = rows
    lines = ["", f"| {title} | {' | '.join(cell(name) for name in columns)} |"]
    lines.append(f"|---|{'---:|' * len(columns)}")
    return lines + [f"| `{code(name)}` | {' | '.join(figures)} |" for name, *figures in rest]


def _group_row(name: str, part: Mapping[str, Any]) -> str:
    passed = (
        rate(part["pass_rate"], part["pass_rate_ci95"], part["passed"], part["count"])
        if part["pass_rate"] is not None
        else "-"
    )
    return f"| {cell(name)} | {part['count']} | {passed} | {mean(part['score'])} |"


def cell(text: Any) -> str:
    """Text that stays text in Markdown: no table break, no HTML, no link, no mention."""
    plain = printable(str(text)).replace("\n", " ")
    for sign in "\\`*_[]<>|#!~":
        plain = plain.replace(sign, {"<": "&lt;", ">": "&gt;"}.get(sign, f"\\{sign}"))
    return _MENTION.sub("@\u200b", plain)


def code(text: Any) -> str:
    """Text between backticks, where nothing is a link or a mention."""
    return printable(str(text)).replace("`", "'").replace("\n", " ").replace("|", "\\|")

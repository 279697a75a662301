"""report.md: the summary for a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from answerkey.reports.text import figure, gate_line, heading, mean, rate
from answerkey.text import printable


def markdown_report(summary: Mapping[str, Any]) -> str:
    first, *rest = heading(summary)
    lines = [f"## {cell(first)}", "", *(f"- {cell(line)}" for line in rest), ""]
    lines += ["| metric | mean | 95 % interval | scored |", "|---|---:|---|---:|"]
    for name, entry in summary["average_scores"].items():
        interval = f"{figure(entry['ci95'][0])} to {figure(entry['ci95'][1])}" if entry["ci95"] else ""
        told = figure(entry["mean"]) + (f": {cell(entry['reading'])}" if entry.get("reading") else "")
        lines.append(f"| {cell(name)} | {told} | {interval} | {entry['n']}/{entry['of']} |")
    bands = summary["performance"]["bands"]
    if summary["totals"]["scored"] and bands:
        lines += ["", "| band | cases | share |", "|---|---:|---:|"]
        lines += [f"| {cell(name)} | {band['count']} | {band['share']:.1%} |" for name, band in bands.items()]
    for title, groups in (("type", summary["by_type"]), ("route", summary["by_route"])):
        if groups:
            lines += ["", f"| {title} | cases | passed | mean score |", "|---|---:|---|---|"]
            lines += [_group_row(name, part) for name, part in groups.items()]
    if summary.get("gates"):
        lines += ["", "| gate |", "|---|", *(f"| {cell(gate_line(gate))} |" for gate in summary["gates"])]
    if summary["disagreements"]:
        lines += ["", "Metrics disagree; read these:", ""]
        lines += [f"- `{code(entry['id'])}`: {cell(entry['what'])}" for entry in summary["disagreements"]]
    return "\n".join(lines) + "\n"


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
    for sign in "\\`*_[]<>|#!@~":
        plain = plain.replace(
            sign, f"\\{sign}" if sign not in "<>@" else {"<": "&lt;", ">": "&gt;", "@": "@\u200b"}[sign]
        )
    return plain


def code(text: Any) -> str:
    return printable(str(text)).replace("`", "'").replace("\n", " ").replace("|", "\\|")

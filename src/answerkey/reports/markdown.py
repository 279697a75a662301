"""report.md, for a pull request; text of a bot stays plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from answerkey.metrics.judge.card import card_lines
from answerkey.percentages import format_percent
from answerkey.reports.headline import headline_lines
from answerkey.reports.numbers import (
    format_figure,
    format_gate,
    format_mean,
    format_pass_rate,
)
from answerkey.reports.tables import component_rows, confusion_rows
from answerkey.reports.variants import variants_markdown
from answerkey.robustness.record import VariantsRecord
from answerkey.runs.failure_groups import group_lines
from answerkey.runs.figures import Figures
from answerkey.runs.summary import Summary
from answerkey.text import printable
from answerkey.types import Status

# GitHub turns @name into a mention. `recall@5` mentions nobody, and stays as it is.
_MENTION = re.compile(r"@(?!(?<=\w@)\d+(?![\w-]|\.\w))")
_ESCAPES = {sign: f"\\{sign}" for sign in "\\`*_[]|#!~"} | {"<": "&lt;", ">": "&gt;"}


def markdown_report(summary: Summary, variants: VariantsRecord | None = None) -> str:
    """The report as Markdown tables."""
    first, *rest = headline_lines(summary)
    lines = [f"## {escape_markdown(first)}", ""]
    lines += [f"- {escape_markdown(line)}" for line in rest]
    lines += _failure_list(summary)
    lines += _average_table(summary)
    lines += _band_table(summary)
    lines += _group_table("type", summary.by_type)
    lines += _group_table("route", summary.by_route)
    lines += _table("mean of", component_rows(summary.by_route))
    lines += _table("expected route, taken →", confusion_rows(summary.route_confusion))
    lines += variants_markdown(variants, escape_markdown)
    if summary.gates:
        lines += ["", "| gate |", "|---|"]
        lines += [f"| `{code_span(format_gate(gate))}` |" for gate in summary.gates]
    if summary.judge:
        title, *about = card_lines(summary.judge)
        lines += ["", f"**{escape_markdown(title)}**", ""]
        lines += [f"- {escape_markdown(line.strip())}" for line in about]
    if summary.disagreements:
        lines += ["", "Metrics disagree; read these cases:", ""]
        lines += [
            f"- `{code_span(case.id)}`: {escape_markdown(case.what)}"
            for case in summary.disagreements
        ]
    return "\n".join(lines) + "\n"


def _failure_list(summary: Summary) -> list[str]:
    """The groups of failures, and the worst cases with their sentence."""
    lines: list[str] = []
    if summary.failures:
        lines += ["", "Failures by kind and cause:", ""]
        lines += [f"- {escape_markdown(line)}" for line in group_lines(summary.failures)]
    if summary.failed_cases:
        lines += ["", "| case | kind | cause | why |", "|---|---|---|---|"]
    for case in summary.failed_cases:
        if case.status == Status.UNSCORED:
            kind = "not scored"
        else:
            kind = case.kind
        cells = map(escape_markdown, (kind, case.cause, case.why))
        lines.append(f"| `{code_span(case.id)}` | {' | '.join(cells)} |")
    return lines


def _average_table(summary: Summary) -> list[str]:
    lines = ["", "| metric | mean | 95 % interval | scored |", "|---|---:|---|---:|"]
    for name, entry in summary.figures.average_scores.items():
        mean = format_figure(entry.mean)
        if entry.reading:
            mean += f": {escape_markdown(entry.reading)}"
        interval = ""
        if entry.ci95:
            interval = f"{format_figure(entry.ci95[0])} to {format_figure(entry.ci95[1])}"
        lines.append(f"| `{code_span(name)}` | {mean} | {interval} | {entry.n}/{entry.of} |")
    return lines


def _band_table(summary: Summary) -> list[str]:
    totals = summary.figures.totals
    if not totals.scored or not summary.bands:
        return []
    lines = ["", "| band | cases | share |", "|---|---:|---:|"]
    for name, count in summary.bands.items():
        share = format_percent(count / totals.cases)
        lines.append(f"| {escape_markdown(name)} | {count} | {share} |")
    return lines


def _group_table(title: str, groups: Mapping[str, Figures]) -> list[str]:
    if not groups:
        return []
    lines = ["", f"| {title} | cases | passed | mean score |", "|---|---:|---|---|"]
    for name, part in groups.items():
        cells = [
            escape_markdown(name),
            str(part.totals.cases),
            format_pass_rate(part),
            format_mean(part.score),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _table(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """The first row names the columns, the first cell of every other row names the row."""
    if not rows:
        return []
    (_, *columns), *rest = rows
    lines = ["", f"| {title} | {' | '.join(map(escape_markdown, columns))} |"]
    lines.append(f"|---|{'---:|' * len(columns)}")
    return lines + [f"| `{code_span(name)}` | {' | '.join(cells)} |" for name, *cells in rest]


def escape_markdown(text: object) -> str:
    """Text that stays text in Markdown: no table break, no HTML, no link, no mention."""
    # A line break would end a table's row.
    plain = printable(str(text)).replace("\n", " ")
    # An invisible space after the @ keeps GitHub from notifying anybody.
    return _MENTION.sub("@\u200b", "".join(_ESCAPES.get(sign, sign) for sign in plain))


def code_span(text: object) -> str:
    """Text between backticks; nothing in it is a link or a mention."""
    # A backtick can't be escaped inside a code span.
    return printable(str(text)).replace("`", "'").replace("\n", " ").replace("|", "\\|")

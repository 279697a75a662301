"""report.txt and report.md: averages, bands, routes, gates, and the cases to read first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from answerkey.errors import AnswerkeyError
from answerkey.intervals import CorrectedRate
from answerkey.metrics.judge.card import card_lines
from answerkey.metrics.registry import find
from answerkey.runs.figures import Figures, MetricMean
from answerkey.runs.number_tally import Mean
from answerkey.runs.summary import GateResult, Summary
from answerkey.text import counted, printable
from answerkey.types import Profile

_BAR = 30
SATISFACTION = "share PERFECT or ACCEPTABLE by this profile; no user was asked"
_FAMILIES = {
    "correctness": "exact_match keyword_recall token_f1 rouge_l chrf answer_agreement answer_correctness answer_hallucination "
    "groundedness factual_accuracy information_completeness number_close number_in_range contains contains_any not_contains "
    "regex semantic_relevance answer_relevance context_relevance context_sufficiency",
    "communication": "politeness executive_format presentation_quality answer_length citation_coverage citation_validity "
    "abstention refusal",
    "operations": "latency_ms cost prompt_tokens completion_tokens route_score",
}
_FAMILY_OF = {metric: family for family, metrics in _FAMILIES.items() for metric in metrics.split()}
_FAMILY_ORDER = ("correctness", "communication", "operations", "retrieval", "judged", "other")


def text_report(summary: Summary, profile: Profile | None = None) -> str:
    """The report as plain text; with the profile, bands have their limits and scores of criteria their maximum.

    >>> text_report(summary, profile)      # doctest: +SKIP
    'support-bot: 50 cases, 48 scored, 2 errors\\n...'
    """
    times, kinds = summary.figures.response_time, ("average", "min", "p50", "p95", "max")
    seconds = [
        f"{kind} {value:.3f} s" for kind in kinds if (value := getattr(times, kind)) is not None
    ]
    disagreements = [
        f"{found.id}: {found.what} ({', '.join(f'{name} {value:.2f}' for name, value in found.values.items())})"
        for found in summary.disagreements
    ]
    parts = [
        heading(summary),
        _averages(summary.figures.average_scores, profile),
        _bands(summary, profile),
        _groups("By type", summary.by_type),
        _groups("By route", summary.by_route),
        _grid("Means by route", component_rows(summary.by_route)),
        _grid(
            "Routes: expected (rows) and taken (columns)", confusion_rows(summary.route_confusion)
        ),
        [f"Response time of {counted(times.n, 'answer')}: {', '.join(seconds)}"] if times.n else [],
        _section("Errors", (f"{count} × {what}" for what, count in summary.errors.items())),
        _section("Metrics disagree; read these cases", disagreements),
        card_lines(summary.judge) if summary.judge else [],
        _section("Gates", map(gate_line, summary.gates)),
    ]
    return printable("\n\n".join("\n".join(part) for part in parts if part) + "\n")


def heading(summary: Summary) -> list[str]:
    run, figures, totals = summary.run, summary.figures, summary.figures.totals
    scored = f", {totals.scored} scored" if run.profile.name else ""
    lines = [
        f"{run.name}: {counted(totals.cases, 'case')}{scored}, {counted(totals.errors, 'error')}"
    ]
    if run.partial:
        lines.append(f"PARTIAL RUN ({totals.cases} of {run.selected} cases): {run.partial}")
    if run.profile.name:
        lines.append(
            f"profile {run.profile.name} version {run.profile.version} ({run.profile.digest})"
        )
    if figures.pass_rate is not None and figures.user_satisfaction_rate is not None:
        lines.append(
            f"pass rate {rate(figures.pass_rate, figures.pass_rate_ci95, totals.passed, totals.cases)}"
        )
        if run.profile.satisfaction:
            satisfied = round(figures.user_satisfaction_rate * totals.cases)
            share = rate(
                figures.user_satisfaction_rate,
                figures.user_satisfaction_ci95,
                satisfied,
                totals.cases,
            )
            lines.append(f"user satisfaction {share} ({SATISFACTION})")
        lines.append(f"mean score {mean_text(figures.score, run.profile.scale)}")
        if figures.quality.mean is not None and figures.quality.mean != figures.score.mean:
            lines.append(f"mean quality {mean_text(figures.quality, run.profile.scale)}")
    if figures.route_accuracy is not None:
        lines.append(f"route accuracy {figures.route_accuracy:.1%} of {figures.route_accuracy_n}")
    return lines + figure_notes(summary) + [f"note: {note}" for note in run.notes]


def figure_notes(summary: Summary) -> list[str]:
    """What a reader must know about the figures: repeats, clusters, labels, and why a figure is missing."""
    figures, totals, lines = summary.figures, summary.figures.totals, list[str]()
    if figures.pass_rate is None and summary.run.profile.name:
        if not totals.cases:
            why = "no case was finished"
        elif totals.errors == totals.cases:
            why = f"all {totals.cases} cases ended in an error"
        else:
            without = f"{totals.errors} of {counted(totals.cases, 'case')} ended in an error"
            why = f"{without}, {totals.unscored} have no applicable criterion"
        lines.append(f"no pass rate: {why}")
    if (
        (repeats := figures.repeats) is not None
        and repeats.pass_all is not None
        and repeats.pass_any is not None
    ):
        k, cases = repeats.k, totals.cases
        every, some = round(repeats.pass_all * cases), round(repeats.pass_any * cases)
        lines += [
            f"pass^{k} {rate(repeats.pass_all, repeats.pass_all_ci95, every, cases)} passed every time",
            f"pass@{k} {rate(repeats.pass_any, repeats.pass_any_ci95, some, cases)} passed at least once",
            f"each case was asked {k} times and passes with {repeats.require}; {repeats.answers_passed} of "
            f"{repeats.answers} answers passed",
        ]
        named = ", ".join(summary.flaky[:5]) + (", …" if len(summary.flaky) > 5 else "")
        lines.append(f"{counted(repeats.flaky, 'flaky case')}{f': {named}' if named else ''}")
    if figures.clusters is not None:
        clusters = counted(figures.clusters, "cluster")
        lines.append(f"{counted(totals.cases, 'case')} in {clusters}: intervals are by cluster")
    return [*lines, corrected_line(summary.corrected)] if summary.corrected else lines


def corrected_line(found: CorrectedRate) -> str:
    """The pass rate as people would see it, and what more labels would bring."""
    halving = (
        f"{found.more_to_halve} more labels would"
        if found.more_to_halve
        else "even all labels would not"
    )
    ends = f"95 % {max(found.low, 0):.1%} to {min(found.high, 1):.1%}"
    labels = f"from {found.labels} human labels ({found.method})"
    return f"corrected pass rate {found.rate:.1%} ({ends}), {labels}; {halving} halve the interval"


def mean_text(entry: Mean, maximum: float = 1) -> str:
    """`0.713 (95 % 0.650 to 0.770), scored 48/50`, or `4.20/5 (…)` where the scale does not end at 1."""
    if entry.mean is None:
        return f"no value, scored 0/{entry.of}"
    value = figure(entry.mean) if maximum == 1 else f"{entry.mean:.2f}/{maximum:g}"
    return f"{value}{_interval(entry.ci95)}, scored {entry.n}/{entry.of}"


def _interval(ends: Sequence[float] | None) -> str:
    return f" (95 % {figure(ends[0])} to {figure(ends[1])})" if ends else ""


def rate(share: float, interval: Sequence[float] | None, count: int, of: int) -> str:
    ends = f" (95 % {interval[0]:.1%} to {interval[1]:.1%})" if interval else ""
    return f"{share:.1%}{ends}, {count}/{of}"


def figure(value: float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def _averages(averages: Mapping[str, MetricMean], profile: Profile | None) -> list[str]:
    """One line per metric, grouped by family: correctness, communication, operations, judged, then others."""
    width = max(map(len, averages), default=0)
    maxima = metric_maxima(averages, profile)
    groups: dict[str, list[str]] = {}
    for name in averages:
        groups.setdefault(family_of(name), []).append(name)
    indent = "  " if len(groups) > 1 else ""
    lines: list[str] = []
    for family in sorted(groups, key=_FAMILY_ORDER.index):
        lines += [family] if len(groups) > 1 else []
        for name in groups[family]:
            entry = averages[name]
            left_out = [f"{entry.not_applicable} not applicable"] if entry.not_applicable else []
            left_out += [counted(entry.errors, "error")] if entry.errors else []
            note = f" ({', '.join(left_out)})" if left_out else ""
            reading = f": {entry.reading}" if entry.reading else ""
            lines.append(
                f"{indent}{name:<{width}}  {mean_text(entry, maxima[name])}{note}{reading}"
            )
    return _section("Average scores", lines)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    """A title and its indented lines; nothing where there are no lines."""
    indented = [f"  {line}" for line in lines]
    return [title, *indented] if indented else []


def family_of(metric: str) -> str:
    """What a reader looks for in a metric; a metric of the user's own is among the others."""
    if metric in _FAMILY_OF:
        return _FAMILY_OF[metric]
    return (
        "judged"
        if metric.startswith(("rubric.", "judge."))
        else "retrieval"
        if "@" in metric
        else "other"
    )


def metric_maxima(metrics: Iterable[str], profile: Profile | None) -> dict[str, float]:
    """The largest value of each metric: of its criterion in the profile, else of the metric itself; 1 where unknown."""
    known = (
        {criterion.metric: criterion.maximum for criterion in profile.criteria} if profile else {}
    )
    for metric in metrics:
        if metric not in known and metric.startswith("rubric."):
            with suppress(AnswerkeyError):
                known[metric] = find(metric).facts.high or 1
    return {metric: known.get(metric, 1) for metric in metrics}


def _bands(summary: Summary, profile: Profile | None) -> list[str]:
    limits = (
        {band.name: f"{band.name} (≥{band.at:g})" for band in profile.rules.bands}
        if profile
        else {}
    )
    width = max((len(limits.get(name, name)) for name in summary.bands), default=0)
    lines: list[str] = []
    for name, count in summary.bands.items() if summary.figures.totals.scored else ():
        share = count / summary.figures.totals.cases
        lines.append(
            f"{limits.get(name, name):<{width}}  {count:>6}  {share:>6.1%}  {'█' * round(_BAR * share)}"
        )
    return _section("Performance", lines)


def _groups(title: str, groups: Mapping[str, Figures]) -> list[str]:
    """The pass rate and mean score of each type or route; without a profile the means of its metrics."""
    width = max(map(len, groups), default=0)
    lines: list[str] = []
    for name, part in groups.items():
        line = f"passed {passed(part)}; mean score {figure(part.score.mean)}"
        if part.pass_rate is None and part.average_scores:
            means = [
                f"{metric} {figure(entry.mean)}" for metric, entry in part.average_scores.items()
            ]
            line = f"{counted(part.totals.cases, 'case')}; {', '.join(means[:4])}{', …' if len(means) > 4 else ''}"
        lines.append(f"{name:<{width}}  {line}")
    return _section(title, lines)


def passed(part: Figures) -> str:
    """The pass rate of a type or route; `-` where nothing is scored."""
    if part.pass_rate is None:
        return "-"
    return rate(part.pass_rate, part.pass_rate_ci95, part.totals.passed, part.totals.cases)


def component_rows(by_route: Mapping[str, Figures]) -> list[list[str]]:
    """The mean of each metric per route; the first row names the routes. Empty for a single route."""
    names = sorted({name for part in by_route.values() for name in part.average_scores})
    if len(by_route) < 2 or not names:
        return []
    parts = [part.average_scores for part in by_route.values()]
    means = [
        [name, *(figure(part[name].mean if name in part else None) for part in parts)]
        for name in names
    ]
    return [["", *by_route], *means]


def confusion_rows(table: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """Cases per expected route (row) and taken route (column); the first row names the taken routes."""
    if not table:
        return []
    taken = sorted({route for row in table.values() for route in row})
    return [
        ["", *taken],
        *([name, *(str(row.get(route, 0)) for route in taken)] for name, row in table.items()),
    ]


def _grid(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    width = max((len(name) for name, *_ in rows), default=0)
    return _section(
        title,
        (f"{name:<{width}}  " + "  ".join(f"{c[:14]:>14}" for c in cells) for name, *cells in rows),
    )


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in plain text: the first column to the left, the others to the right."""
    columns = [
        [f"{text:{'>' if n else '<'}{max(map(len, column))}}" for text in column]
        for n, column in enumerate(zip(*rows, strict=True))
    ]
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def gate_line(gate: GateResult) -> str:
    value = "no value" if gate.value is None else figure(gate.value)
    note = f", {gate.note}" if gate.note else ""
    return f"{'PASS' if gate.passed else 'FAIL'}  {gate.condition}: {value}{_interval(gate.ci95)}{note}"


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
        lines += [
            f"| {cell(name)} | {n} | {n / totals.cases:.1%} |" for name, n in summary.bands.items()
        ]
    for title, groups in (("type", summary.by_type), ("route", summary.by_route)):
        if groups:
            lines += ["", f"| {title} | cases | passed | mean score |", "|---|---:|---|---|"]
            for name, part in groups.items():
                lines.append(
                    f"| {cell(name)} | {part.totals.cases} | {passed(part)} | {mean_text(part.score)} |"
                )
    lines += _table("mean of", component_rows(summary.by_route))
    lines += _table("expected route, taken →", confusion_rows(summary.route_confusion))
    if summary.gates:
        lines += [
            "",
            "| gate |",
            "|---|",
            *(f"| `{code(gate_line(gate))}` |" for gate in summary.gates),
        ]
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

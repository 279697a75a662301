"""report.txt: averages, bands, routes, gates, and the cases to read first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from answerkey.errors import AnswerkeyError
from answerkey.metrics.judge.card import card_lines
from answerkey.text import counted, printable
from answerkey.types import Json, Profile

_BAR = 30
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


def text_report(summary: Mapping[str, Any], profile: Profile | None = None) -> str:
    """The report as plain text; with the profile, bands have their limits and scores of criteria their maximum.

    >>> text_report(summary, profile)      # doctest: +SKIP
    'support-bot: 50 cases, 48 scored, 2 errors\\n...'
    """
    parts = [
        heading(summary),
        _averages(summary["average_scores"], profile),
        _bands(summary, profile),
        _groups("By type", summary["by_type"]),
        _groups("By route", summary["by_route"]),
        _components(summary["by_route"]),
        _confusion(summary["route_confusion"]),
        _times(summary["response_time"]),
        _errors(summary),
        _disagreements(summary["disagreements"]),
        judge_lines(summary),
        _gates(summary.get("gates", [])),
    ]
    return printable("\n\n".join("\n".join(part) for part in parts if part) + "\n")


def heading(summary: Mapping[str, Any]) -> list[str]:
    totals, profile = summary["totals"], summary["profile"]
    scored = f", {totals['scored']} scored" if profile["name"] else ""
    lines = [f"{summary['name']}: {counted(totals['cases'], 'case')}{scored}, {counted(totals['errors'], 'error')}"]
    if summary.get("partial"):
        lines.append(f"PARTIAL RUN ({totals['cases']} of {summary['selected']} cases): {summary['partial']}")
    if profile["name"]:
        lines.append(f"profile {profile['name']} version {profile['version']} ({profile['digest']})")
    if summary["pass_rate"] is not None:
        lines.append(
            f"pass rate {rate(summary['pass_rate'], summary['pass_rate_ci95'], totals['passed'], totals['cases'])}"
        )
        satisfied = round(summary["user_satisfaction_rate"] * totals["cases"])
        lines.append(
            "user satisfaction "
            + rate(summary["user_satisfaction_rate"], summary["user_satisfaction_ci95"], satisfied, totals["cases"])
        )
        scale = profile.get("scale") or 1
        lines.append(f"mean score {mean(summary['score'], scale)}")
        quality = summary.get("quality") or {"mean": None}
        if quality["mean"] is not None and quality["mean"] != summary["score"]["mean"]:
            lines.append(f"mean quality {mean(quality, scale)}")
    if summary["route_accuracy"] is not None:
        lines.append(f"route accuracy {summary['route_accuracy']:.1%} of {summary['route_accuracy_n']}")
    return lines + [f"note: {note}" for note in summary.get("notes", [])]


def mean(entry: Mapping[str, Any], maximum: float = 1) -> str:
    """`0.713 (95 % 0.650 to 0.770), scored 48/50`, or `4.20/5 (…)` where the scale does not end at 1."""
    if entry["mean"] is None:
        return f"no value, scored 0/{entry['of']}"
    interval = f" (95 % {figure(entry['ci95'][0])} to {figure(entry['ci95'][1])})" if entry["ci95"] else ""
    value = figure(entry["mean"]) if maximum == 1 else f"{entry['mean']:.2f}/{maximum:g}"
    return f"{value}{interval}, scored {entry['n']}/{entry['of']}"


def rate(share: float, interval: Sequence[float] | None, count: int, of: int) -> str:
    ends = f" (95 % {interval[0]:.1%} to {interval[1]:.1%})" if interval else ""
    return f"{share:.1%}{ends}, {count}/{of}"


def figure(value: float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def _averages(averages: Mapping[str, Any], profile: Profile | None) -> list[str]:
    """One line per metric, grouped by family: correctness, communication, operations, judged, then others."""
    if not averages:
        return []
    width = max(len(name) for name in averages)
    maxima = metric_maxima(averages, profile)
    lines = ["Average scores"]
    groups: dict[str, list[str]] = {}
    for name in averages:
        groups.setdefault(family_of(name), []).append(name)
    for family in sorted(groups, key=_FAMILY_ORDER.index):
        lines += [f"  {family}"] if len(groups) > 1 else []
        indent = "    " if len(groups) > 1 else "  "
        for name in groups[family]:
            entry = averages[name]
            left_out = [f"{entry['not_applicable']} not applicable"] if entry["not_applicable"] else []
            left_out += [counted(entry["errors"], "error")] if entry["errors"] else []
            note = f" ({', '.join(left_out)})" if left_out else ""
            reading = f": {entry['reading']}" if entry.get("reading") else ""
            lines.append(f"{indent}{name:<{width}}  {mean(entry, maxima[name])}{note}{reading}")
    return lines


def family_of(metric: str) -> str:
    """What a reader looks for in a metric; a metric of the user's own is among the others."""
    if metric in _FAMILY_OF:
        return _FAMILY_OF[metric]
    return "judged" if metric.startswith(("rubric.", "judge.")) else "retrieval" if "@" in metric else "other"


def metric_maxima(metrics: Iterable[str], profile: Profile | None) -> dict[str, float]:
    """The largest value of each metric: of its criterion in the profile, else of the metric itself; 1 where unknown."""
    from answerkey.metrics.registry import find

    rules = (profile.rules, *profile.group_rules.values()) if profile else ()
    known = {criterion.metric: criterion.maximum for rule in rules for criterion in rule.criteria}
    for metric in metrics:
        if metric not in known and metric.startswith("rubric."):
            with suppress(AnswerkeyError):
                known[metric] = find(metric).facts.high or 1
    return {metric: known.get(metric, 1) for metric in metrics}


def _bands(summary: Mapping[str, Any], profile: Profile | None) -> list[str]:
    bands = summary["performance"]["bands"]
    if not summary["totals"]["scored"]:
        return []
    limits = {band.name: f" (≥{band.at:g})" for band in profile.rules.bands} if profile else {}
    labels = {name: f"{name}{limits.get(name, '')}" for name in bands}
    width = max((len(label) for label in labels.values()), default=0)
    rows = [
        f"  {labels[name]:<{width}}  {band['count']:>6}  {band['share']:>6.1%}  {'█' * round(_BAR * band['share'])}"
        for name, band in bands.items()
    ]
    return ["Performance", *rows]


def _groups(title: str, groups: Mapping[str, Any]) -> list[str]:
    if not groups:
        return []
    width = max(len(name) for name in groups)
    lines = [title]
    for name, part in groups.items():
        passed = (
            rate(part["pass_rate"], part["pass_rate_ci95"], part["passed"], part["count"])
            if part["pass_rate"] is not None
            else "-"
        )
        lines.append(f"  {name:<{width}}  passed {passed}; mean score {figure(part['score']['mean'])}")
    return lines


def _components(by_route: Mapping[str, Any]) -> list[str]:
    return _grid("Means by route", component_rows(by_route))


def component_rows(by_route: Mapping[str, Any]) -> list[list[str]]:
    """The mean of each metric per route; the first row names the routes. Empty for a single route."""
    names = sorted({name for part in by_route.values() for name in part["average_scores"]})
    if len(by_route) < 2 or not names:
        return []
    parts = [part["average_scores"] for part in by_route.values()]
    means = [[name, *(figure(part.get(name, {}).get("mean")) for part in parts)] for name in names]
    return [["", *by_route], *means]


def _confusion(table: Mapping[str, Mapping[str, int]]) -> list[str]:
    return _grid("Routes: expected (rows) and taken (columns)", confusion_rows(table))


def confusion_rows(table: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """Cases per expected route (row) and taken route (column); the first row names the taken routes."""
    if not table:
        return []
    taken = sorted({route for row in table.values() for route in row})
    return [["", *taken], *([name, *(str(row.get(route, 0)) for route in taken)] for name, row in table.items())]


def _grid(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    width = max(len(name) for name, *_ in rows)
    return [title, *(f"  {name:<{width}}  " + "  ".join(f"{c[:14]:>14}" for c in cells) for name, *cells in rows)]


def _times(times: Mapping[str, Any]) -> list[str]:
    if not times["n"]:
        return []
    shown = ", ".join(f"{name} {times[name]:.3f} s" for name in ("average", "min", "p50", "p95", "max"))
    return [f"Response time of {times['n']}: {shown}"]


def _errors(summary: Mapping[str, Any]) -> list[str]:
    errors: Mapping[str, int] = summary["errors"]
    return ["Errors", *(f"  {count} × {what}" for what, count in errors.items())] if errors else []


def _disagreements(found: Iterable[Json]) -> list[str]:
    lines = [
        f"  {entry['id']}: {entry['what']} ({', '.join(f'{name} {value:.2f}' for name, value in entry['values'].items())})"
        for entry in found
    ]
    return ["Metrics disagree; read these cases", *lines] if lines else []


def judge_lines(summary: Mapping[str, Any]) -> list[str]:
    """The judge's card; runs of earlier versions have none."""
    return card_lines(summary["judge"]) if summary.get("judge") else []


def _gates(gates: Sequence[Json]) -> list[str]:
    return ["Gates", *(f"  {gate_line(gate)}" for gate in gates)] if gates else []


def gate_line(gate: Mapping[str, Any]) -> str:
    value = "no value" if gate["value"] is None else figure(gate["value"])
    interval = f" (95 % {figure(gate['ci95'][0])} to {figure(gate['ci95'][1])})" if gate["ci95"] else ""
    note = f", {gate['note']}" if gate["note"] else ""
    return f"{'PASS' if gate['passed'] else 'FAIL'}  {gate['condition']}: {value}{interval}{note}"

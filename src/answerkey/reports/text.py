"""report.txt: averages, bands, routes, gates, and the cases to read first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from answerkey.metrics.judge.card import card_lines
from answerkey.text import counted, printable
from answerkey.types import Json

_BAR = 30


def text_report(summary: Mapping[str, Any]) -> str:
    parts = [
        heading(summary),
        _averages(summary["average_scores"]),
        _bands(summary),
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
    lines = [
        f"{summary['name']}: {counted(totals['cases'], 'case')}{scored}, {counted(totals['errors'], 'error')}"
    ]
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
            + rate(
                summary["user_satisfaction_rate"],
                summary["user_satisfaction_ci95"],
                satisfied,
                totals["cases"],
            )
        )
        lines.append(f"mean score {mean(summary['score'])}")
    if summary["route_accuracy"] is not None:
        lines.append(f"route accuracy {summary['route_accuracy']:.1%} of {summary['route_accuracy_n']}")
    return lines + [f"note: {note}" for note in summary.get("notes", [])]


def mean(entry: Mapping[str, Any]) -> str:
    """`0.713 (95 % 0.650 to 0.770), scored 48/50`."""
    if entry["mean"] is None:
        return f"no value, scored 0/{entry['of']}"
    interval = f" (95 % {figure(entry['ci95'][0])} to {figure(entry['ci95'][1])})" if entry["ci95"] else ""
    return f"{figure(entry['mean'])}{interval}, scored {entry['n']}/{entry['of']}"


def rate(share: float, interval: Sequence[float] | None, count: int, of: int) -> str:
    ends = f" (95 % {interval[0]:.1%} to {interval[1]:.1%})" if interval else ""
    return f"{share:.1%}{ends}, {count}/{of}"


def figure(value: float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def _averages(averages: Mapping[str, Any]) -> list[str]:
    if not averages:
        return []
    width = max(len(name) for name in averages)
    lines = ["Average scores"]
    for name, entry in averages.items():
        left_out = ", ".join(
            counted(entry[key], *words)
            for key, words in (
                ("not_applicable", ("not applicable", "not applicable")),
                ("errors", ("error", "errors")),
            )
            if entry[key]
        )
        reading = f": {entry['reading']}" if entry.get("reading") else ""
        lines.append(f"  {name:<{width}}  {mean(entry)}{f' ({left_out})' if left_out else ''}{reading}")
    return lines


def _bands(summary: Mapping[str, Any]) -> list[str]:
    bands = summary["performance"]["bands"]
    if not summary["totals"]["scored"]:
        return []
    width = max((len(name) for name in bands), default=0)
    rows = [
        f"  {name:<{width}}  {band['count']:>6}  {band['share']:>6.1%}  {'█' * round(_BAR * band['share'])}"
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
    return [
        ["", *taken],
        *([name, *(str(row.get(route, 0)) for route in taken)] for name, row in table.items()),
    ]


def _grid(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    width = max(len(name) for name, *_ in rows)
    return [
        title,
        *(f"  {name:<{width}}  " + "  ".join(f"{c[:14]:>14}" for c in cells) for name, *cells in rows),
    ]


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

"""The charts of one run, as Vega-Lite specs. Distributions are drawn from binned counts, never from raw points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from answerkey.reports.chart_style import (
    BLUE,
    COUNTS,
    GREEN,
    RED,
    Spec,
    beside,
    layer,
    name,
    number,
    scale_of,
    titled,
)
from answerkey.reports.rows import Rows
from answerkey.runs.figures import Figures, MetricMean, Times
from answerkey.runs.summary import Summary
from answerkey.text import short_label
from answerkey.types import Profile

_MOST_GROUPS = 24
_MOST_ROUTES = 12  # a larger matrix is read as a table
_OTHER_STATUSES = ("ERROR", "UNSCORED", "SCORED")
BINS = 20
_CASES = number("cases", "cases", axis=COUNTS)


def run_charts(summary: Summary, rows: Rows, profile: Profile | None) -> dict[str, Spec]:
    """Every chart that the run has data for, by the name of its file; neighbours are about as high."""
    charts = {
        "bands": band_chart(summary),
        "pass_rate_by_route": group_chart("Pass rate by route", summary.by_route),
        "score_distribution": score_chart(rows, profile),
        "response_times": time_chart(summary.figures.response_time, rows.seconds),
        "metric_distributions": metric_chart(summary.figures.average_scores, rows, profile),
        "route_confusion": confusion_chart(summary.route_confusion),
        "pass_rate_by_type": group_chart("Pass rate by type", summary.by_type),
    }
    return {file: chart for file, chart in charts.items() if chart is not None}


def band_chart(summary: Summary) -> Spec | None:
    """How many cases are in each band, best first, then errors."""
    totals = summary.figures.totals
    counts = {band: count for band, count in summary.bands.items() if band}
    counts |= {
        status: totals.statuses[status] for status in _OTHER_STATUSES if totals.statuses.get(status)
    }
    if not counts or not totals.cases:
        return None
    values: list[Spec] = [
        {
            "band": short_label(band),
            "cases": count,
            "note": f"{count:,} ({count / totals.cases:.0%})",
        }
        for band, count in counts.items()
    ]
    y = name("band")
    x = number("cases", "cases", axis=COUNTS)
    colour = {
        **name("band"),
        "legend": None,
        "scale": scale_of([value["band"] for value in values]),
    }
    bars = layer(
        "bar", {"x": x, "y": y, "color": colour}, height=22, cornerRadiusEnd=3, tooltip=True
    )
    spec = {
        "data": {"values": values},
        "height": {"step": 34},
        "layer": [bars, beside("note", x, y)],
    }
    return titled("Bands", spec, f"{totals.cases:,} cases")


def group_chart(title: str, groups: Mapping[str, Figures]) -> Spec | None:
    """Pass rates with Wilson intervals, lowest first."""
    judged = [
        (part.pass_rate, part, group)
        for group, part in groups.items()
        if part.pass_rate is not None
    ]
    if len(judged) < 2:
        return None
    largest = sorted(judged, key=lambda entry: -entry[1].totals.cases)[:_MOST_GROUPS]
    values: list[Spec] = []
    for share, part, group in sorted(largest, key=lambda entry: entry[0]):
        low, high = part.pass_rate_ci95 or (share, share)
        note = f"{part.totals.passed:,}/{part.totals.cases:,}"
        values.append(
            {"name": short_label(group), "rate": share, "low": low, "high": high, "note": note}
        )
    y = name("name")
    x = number("low", "passed", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    rule = layer(
        "rule", {"x": x, "x2": {"field": "high"}, "y": y}, strokeWidth=3, color=BLUE, opacity=0.55
    )
    dot = layer(
        "point", {"x": number("rate"), "y": y}, filled=True, opacity=1, size=90, tooltip=True
    )
    subtitle = "share passed with its 95 % interval"
    if len(judged) > len(largest):
        subtitle += f"; the {_MOST_GROUPS} largest of {len(judged)}"
    layers = [rule, dot, beside("note", {"datum": 1}, y)]
    return titled(
        title, {"data": {"values": values}, "height": {"step": 30}, "layer": layers}, subtitle
    )


def confusion_chart(table: Mapping[str, Mapping[str, int]]) -> Spec | None:
    """Expected routes against taken ones; each cell's strength is its share of the row."""
    taken = sorted({route for row in table.values() for route in row})
    if len({*table, *taken}) < 2 or max(len(table), len(taken)) > _MOST_ROUTES:
        return None
    values: list[Spec] = []
    for e, row in table.items():
        for t, n in row.items():
            routes, share = (
                {"expected": short_label(e), "taken": short_label(t)},
                n / sum(row.values()),
            )
            values.append({**routes, "cases": n, "share": share, "right": e == t})
    across, down = (
        {"domain": [short_label(route) for route in routes]} for routes in (taken, sorted(table))
    )
    turned = {"labelAngle": -30 if len(taken) > 4 else 0, "labelLimit": 120, "orient": "top"}
    x = name("taken", "route taken", scale=across, axis=turned)
    y = name("expected", "route expected", scale=down)
    colour = {
        **name("right"),
        "legend": None,
        "scale": {"domain": [True, False], "range": [GREEN, RED]},
    }
    strength = number("share", legend=None, scale={"domain": [0, 1], "range": [0.15, 0.6]})
    cell = layer(
        "rect", {"x": x, "y": y, "color": colour, "opacity": strength}, tooltip=True, cornerRadius=3
    )
    text = layer("text", {"x": x, "y": y, "text": {"field": "cases"}}, fontSize=13)
    spec = {"data": {"values": values}, "height": {"step": 40}, "layer": [cell, text]}
    right = sum(row.get(route, 0) for route, row in table.items())
    total = sum(count for row in table.values() for count in row.values())
    return titled("Routes", spec, f"{right:,} of {total:,} took the expected route")


def score_chart(rows: Rows, profile: Profile | None) -> Spec | None:
    """The distribution of the value that is compared with the pass mark, coloured by status, with each pass mark."""
    measured = [n for n, quality in enumerate(rows.quality) if quality is not None]
    if profile is None or not measured:
        return None
    step = profile.scale / BINS
    counts = Counter((_bin(rows.quality[n] or 0.0, step), rows.status[n]) for n in measured)
    statuses = list(dict.fromkeys(band.status for band in profile.rules.bands))
    statuses += sorted({status for _, status in counts} - set(statuses))
    values = [
        {**_edges(place, step), "status": status, "order": statuses.index(status), "cases": count}
        for (place, status), count in sorted(counts.items())
    ]
    measure = "quality" if profile.route_weight else "score"
    x = _binned(measure, step, scale={"domain": [0, profile.scale]})
    colour = {**name("status"), "scale": scale_of(statuses)}
    encoding = {"x": x, "x2": {"field": "to"}, "y": {**_CASES, "stack": True}, "color": colour}
    bars = layer("bar", {**encoding, "order": {"field": "order"}}, tooltip=True, binSpacing=1)
    marks = _pass_marks(rows, profile)
    spec = {"data": {"values": values}, "height": 200, "layer": [bars, _dashes(marks)]}
    of = f" of {len(rows):,}" if len(measured) < len(rows) else ""
    subtitle = f"{len(measured):,}{of} cases; dashed: pass mark {', '.join(marks.values())}"
    return titled(f"Distribution of {measure}", spec, subtitle)


def _pass_marks(rows: Rows, profile: Profile) -> dict[float, str]:
    """Each pass mark used in this run, with its routes where there are several."""
    marks: dict[float, dict[str, None]] = {}
    for route in dict.fromkeys(rows.route):
        rules = profile.rules_for(route)
        group = next(
            (group for group, other in profile.group_rules.items() if other is rules), "others"
        )
        marks.setdefault(rules.pass_mark, {})[group] = None
    if len(marks) == 1:
        return {at: f"{at:g}" for at in marks}
    return {at: f"{at:g} ({short_label(', '.join(names))})" for at, names in sorted(marks.items())}


def metric_chart(
    averages: Mapping[str, MetricMean], rows: Rows, profile: Profile | None
) -> Spec | None:
    """One strip per metric: the distribution of its values from 0 to its maximum, with the mean and its interval."""
    maxima = {c.metric: c.maximum for c in profile.criteria} if profile else {}
    strips: list[Spec] = []
    means: list[Spec] = []
    for metric, column in rows.metrics.items():
        values = [value for value in column if isinstance(value, (int, float))]
        high = maxima.get(metric, 1.0)
        if not values or min(values) < 0 or max(values) > high:
            continue  # a descriptor such as a length or a time has no common range
        counts = Counter(_bin(value, high / BINS) for value in values)
        strips += [
            {
                "metric": short_label(metric),
                **_edges(n, 1 / BINS),
                "cases": count,
                "share": count / len(values),
            }
            for n, count in sorted(counts.items())
        ]
        about = averages.get(metric)
        if about is not None and about.mean is not None:
            low, top = about.ci95 or (about.mean, about.mean)
            note = f"{about.mean:.2f}  ({about.n:,}/{about.of:,})"
            ends = {"mean": about.mean / high, "low": low / high, "high": top / high}
            means.append({"metric": short_label(metric), **ends, "note": note})
    if not strips:
        return None
    y = name("metric", scale={"paddingInner": 0.35})
    x = number(
        "from", "value as a share of its maximum", scale={"domain": [0, 1]}, axis={"format": ".1f"}
    )
    strength = number("share", scale={"range": [0.12, 1]}, legend=None)
    cells = layer(
        "bar",
        {"x": x, "x2": {"field": "to"}, "y": y, "opacity": strength},
        color=BLUE,
        tooltip=True,
    )
    tick = layer(
        "tick", {"x": number("mean"), "y": y}, thickness=3, size=22, color=RED, tooltip=True
    )
    rule = layer(
        "rule", {"x": number("low"), "x2": {"field": "high"}, "y": y}, strokeWidth=2, color=RED
    )
    over = {"data": {"values": means}, "layer": [rule, tick, beside("note", {"datum": 1}, y)]}
    spec = {"height": {"step": 28}, "layer": [{"data": {"values": strips}, **cells}, over]}
    return titled(
        "Distribution of each metric", spec, "darker: more cases; red: mean with its 95 % interval"
    )


def time_chart(times: Times, seconds: Sequence[float | None]) -> Spec | None:
    """Response times in bins up to the 99th percentile; slower ones are counted in the last bin."""
    known = sorted(value for value in seconds if value is not None)
    if len(known) < 2 or known[-1] <= 0:
        return None
    top = known[round(0.99 * (len(known) - 1))] or known[-1]
    factor, unit = (1000.0, "ms") if top < 1 else (1.0, "s")
    least = top * factor / BINS  # the next of 1, 2, 2.5 or 5 times a power of ten
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * n for n in (1, 2, 2.5, 5, 10) if power * n >= least * (1 - 1e-9))
    counts = Counter(_bin(value * factor, step) for value in known)
    values = [{**_edges(n, step), "cases": count} for n, count in sorted(counts.items())]
    x = _binned(f"response time, {unit}", step, scale={"domainMin": 0})
    bars = layer("bar", {"x": x, "x2": {"field": "to"}, "y": _CASES}, tooltip=True, binSpacing=1)
    marks = {"p50": times.p50, "p95": times.p95, "max": times.max}
    shown = {key: value * factor for key, value in marks.items() if value is not None}
    dashes = _dashes(min(shown[key], step * BINS) for key in ("p50", "p95") if key in shown)
    spec = {"data": {"values": values}, "height": 160, "layer": [bars, dashes]}
    subtitle = ", ".join(f"{key} {value:.3g} {unit}" for key, value in shown.items())
    return titled(
        "Response time", spec, f"{subtitle} over {len(known):,} cases; dashed: p50 and p95"
    )


def _binned(title: str, step: float, **more: Any) -> Spec:
    return number("from", title, bin={"binned": True, "step": step}, **more)


def _edges(place: int, step: float) -> Spec:
    return {"from": round(place * step, 9), "to": round((place + 1) * step, 9)}


def _dashes(places: Iterable[float]) -> Spec:
    dashed = layer("rule", {"x": number("at")}, strokeDash=[5, 4], strokeWidth=1.5)
    return {"data": {"values": [{"at": place} for place in places]}, **dashed}


def _bin(value: float, step: float) -> int:
    """A value on a bin's edge belongs above it, even where a sum of products came out a hair too low."""
    return min(max(int(value / step + 1e-9), 0), BINS - 1)

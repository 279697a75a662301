"""The charts of one run, as Vega-Lite specs.

Distributions are drawn from binned counts, never from raw points: a page of 100,000 cases has
charts of the same size as one of 100.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from answerkey.percentages import format_percent
from answerkey.reports.chart_style import Spec, add_title, load_chart, scale_of
from answerkey.reports.numbers import counted_cases
from answerkey.runs.figures import Figures, MetricMean, Times
from answerkey.runs.summary import Summary
from answerkey.runs.table import RunTable
from answerkey.text import short_label
from answerkey.types import Profile

_MOST_GROUPS = 24
_MOST_ROUTES = 12  # a larger matrix is read as a table
_LEVEL_LABELS = 4  # so many route names fit side by side without turning them
_OTHER_STATUSES = ("ERROR", "UNSCORED", "SCORED")
_BINS = 20


def run_charts(summary: Summary, table: RunTable, profile: Profile | None) -> dict[str, Spec]:
    """Every chart that the run has data for, by the name of its file.

    The order puts charts of about the same height side by side.
    """
    charts = {
        "bands": _band_chart(summary),
        "pass_rate_by_route": _group_chart("Pass rate by route", summary.by_route),
        "score_distribution": _score_chart(table, profile),
        "response_times": _time_chart(summary.figures.response_time, table.times.tolist()),
        "metric_distributions": _metric_chart(summary.figures.average_scores, table, profile),
        "route_confusion": _confusion_chart(summary.route_confusion),
        "pass_rate_by_type": _group_chart("Pass rate by type", summary.by_type),
    }
    return {file: chart for file, chart in charts.items() if chart is not None}


def _band_chart(summary: Summary) -> Spec | None:
    """The number of cases in each band, best first, then errors."""
    totals = summary.figures.totals
    counts = {band: count for band, count in summary.bands.items() if band}
    for status in _OTHER_STATUSES:
        if totals.statuses.get(status):
            counts[status] = totals.statuses[status]
    if not counts or not totals.cases:
        return None
    values: list[Spec] = []
    for band, count in counts.items():
        note = f"{count:,} ({format_percent(count / totals.cases)})"
        values.append({"band": short_label(band), "cases": count, "note": note})
    colours = scale_of([value["band"] for value in values])
    spec = load_chart("bands", values=values, colours=colours)
    return add_title("Bands", spec, f"{totals.cases:,} cases")


def _group_chart(title: str, groups: Mapping[str, Figures]) -> Spec | None:
    """Pass rates with Wilson intervals, lowest first."""
    rated = [
        (part.pass_rate, part, group)
        for group, part in groups.items()
        if part.pass_rate is not None
    ]
    # A single group is the whole run.
    if len(rated) < 2:
        return None
    # By size: a type with two cases would otherwise come first or last by chance.
    largest = sorted(rated, key=lambda entry: -entry[1].totals.cases)[:_MOST_GROUPS]
    values: list[Spec] = []
    for rate, part, group in sorted(largest, key=lambda entry: entry[0]):
        low, high = part.pass_rate_ci95 or (rate, rate)
        note = f"{part.totals.passed:,}/{counted_cases(part.totals):,}"
        values.append(
            {"name": short_label(group), "rate": rate, "low": low, "high": high, "note": note}
        )
    subtitle = "share passed with its 95 % interval"
    if len(rated) > len(largest):
        subtitle += f"; the {_MOST_GROUPS} largest of {len(rated)}"
    return add_title(title, load_chart("pass_rates", values=values), subtitle)


def _confusion_chart(table: Mapping[str, Mapping[str, int]]) -> Spec | None:
    """Expected routes against taken ones; each cell's strength is its share of the row."""
    taken_routes = sorted({route for row in table.values() for route in row})
    # One route on both sides has nothing to confuse; a larger table cannot be read.
    largest = max(len(table), len(taken_routes))
    if len({*table, *taken_routes}) < 2 or largest > _MOST_ROUTES:
        return None
    values: list[Spec] = []
    right = 0
    total = 0
    for expected, row in table.items():
        row_total = sum(row.values())
        total += row_total
        right += row.get(expected, 0)
        for taken, count in row.items():
            cell = {"expected": short_label(expected), "taken": short_label(taken), "cases": count}
            values.append({**cell, "share": count / row_total, "right": expected == taken})
    spec = load_chart(
        "routes",
        values=values,
        taken=[short_label(route) for route in taken_routes],
        expected=[short_label(route) for route in sorted(table)],
        label_angle=-30 if len(taken_routes) > _LEVEL_LABELS else 0,
    )
    return add_title("Routes", spec, f"{right:,} of {total:,} took the expected route")


def _score_chart(table: RunTable, profile: Profile | None) -> Spec | None:
    """The distribution of the value that is compared with the pass mark, coloured by status."""
    measured = table.select(np.flatnonzero(~np.isnan(table.quality)))
    if profile is None or not len(measured):
        return None
    step = profile.scale / _BINS
    bins = (_bin_of(value, step) for value in measured.quality.tolist())
    counts = Counter(zip(bins, measured.status.tolist(), strict=True))
    statuses = list(dict.fromkeys(band.status for band in profile.rules.bands))
    statuses += sorted({status for _, status in counts} - set(statuses))
    values: list[Spec] = []
    for (place, status), count in sorted(counts.items()):
        order = statuses.index(status)
        values.append({**_edges(place, step), "status": status, "order": order, "cases": count})
    if profile.route_weight:
        measure = "quality"
    else:
        measure = "score"
    marks = _pass_marks(table, profile)
    spec = load_chart(
        "scores",
        values=values,
        measure=measure,
        step=step,
        scale=profile.scale,
        colours=scale_of(statuses),
        pass_marks=_places(marks),
    )
    cases = f"{len(measured):,} cases"
    if len(measured) < len(table):
        cases = f"{len(measured):,} of {len(table):,} cases"
    subtitle = f"{cases}; dashed: pass mark {', '.join(marks.values())}"
    return add_title(f"Distribution of {measure}", spec, subtitle)


def _pass_marks(table: RunTable, profile: Profile) -> dict[float, str]:
    """Each pass mark used in this run; with the routes it is for, if there are several."""
    marks: dict[float, dict[str, None]] = {}
    for route in dict.fromkeys(table.route.tolist()):
        rules = profile.rules_for(route)
        names = [group for group, other in profile.group_rules.items() if other is rules]
        group = names[0] if names else "others"
        marks.setdefault(rules.pass_mark, {})[group] = None
    if len(marks) == 1:
        return {at: f"{at:g}" for at in marks}
    return {at: f"{at:g} ({short_label(', '.join(names))})" for at, names in sorted(marks.items())}


def _metric_chart(
    averages: Mapping[str, MetricMean], table: RunTable, profile: Profile | None
) -> Spec | None:
    """One strip per metric: the distribution from 0 to its maximum, with mean and interval."""
    if profile:
        maxima = {c.metric: c.maximum for c in profile.lines}
    else:
        maxima = {}
    strips: list[Spec] = []
    means: list[Spec] = []
    for metric, column in table.metrics.items():
        values = column.values[~np.isnan(column.values)].tolist()
        maximum = maxima.get(metric, 1.0)
        # A descriptor such as a length or a time has no common range.
        if not values or min(values) < 0 or max(values) > maximum:
            continue
        strips += _strip(short_label(metric), values, maximum)
        average = averages.get(metric)
        if average is not None and average.mean is not None:
            means.append(_mean_mark(short_label(metric), average, average.mean, maximum))
    if not strips:
        return None
    spec = load_chart("metrics", strips=strips, means=means)
    subtitle = "darker: more cases; red: mean with its 95 % interval"
    return add_title("Distribution of each metric", spec, subtitle)


def _strip(label: str, values: Sequence[float], maximum: float) -> list[Spec]:
    counts = Counter(_bin_of(value, maximum / _BINS) for value in values)
    cells: list[Spec] = []
    for place, count in sorted(counts.items()):
        share = count / len(values)
        cells.append({"metric": label, **_edges(place, 1 / _BINS), "cases": count, "share": share})
    return cells


def _mean_mark(label: str, average: MetricMean, mean: float, maximum: float) -> Spec:
    low, high = average.ci95 or (mean, mean)
    return {
        "metric": label,
        "mean": mean / maximum,
        "low": low / maximum,
        "high": high / maximum,
        "note": f"{mean:.2f}  ({average.n:,}/{average.of:,})",
    }


def _time_chart(times: Times, seconds: Sequence[float]) -> Spec | None:
    """Response times in bins up to the 99th percentile; the last bin counts the slower ones."""
    measured = sorted(seconds)
    if len(measured) < 2 or measured[-1] <= 0:
        return None
    # One answer that took a minute would press all others into the first bin.
    top = measured[round(0.99 * (len(measured) - 1))] or measured[-1]
    factor = 1.0
    unit = "s"
    if top < 1:
        factor = 1000.0
        unit = "ms"
    step = _round_step(top * factor / _BINS)
    counts = Counter(_bin_of(value * factor, step) for value in measured)
    values = [{**_edges(place, step), "cases": count} for place, count in sorted(counts.items())]
    marks = {"p50": times.p50, "p95": times.p95, "max": times.max}
    shown = {key: value * factor for key, value in marks.items() if value is not None}
    percentiles = [min(shown[key], step * _BINS) for key in ("p50", "p95") if key in shown]
    spec = load_chart(
        "times",
        values=values,
        axis_title=f"response time, {unit}",
        step=step,
        percentiles=_places(percentiles),
    )
    figures = ", ".join(f"{key} {value:.3g} {unit}" for key, value in shown.items())
    subtitle = f"{figures} over {len(measured):,} answers; dashed: p50 and p95"
    return add_title("Response time", spec, subtitle)


def _round_step(least: float) -> float:
    """The next of 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * n for n in (1, 2, 2.5, 5, 10) if power * n >= least * (1 - 1e-9))


def _edges(place: int, step: float) -> Spec:
    return {"from": round(place * step, 9), "to": round((place + 1) * step, 9)}


def _places(values: Iterable[float]) -> list[Spec]:
    return [{"at": value} for value in values]


def _bin_of(value: float, step: float) -> int:
    """A value on a bin's edge belongs above it, even if a sum of products came out a hair low."""
    return min(max(int(value / step + 1e-9), 0), _BINS - 1)

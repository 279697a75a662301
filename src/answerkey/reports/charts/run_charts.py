"""The charts of one run, each once, as a Vega-Lite spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from answerkey.reports.charts.distribution_charts import metric_chart, score_chart, time_chart
from answerkey.reports.charts.style import BLUE, COUNTS, GREEN, RED, Spec, beside, layer, name, number, scale_of, titled
from answerkey.reports.rows import Rows
from answerkey.text import short_label
from answerkey.types import Json, Profile

_MOST_GROUPS = 24
_MOST_ROUTES = 12  # a larger matrix is read as a table
_OTHER_STATUSES = ("ERROR", "UNSCORED", "SCORED")


def run_charts(figures: Json, rows: Rows, profile: Profile | None) -> dict[str, Spec]:
    """Every chart that the run has data for, by the name of its file; neighbours are about as high."""
    charts = {
        "bands": band_chart(figures),
        "pass_rate_by_route": group_chart("Pass rate by route", figures["by_route"]),
        "score_distribution": score_chart(rows, profile),
        "response_times": time_chart(figures["response_time"], rows.seconds),
        "metric_distributions": metric_chart(figures, rows, profile),
        "route_confusion": confusion_chart(figures["route_confusion"]),
        "pass_rate_by_type": group_chart("Pass rate by type", figures["by_type"]),
    }
    return {file: chart for file, chart in charts.items() if chart is not None}


def band_chart(figures: Json) -> Spec | None:
    """How many cases are in each band, best first, then errors."""
    totals, bands = figures["totals"], figures["performance"]["bands"]
    counts = {band: about["count"] for band, about in bands.items() if band}
    counts |= {status: totals["statuses"][status] for status in _OTHER_STATUSES if totals["statuses"].get(status)}
    if not counts or not totals["cases"]:
        return None
    values = [
        {"band": short_label(band), "cases": count, "note": f"{count:,} ({count / totals['cases']:.0%})"}
        for band, count in counts.items()
    ]
    y = name("band")
    x = number("cases", "cases", axis=COUNTS)
    colour = {**name("band"), "legend": None, "scale": scale_of([value["band"] for value in values])}
    bars = layer("bar", {"x": x, "y": y, "color": colour}, height=22, cornerRadiusEnd=3, tooltip=True)
    spec = {"data": {"values": values}, "height": {"step": 34}, "layer": [bars, beside("note", x, y)]}
    return titled("Bands", spec, f"{totals['cases']:,} cases")


def group_chart(title: str, groups: Mapping[str, Any]) -> Spec | None:
    """Pass rates with Wilson intervals, lowest first."""
    judged = {group: part for group, part in groups.items() if part["pass_rate"] is not None}
    if len(judged) < 2:
        return None
    largest = sorted(judged, key=lambda group: -judged[group]["count"])[:_MOST_GROUPS]
    values = [
        {
            "name": short_label(group),
            "rate": judged[group]["pass_rate"],
            "low": judged[group]["pass_rate_ci95"][0],
            "high": judged[group]["pass_rate_ci95"][1],
            "note": f"{judged[group]['passed']:,}/{judged[group]['count']:,}",
        }
        for group in sorted(largest, key=lambda group: judged[group]["pass_rate"])
    ]
    y = name("name")
    x = number("low", "passed", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    rule = layer("rule", {"x": x, "x2": {"field": "high"}, "y": y}, strokeWidth=3, color=BLUE, opacity=0.55)
    dot = layer("point", {"x": number("rate"), "y": y}, filled=True, opacity=1, size=90, tooltip=True)
    subtitle = "share passed with its 95 % interval"
    if len(judged) > len(largest):
        subtitle += f"; the {_MOST_GROUPS} largest of {len(judged)}"
    layers = [rule, dot, beside("note", {"datum": 1}, y)]
    return titled(title, {"data": {"values": values}, "height": {"step": 30}, "layer": layers}, subtitle)


def confusion_chart(table: Mapping[str, Mapping[str, int]]) -> Spec | None:
    """Expected routes against taken ones; each cell's strength is its share of the row."""
    taken = sorted({route for row in table.values() for route in row})
    if len({*table, *taken}) < 2 or max(len(table), len(taken)) > _MOST_ROUTES:
        return None
    values = [
        {
            "expected": short_label(e),
            "taken": short_label(t),
            "cases": n,
            "share": n / sum(row.values()),
            "right": e == t,
        }
        for e, row in table.items()
        for t, n in row.items()
    ]
    across, down = ({"domain": [short_label(route) for route in routes]} for routes in (taken, sorted(table)))
    turned = {"labelAngle": -30 if len(taken) > 4 else 0, "labelLimit": 120, "orient": "top"}
    x = name("taken", "route taken", scale=across, axis=turned)
    y = name("expected", "route expected", scale=down)
    colour = {**name("right"), "legend": None, "scale": {"domain": [True, False], "range": [GREEN, RED]}}
    strength = number("share", legend=None, scale={"domain": [0, 1], "range": [0.15, 0.6]})
    cell = layer("rect", {"x": x, "y": y, "color": colour, "opacity": strength}, tooltip=True, cornerRadius=3)
    text = layer("text", {"x": x, "y": y, "text": {"field": "cases"}}, fontSize=13)
    spec = {"data": {"values": values}, "height": {"step": 40}, "layer": [cell, text]}
    right = sum(row.get(route, 0) for route, row in table.items())
    total = sum(count for row in table.values() for count in row.values())
    return titled("Routes", spec, f"{right:,} of {total:,} took the expected route")

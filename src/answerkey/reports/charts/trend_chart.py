"""The pass rate of a suite over time, with the runs at which the profile, the judge or the cases changed."""

from __future__ import annotations

from collections.abc import Sequence

from answerkey.reports.charts.style import AMBER, BLUE, Spec, layer, number, over, titled
from answerkey.text import short_label
from answerkey.types import Json


def trend_chart(runs: Sequence[Json]) -> Spec | None:
    """One point per run, oldest first, with its 95 % interval; None for fewer than two runs with a pass rate.

    A run is an entry of the list of runs: `run`, `created`, `pass_rate`, `pass_rate_ci95` and `changed`.
    """
    rated = [run for run in runs if run["pass_rate"] is not None]
    if len(rated) < 2:
        return None
    values = [
        {
            "order": n,
            "run": short_label(run["run"]),
            "when": _when(run, rated),
            "rate": run["pass_rate"],
            "low": run["pass_rate_ci95"][0],
            "high": run["pass_rate_ci95"][1],
            "changed": short_label(", ".join(run["changed"])),
        }
        for n, run in enumerate(rated)
    ]
    x = {"field": "when", "type": "ordinal", "title": None, "sort": {"field": "order"}, "axis": {"labelAngle": -30}}
    y = number("rate", "pass rate", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    marked = [value for value in values if value["changed"]]
    layers = [
        over(marked, layer("rule", {"x": x}, color=AMBER, strokeDash=[5, 4], strokeWidth=1.5)),
        over(
            marked,
            layer("text", {"x": x, "y": {"value": 8}, "text": {"field": "changed"}}, align="left", dx=4, color=AMBER),
        ),
        layer("rule", ends, color=BLUE, strokeWidth=3, opacity=0.4),
        layer("line", {"x": x, "y": y}, color=BLUE),
        layer("point", {"x": x, "y": y}, filled=True, size=80, tooltip=True),
    ]
    subtitle = "share passed with its 95 % interval; dashed: the named part of the setup changed"
    return titled("Pass rate over time", {"height": 240, "data": {"values": values}, "layer": layers}, subtitle)


def _when(run: Json, runs: Sequence[Json]) -> str:
    """The time of a run; its folder where several have the same time."""
    when = run["created"][:16]
    alone = sum(other["created"][:16] == when for other in runs) == 1
    return when.replace("T", " ") if alone else short_label(run["run"], 30)

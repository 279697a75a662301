"""The reliability plot: among answers of like value, how many carry label 1?"""

from __future__ import annotations

from answerkey.calibrate.calibration import Calibration
from answerkey.reports.charts.style import BLUE, GREY, RED, Spec, titled


def reliability_chart(c: Calibration) -> Spec:
    """Bins with Wilson intervals; a metric that could be read as a probability has the diagonal to be compared with."""
    values = [
        {
            "value": b.mean_value,
            "share": b.share,
            "low": b.interval.low if b.interval else b.share,
            "high": b.interval.high if b.interval else b.share,
            "n": b.n,
        }
        for b in c.reliability.bins
    ]
    x = {
        "field": "value",
        "type": "quantitative",
        "title": f"{c.metric} (mean of the bin)",
        "scale": {"zero": False},
    }
    y = {"field": "share", "type": "quantitative", "title": "share of label 1", "scale": {"domain": [0, 1]}}
    bars = {
        "mark": {"type": "rule", "color": BLUE},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    line = {"mark": {"type": "line", "color": BLUE}, "encoding": {"x": x, "y": y}}
    dots = {"mark": {"type": "point"}, "encoding": {"x": x, "y": y, "size": _size()}}
    layers: list[Spec] = [bars, line, dots]
    if c.reliability.error is not None:
        ends = (
            [{"value": 0, "share": 0}, {"value": 1, "share": 1}]
            if c.direction.sign > 0
            else [{"value": 0, "share": 1}, {"value": 1, "share": 0}]
        )
        diagonal = {
            "mark": {"type": "line", "color": GREY, "strokeDash": [4, 4], "strokeWidth": 1},
            "encoding": {"x": x, "y": y},
        }
        layers.insert(0, {"data": {"values": ends}, **diagonal})
    if c.threshold is not None:
        layers.append({"mark": {"type": "rule", "color": RED}, "encoding": {"x": {"datum": c.threshold}}})
    auroc = "not defined" if c.auroc is None else f"{c.auroc:.3f}"
    subtitle = f"AUROC {auroc}, {c.n} labelled answers; dashed: a perfect probability; red: best threshold"
    return titled(
        f"Reliability of {c.metric}", {"height": 320, "data": {"values": values}, "layer": layers}, subtitle
    )


def _size() -> Spec:
    return {"field": "n", "type": "quantitative", "title": "answers", "scale": {"range": [30, 200]}}

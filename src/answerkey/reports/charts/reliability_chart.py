"""The reliability chart: among answers of similar value, the share with label 1."""

from __future__ import annotations

from answerkey.calibrate.calibration import Calibration
from answerkey.reports.charts.style import BLUE, GREY, RED, Spec, layer, number, over, titled


def reliability_chart(c: Calibration) -> Spec:
    """Bins with Wilson intervals; for a metric that can be read as a probability, with the diagonal."""
    values: list[Spec] = []
    for b in c.reliability.bins:
        low, high = (b.interval.low, b.interval.high) if b.interval else (b.share, b.share)
        values.append({"value": b.mean_value, "share": b.share, "low": low, "high": high, "n": b.n})
    x = number("value", f"{c.metric} (mean of the bin)", scale={"zero": False})
    y = number("share", "share of label 1", scale={"domain": [0, 1]})
    size = number("n", "answers", scale={"range": [30, 200]})
    layers = [
        layer("rule", {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}, color=BLUE),
        layer("line", {"x": x, "y": y}, color=BLUE),
        layer("point", {"x": x, "y": y, "size": size}),
    ]
    if c.reliability.error is not None:
        start = 0 if c.direction.sign > 0 else 1
        ends = [{"value": 0, "share": start}, {"value": 1, "share": 1 - start}]
        diagonal = layer("line", {"x": x, "y": y}, color=GREY, strokeDash=[4, 4], strokeWidth=1)
        layers.insert(0, over(ends, diagonal))
    if c.threshold is not None:
        layers.append(layer("rule", {"x": {"datum": c.threshold}}, color=RED))
    auroc = "not defined" if c.auroc is None else f"{c.auroc:.3f}"
    subtitle = f"AUROC {auroc}, {c.n} labelled answers; dashed: a perfect probability; red: best threshold"
    body = {"height": 320, "data": {"values": values}, "layer": layers}
    return titled(f"Reliability of {c.metric}", body, subtitle)

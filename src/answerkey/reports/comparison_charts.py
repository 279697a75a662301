"""The two charts of a comparison: cases that moved, and the difference in each metric."""

from __future__ import annotations

from answerkey.comparison.comparison import Comparison
from answerkey.comparison.significance import ALPHA, Difference
from answerkey.reports.chart_style import BLUE, GREY, RED, Spec, add_title, layer, number
from answerkey.reports.chart_style import name as category
from answerkey.text import short_label

_MOST_BARS = 1_500  # more would be thinner than a pixel
_SIGNIFICANT = "p < 0.05 after Holm"
_NOT_SIGNIFICANT = "not significant"


def comparison_charts(comparison: Comparison) -> dict[str, Spec]:
    """Both charts by the name of their file; one with nothing to show is left out."""
    charts = {
        "compare_cases": case_chart(comparison),
        "compare_metrics": difference_chart(comparison),
    }
    return {file: chart for file, chart in charts.items() if chart is not None}


def case_chart(comparison: Comparison) -> Spec | None:
    """Every case that moved as a bar, from the largest loss to the largest gain; None if none."""
    moves = sorted(comparison.moves, key=lambda move: move.diff)
    if not moves:
        return None
    # Every so many bars, spread evenly, so that the shape stays that of all cases.
    step = max(1, -(-len(moves) // _MOST_BARS))
    values = [
        {
            "place": n,
            "case": short_label(move.id),
            "diff": move.diff,
            "moved": "higher" if move.diff > 0 else "lower",
        }
        for n, move in enumerate(moves)
        if n % step == 0
    ]
    colour = category("moved", scale={"domain": ["higher", "lower"], "range": [BLUE, RED]})
    x = {"field": "place", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.1}}
    bars = layer("bar", {"x": x, "y": number("diff", "overall score, B − A"), "color": colour})
    up = sum(move.diff > 0 for move in moves)
    title = f"{up} cases score higher in B, {len(moves) - up} lower, of {comparison.overall.n}"
    return add_title(title, {"height": 240, "data": {"values": values}, **bars})


def difference_chart(comparison: Comparison) -> Spec | None:
    """Differences with 95 % intervals on one scale, better to the right.

    They are divided by the pooled standard deviation.
    """
    figures = dict(comparison.metrics)
    if comparison.overall.n:
        figures = {"overall score": comparison.overall, **figures}
    values = [
        _difference_value(metric, each)
        for metric, each in figures.items()
        if each.d_pooled and each.diff and each.interval is not None
    ]
    if not values:
        return None
    y = category("metric", axis={"labelLimit": 220})
    results = {"domain": [_SIGNIFICANT, _NOT_SIGNIFICANT], "range": [BLUE, GREY]}
    colour = category("result", scale=results)
    low = number("low", "worse  ←  difference in standard deviations  →  better")
    ends = {"x": low, "x2": {"field": "high"}, "y": y, "color": colour}
    layers = [
        layer("rule", {"x": {"datum": 0}}, strokeDash=[4, 4]),
        layer("rule", ends, strokeWidth=2),
        layer("point", {"x": number("d"), "y": y, "color": colour}, filled=True, size=70),
    ]
    body = {"height": {"step": 26}, "data": {"values": values}, "layer": layers}
    return add_title("Difference in each metric with its 95 % interval", body)


def _difference_value(metric: str, figures: Difference) -> Spec:
    diff = figures.diff or 0.0
    unit = abs(diff / (figures.d_pooled or 1.0))
    # The sign turns if less is better, so that better is always to the right.
    if figures.better == "lower":
        unit = -unit
    assert figures.interval is not None
    low, high = sorted((figures.interval.low / unit, figures.interval.high / unit))
    is_significant = figures.p_holm is not None and figures.p_holm < ALPHA
    return {
        "metric": short_label(metric),
        "d": diff / unit,
        "low": low,
        "high": high,
        "result": _SIGNIFICANT if is_significant else _NOT_SIGNIFICANT,
    }

"""The two charts of a comparison: every case that moved, and every metric with its interval."""

from __future__ import annotations

from answerkey.comparison.comparison import Comparison
from answerkey.reports.charts.style import BLUE, GREY, RED, Spec, layer, name, number, titled
from answerkey.text import short_label

_MOST_BARS = 1_500  # more would be thinner than a pixel
_SIGNIFICANT, _NOT_SIGNIFICANT = "p < 0.05 after Holm", "not significant"


def comparison_charts(comparison: Comparison) -> dict[str, Spec]:
    """Both charts by the name of their file; one with nothing to show is left out."""
    charts = {"compare_cases": case_chart(comparison), "compare_metrics": difference_chart(comparison)}
    return {file: chart for file, chart in charts.items() if chart is not None}


def case_chart(comparison: Comparison) -> Spec | None:
    """Every case that moved as a bar, from the largest loss to the largest gain; None where none moved."""
    moves = sorted(comparison.moves, key=lambda move: move.diff)
    if not moves:
        return None
    step = max(1, -(-len(moves) // _MOST_BARS))
    values = [
        {"place": n, "case": short_label(move.id), "diff": move.diff, "moved": "higher" if move.diff > 0 else "lower"}
        for n, move in enumerate(moves)
        if n % step == 0
    ]
    colour = name("moved", scale={"domain": ["higher", "lower"], "range": [BLUE, RED]})
    x = {"field": "place", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.1}}
    bars = layer("bar", {"x": x, "y": number("diff", "overall score, B − A"), "color": colour})
    up = sum(move.diff > 0 for move in moves)
    title = f"{up} cases score higher in B, {len(moves) - up} lower, of {comparison.overall.n}"
    return titled(title, {"height": 240, "data": {"values": values}, **bars})


def difference_chart(comparison: Comparison) -> Spec | None:
    """Differences with 95 % intervals on one scale: divided by the pooled standard deviation, better to the right."""
    named = {"overall score": comparison.overall} if comparison.overall.n else {}
    values: list[Spec] = []
    for metric, d in {**named, **comparison.metrics}.items():
        if not d.d_pooled or not d.diff or d.interval is None:
            continue
        unit = abs(d.diff / d.d_pooled) * (-1 if d.better == "lower" else 1)
        low, high = sorted((d.interval.low / unit, d.interval.high / unit))
        significant = d.p_holm is not None and d.p_holm < 0.05
        result = _SIGNIFICANT if significant else _NOT_SIGNIFICANT
        values.append({"metric": short_label(metric), "d": d.diff / unit, "low": low, "high": high, "result": result})
    if not values:
        return None
    y = name("metric", axis={"labelLimit": 220})
    colour = name("result", scale={"domain": [_SIGNIFICANT, _NOT_SIGNIFICANT], "range": [BLUE, GREY]})
    low = number("low", "worse  ←  difference in standard deviations  →  better")
    zero = layer("rule", {"x": {"datum": 0}}, strokeDash=[4, 4])
    rule = layer("rule", {"x": low, "x2": {"field": "high"}, "y": y, "color": colour}, strokeWidth=2)
    dot = layer("point", {"x": number("d"), "y": y, "color": colour}, filled=True, size=70)
    body = {"height": {"step": 26}, "data": {"values": values}, "layer": [zero, rule, dot]}
    return titled("Difference in each metric with its 95 % interval", body)

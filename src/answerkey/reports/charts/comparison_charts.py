"""The two pictures of a comparison: every case that moved, and every metric with its interval."""

from __future__ import annotations

from answerkey.comparison.comparison import Comparison
from answerkey.reports.charts.style import BLUE, GREY, RED, Spec, titled

_MOST_BARS = 1_500  # more would be thinner than a pixel


def case_chart(comparison: Comparison) -> Spec | None:
    """Every case that moved as a bar, largest loss to largest gain; None where none did."""
    moves = sorted(comparison.moves, key=lambda move: move.diff)
    if not moves:
        return None
    step = max(1, -(-len(moves) // _MOST_BARS))
    values = [
        {"place": n, "case": move.id, "diff": move.diff, "moved": "higher" if move.diff > 0 else "lower"}
        for n, move in enumerate(moves)
        if n % step == 0
    ]
    colour = {
        "field": "moved",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["higher", "lower"], "range": [BLUE, RED]},
    }
    x = {"field": "place", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.1}}
    y = {"field": "diff", "type": "quantitative", "title": "overall score, B − A"}
    up = sum(move.diff > 0 for move in moves)
    title = f"{up} cases score higher in B, {len(moves) - up} lower, of {comparison.overall.n}"
    bars = {"mark": "bar", "encoding": {"x": x, "y": y, "color": colour}}
    return titled(title, {"height": 240, "data": {"values": values}, **bars})


def metric_chart(comparison: Comparison) -> Spec | None:
    """Differences with 95 % intervals on one scale: divided by the pooled standard deviation, better to the right."""
    named = {"overall score": comparison.overall} if comparison.overall.n else {}
    values: list[Spec] = []
    for name, d in {**named, **comparison.metrics}.items():
        if not d.d_pooled or not d.diff or d.interval is None:
            continue
        unit = abs(d.diff / d.d_pooled) * (-1 if d.better == "lower" else 1)
        corrected = d.p_holm if d.p_holm is not None else 1.0
        ends = sorted((d.interval.low / unit, d.interval.high / unit))
        sure = "p < 0.05 after Holm" if corrected < 0.05 else "not significant"
        values.append({"metric": name, "d": d.diff / unit, "low": ends[0], "high": ends[1], "sure": sure})
    if not values:
        return None
    y = {"field": "metric", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    colour = {
        "field": "sure",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["p < 0.05 after Holm", "not significant"], "range": [BLUE, GREY]},
    }
    x = {
        "field": "low",
        "type": "quantitative",
        "title": "worse  ←  difference in standard deviations  →  better",
    }
    zero = {"mark": {"type": "rule", "strokeDash": [4, 4]}, "encoding": {"x": {"datum": 0}}}
    rule = {
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": x, "x2": {"field": "high"}, "y": y, "color": colour},
    }
    dot = {
        "mark": {"type": "point", "filled": True, "size": 70},
        "encoding": {"x": {"field": "d", "type": "quantitative"}, "y": y, "color": colour},
    }
    body = {"height": {"step": 26}, "data": {"values": values}, "layer": [zero, rule, dot]}
    return titled("Each metric with its 95 % interval", body)

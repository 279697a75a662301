"""The five charts of a sweep."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from answerkey.experiments.grid import METRICS, NAMED
from answerkey.experiments.sweep import Sweep
from answerkey.experiments.sweep_statistics import best_method, best_setting, intervals
from answerkey.reports.charts.style import BLUE, LIGHT, RED, SERIES, png, svg

BEST, OTHERS, QUIET, GRID = RED, BLUE, LIGHT["muted"], LIGHT["line"]
SEQUENTIAL = ("#f3f7fb", "#0b3a66")  # light to dark: reads in grey too


def headed(chart: Any, finding: str, details: str = "", width: int = 90) -> Any:
    """The chart under a title that says what it shows, and a subtitle that says how it was made."""
    below = textwrap.wrap(details, int(width * 1.2)) if details else []
    return chart.properties(title=alt.TitleParams(text=textwrap.wrap(finding, width) or [""], subtitle=below))


def values(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def colour_scale(names: Sequence[str]) -> alt.Scale:
    """A colour for each name, in order; after the last they come again."""
    return alt.Scale(domain=list(names), range=[SERIES[n % len(SERIES)] for n in range(len(names))])


def save_png(chart: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    spec = chart.to_dict()
    spec.pop("config", None)  # altair's own defaults would hide the shared look
    path.write_bytes(png(svg(spec)))


FILES = (
    "1_retrieval_methods_comparison.png",
    "2_alpha_sensitivity.png",
    "3_topk_analysis.png",
    "4_comprehensive_comparison.png",
    "5_radar_chart.png",
)
_LABELS = {
    "precision": "Precision", "recall": "Recall", "f1": "F1", "mrr": "MRR",
    "hit_rate": "Hit rate", "ndcg": "nDCG", "map": "MAP",
}  # fmt: skip
_CURVES = ("recall", "ndcg", "f1", "precision")


def draw_sweep(sweep: Sweep, folder: Path) -> None:
    """All five, into `folder`."""
    charts = (methods_chart, alpha_chart, topk_chart, grid_chart, radar_chart)
    for name, chart in zip(FILES, charts, strict=True):
        save_png(chart(sweep), folder / name)


def methods_chart(sweep: Sweep) -> Any:
    """Every method at the standard K, a column a metric, best first."""
    k = sweep.ks[sweep.standard]
    rows = method_rows(sweep)
    best = best_method(sweep).winner[0]
    points = [point for metric in METRICS for point in _points(sweep, rows, [sweep.standard], metric)]
    order = [
        sweep.variants[row].name for row in sorted(rows, key=lambda row: -sweep.mean()[row, sweep.standard])
    ]
    for point in points:
        point["best"] = point["variant"] == best
    base = alt.Chart(values(points)).encode(
        y=alt.Y("setting:N", sort=order, title=None, axis=alt.Axis(grid=True, ticks=False, domain=False)),
        color=alt.condition("datum.best", alt.value(BEST), alt.value(OTHERS)),
    )
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=None, axis=alt.Axis(tickCount=3, format=".2~f"), scale=alt.Scale(zero=True)),
        x2="high:Q",
    )
    dots = base.mark_circle(size=80, opacity=1).encode(x="mean:Q")
    text = base.mark_text(dy=-10, fontSize=11).encode(x="mean:Q", text=alt.Text("mean:Q", format=".3f"))
    panel = alt.layer(bars, dots, text).properties(width=118, height=46 * len(order))
    whole = panel.facet(
        column=alt.Column(
            "metric:N", sort=[_LABELS["f1"], *(_LABELS[m] for m in METRICS if m != "f1")], title=None
        ),
        spacing=14,
    ).resolve_scale(x="independent")
    return headed(
        whole,
        _capital(best_method(sweep).sentence),
        f"Mean at K = {k} with 95 % interval. {_scope(sweep)}",
        110,
    )


def alpha_chart(sweep: Sweep) -> Any:
    """Four metrics over α at the standard K, the best α marked."""
    rows, k = sweep.alpha_rows(), sweep.ks[sweep.standard]
    best = best_setting(sweep, rows, [sweep.standard])
    alpha = sweep.variants[best.winner[0]].alpha
    points = [point for metric in _CURVES for point in _points(sweep, rows, [sweep.standard], metric)]
    axis = alt.Axis(values=sorted({point["alpha"] for point in points}), format="~g", grid=False)
    chart = _curves(
        points, alt.X("alpha:Q", title="α   (0 = BM25 alone, 1 = dense alone)", axis=axis), "alpha"
    )
    rule = alt.Chart(values([{"alpha": alpha, "text": f"best F1 {best.f1:.3f} at α = {alpha:g}"}]))
    line = rule.mark_rule(strokeDash=[5, 4], color=QUIET).encode(x="alpha:Q")
    label = rule.mark_text(align="left", dx=5, color=QUIET, baseline="bottom").encode(
        x="alpha:Q", y=alt.value(354), text="text:N"
    )
    return headed(
        line + chart + label,
        _capital(best.sentence),
        f"Mean at K = {k}; bands are 95 % intervals. {_scope(sweep)}",
    )


def topk_chart(sweep: Sweep) -> Any:
    """Four metrics over K at the best α: what more passages buy."""
    row = sweep.best_alpha()
    columns = [n for n, k in enumerate(sweep.ks) if k in sweep.asked_ks]
    points = [point for metric in _CURVES for point in _points(sweep, [row], columns, metric)]
    axis = alt.Axis(values=[sweep.ks[n] for n in columns], grid=False)
    chart = _curves(
        points, alt.X("k:Q", title="K   (pages retrieved)", axis=axis, scale=alt.Scale(zero=False)), "k"
    )
    first, last, recall = columns[0], columns[-1], METRICS.index("recall")
    means = sweep.values[row][:, sweep.labelled, recall].mean(axis=1)
    best = best_setting(sweep, [row], columns)
    finding = (
        f"From K = {sweep.ks[first]} to {sweep.ks[last]} recall goes from {means[first]:.2f} to {means[last]:.2f}; "
        f"F1 is highest at K = {sweep.ks[best.winner[1]]} ({best.f1:.3f})"
    )
    return headed(
        chart,
        finding,
        f"Mean at α = {sweep.variants[row].alpha:g}; bands are 95 % intervals. {_scope(sweep)}",
    )


def grid_chart(sweep: Sweep) -> Any:
    """F1 and nDCG of every α and K, the best cell of each outlined."""
    return headed(
        alt.hconcat(*(_heat(sweep, metric) for metric in ("f1", "ndcg")), spacing=40).resolve_scale(
            color="independent"
        ),
        f"Over every α and K: {best_setting(sweep).sentence}",
        f"Mean of each setting; the best cell is outlined. {_scope(sweep)}",
        110,
    )


def radar_chart(sweep: Sweep) -> Any:
    """The methods over all metrics at the standard K."""
    rows = method_rows(sweep)
    shapes = {
        sweep.variants[row].name: [
            float(sweep.values[row, sweep.standard][sweep.labelled, m].mean()) for m in range(len(METRICS))
        ]
        for row in rows
    }
    spread = [
        max(shape[m] for shape in shapes.values()) - min(shape[m] for shape in shapes.values())
        for m in range(len(METRICS))
    ]
    widest = max(range(len(METRICS)), key=lambda m: spread[m])
    finding = f"The methods differ most in {_LABELS[METRICS[widest]]}: by {spread[widest]:.2f} between the best and the worst"
    chart = radar([_LABELS[name] for name in METRICS], shapes)
    return headed(chart, finding, f"Mean at K = {sweep.ks[sweep.standard]}. {_scope(sweep)}", 80)


def method_rows(sweep: Sweep) -> list[int]:
    return [n for n, v in enumerate(sweep.variants) if v.name in NAMED or v.alpha is None or v.stage]


def _curves(points: list[dict[str, Any]], x: alt.X, field: str) -> Any:
    """A line with a band for each metric, named at its right end."""
    names = [_LABELS[name] for name in _CURVES]
    colour = alt.Color("metric:N", scale=colour_scale(names), legend=None)
    base = alt.Chart(values(points)).encode(x=x, color=colour)
    top = _top(points)
    y = alt.Y("mean:Q", title="mean over queries", scale=alt.Scale(domain=[0, top], nice=top != 1.0))
    band = base.mark_area(opacity=0.13).encode(y=alt.Y("low:Q", title="mean over queries"), y2="high:Q")
    line = base.mark_line(strokeWidth=2.5, point=alt.OverlayMarkDef(size=45)).encode(y=y)
    last = max(point[field] for point in points)
    ends = spread_labels([point for point in points if point[field] == last], top)
    names_at_end = alt.Chart(values(ends)).mark_text(align="left", dx=10, fontWeight=600).encode(
        x=x, y="label_y:Q", text="label:N", color=colour
    )  # fmt: skip
    return alt.layer(band, line, names_at_end).properties(width=620, height=360)


def _top(points: Sequence[dict[str, Any]]) -> float:
    """Where the axis ends: at 1 for high values within 0..1, else at the highest."""
    highest = round(max(point["high"] for point in points), 9)
    return 1.0 if 0.5 < highest <= 1.0 else highest or 1.0


def spread_labels(ends: Sequence[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """Labels at the end of each line, moved apart where the lines end close together; none above the axis' top."""
    gap = 0.05 * top
    placed: list[dict[str, Any]] = []
    for point in sorted(ends, key=lambda point: point["mean"]):
        lowest = placed[-1]["label_y"] + gap if placed else 0.0
        label = f"{point['metric']} {point['mean']:.3f}"
        placed.append({**point, "label_y": max(point["mean"], lowest), "label": label})
    highest = top
    for point in reversed(placed):
        point["label_y"] = min(point["label_y"], highest)
        highest = point["label_y"] - gap
    return placed


def _heat(sweep: Sweep, metric: str) -> Any:
    rows = [n for n, v in enumerate(sweep.variants) if v.alpha is not None and not v.stage]
    points = _points(sweep, rows, list(range(len(sweep.ks))), metric, with_interval=False)
    best, middle = (
        max(p["mean"] for p in points),
        sum(sorted(p["mean"] for p in points)[i] for i in (0, -1)) / 2,
    )
    base = alt.Chart(values(points)).encode(
        x=alt.X("k:O", title="K", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("alpha:O", title="α", sort="descending"),
    )
    colour = alt.Color("mean:Q", legend=None, scale=alt.Scale(range=list(SEQUENTIAL), zero=False))
    ink = alt.condition(f"datum.mean > {middle}", alt.value("white"), alt.value("#222222"))
    cells = base.mark_rect().encode(color=colour)
    text = base.mark_text(fontSize=11).encode(text=alt.Text("mean:Q", format=".3f"), color=ink)
    outline = base.transform_filter(f"datum.mean >= {best}").mark_rect(
        filled=False, stroke=BEST, strokeWidth=3
    )
    return alt.layer(cells, text, outline).properties(
        width=52 * len(sweep.ks),
        height=30 * len(rows),
        title=alt.TitleParams(f"{_LABELS[metric]}@K", anchor="start", fontSize=14),
    )


def _points(
    sweep: Sweep, rows: Sequence[int], columns: Sequence[int], metric: str, with_interval: bool = True
) -> list[dict[str, Any]]:
    """One point a setting: mean, and its 95 % interval where there are two queries or more."""
    number = METRICS.index(metric)
    places = [(row, column) for row in rows for column in columns]
    table = sweep.values[:, :, sweep.labelled, number]
    ends = (
        intervals(table[tuple(zip(*places, strict=True))].T) if with_interval and table.shape[2] > 1 else None
    )
    found: list[dict[str, Any]] = []
    for n, (row, column) in enumerate(places):
        mean = float(table[row, column].mean())
        low, high = (float(end) for end in ends[n]) if ends is not None else (mean, mean)
        variant = sweep.variants[row]
        found.append(
            {"setting": variant.name, "variant": row, "alpha": variant.alpha, "k": sweep.ks[column],
             "metric": _LABELS[metric], "mean": mean, "low": low, "high": high}
        )  # fmt: skip
    return found


def _scope(sweep: Sweep) -> str:
    searched = f"{sweep.facts.get('source', '')}, {sweep.facts.get('pages', 0)} pages"
    return f"{int(sweep.labelled.sum())} of {len(sweep.cases)} queries scored; {searched}."


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def radar(axes: Sequence[str], shapes: Mapping[str, Sequence[float]]) -> Any:
    """A polygon for each shape over axes from 0 to the next ring above the largest value."""
    largest = max(max(shape) for shape in shapes.values())
    step = 0.2 if largest > 0.5 else 0.1
    count = max(1, math.ceil(largest / step - 1e-9))
    rings = [round(step * n, 2) for n in range(1, count + 1)]
    top = rings[-1]
    limit = top * 1.2
    scale = alt.Scale(domain=[-limit, limit])
    x, y = (alt.X("x:Q", axis=None, scale=scale), alt.Y("y:Q", axis=None, scale=scale))
    grid = [
        _corner(axes, n % len(axes), ring, {"ring": ring, "n": n})
        for ring in rings
        for n in range(len(axes) + 1)
    ]
    spokes = [point for n in range(len(axes)) for point in (
        {"x": 0.0, "y": 0.0, "axis": n, "n": 0}, _corner(axes, n, top, {"axis": n, "n": 1}))]  # fmt: skip
    names = [_corner(axes, n, top * 1.13, {"text": name}) for n, name in enumerate(axes)]
    marks = [{"x": 0.0, "y": ring, "text": f"{ring:g}"} for ring in rings]
    outline = [
        _corner(axes, n % len(axes), shape[n % len(axes)], {"shape": name, "n": n})
        for name, shape in shapes.items()
        for n in range(len(axes) + 1)
    ]
    colour = alt.Color(
        "shape:N",
        scale=colour_scale(list(shapes)),
        legend=alt.Legend(title=None, orient="right", symbolType="stroke", symbolStrokeWidth=4),
    )
    dash = alt.StrokeDash(
        "shape:N", legend=None, scale=alt.Scale(domain=list(shapes), range=_dashes(len(shapes)))
    )
    layers = (
        alt.Chart(values(grid)).mark_line(color=GRID, strokeWidth=1).encode(x=x, y=y, detail="ring:N", order="n:O"),
        alt.Chart(values(spokes)).mark_line(color=GRID, strokeWidth=1).encode(x=x, y=y, detail="axis:N", order="n:O"),
        alt.Chart(values(marks)).mark_text(color=QUIET, fontSize=10, dx=4, align="left", dy=-5).encode(x=x, y=y, text="text:N"),
        alt.Chart(values(outline)).mark_line(strokeWidth=2.4, point=alt.OverlayMarkDef(size=36)).encode(
            x=x, y=y, color=colour, strokeDash=dash, order="n:O"),
        alt.Chart(values(names)).mark_text(fontSize=13, fontWeight=600).encode(x=x, y=y, text="text:N"),
    )  # fmt: skip
    return alt.layer(*layers).properties(width=520, height=520)


def _corner(axes: Sequence[str], number: int, radius: float, more: dict[str, Any]) -> dict[str, Any]:
    angle = math.pi / 2 - 2 * math.pi * number / len(axes)  # the first axis points up, the rest go clockwise
    return {"x": radius * math.cos(angle), "y": radius * math.sin(angle), **more}


def _dashes(count: int) -> list[list[int]]:
    styles = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [3, 5]]
    return [styles[n % len(styles)] for n in range(count)]

"""The five charts of a sweep, as Vega-Lite specs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

from answerkey.experiments.choice import Conclusions, setting_name
from answerkey.experiments.plan import METRICS
from answerkey.experiments.sweep import Setting, Sweep
from answerkey.experiments.sweep_files import mean_intervals
from answerkey.reports.chart_style import BLUE, GREY, RED, SERIES, Spec, layer, name, number, over
from answerkey.retrieval.recorded_figures import LongTable
from answerkey.text import capitalise

METRIC_LABELS = {
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "mrr": "MRR",
    "hit_rate": "Hit rate",
    "ndcg": "nDCG",
    "map": "MAP",
}
ALPHA_CHART = "2_alpha_sensitivity"
TOPK_CHART = "3_topk_analysis"
_CURVES = ("hit_rate", "recall", "mrr", "ndcg", "f1", "precision")
_ALPHA_TITLE = "α   (0 = BM25 alone, 1 = dense alone)"
_K_TITLE = "K   (pages retrieved)"
_VISIBLE = 0.01  # lines of a radar that are closer lie on each other
_SEQUENTIAL = ["#f3f7fb", "#0b3a66"]  # light to dark: readable in grey too
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [3, 5])


def sweep_charts(sweep: Sweep, conclusions: Conclusions) -> dict[str, Spec]:
    """Every chart by the name of its file, in reading order.

    A chart that would show nothing is left out: α where none is known, a radar of equal lines.
    """
    charts = {"1_retrieval_methods_comparison": methods_chart(sweep, conclusions)}
    has_alphas = any(
        sweep.variants[row].alpha is not None for row in sweep.alpha_rows(conclusions.setup)
    )
    if has_alphas:
        charts[ALPHA_CHART] = alpha_chart(sweep, conclusions)
    charts[TOPK_CHART] = topk_chart(sweep, conclusions)
    if has_alphas:
        charts["4_comprehensive_comparison"] = grid_chart(sweep, conclusions)
    radar = radar_chart(sweep, conclusions)
    if radar:
        charts["5_radar_chart"] = radar
    if conclusions.setups:
        charts["6_chunking_and_models"] = setups_chart(sweep, conclusions)
    return charts


def methods_chart(sweep: Sweep, conclusions: Conclusions) -> Spec:
    """Every method at the main K, one column per metric, best first."""
    rows = sweep.method_rows(conclusions.setup)
    best = conclusions.method
    points = _points_of_metrics(sweep, [(row, sweep.main) for row in rows], METRICS)
    for point in points:
        point["best"] = point["variant"] == best.winner[0]
    chosen = sweep.chosen[:, sweep.main][:, sweep.labelled].mean(axis=1)
    order = [sweep.variants[row].name for row in sorted(rows, key=lambda row: -chosen[row])]
    first = sweep.plan.select[0]
    columns = [first, *(metric for metric in METRICS if metric != first)]
    labels = [METRIC_LABELS[metric] for metric in columns]
    spec = {
        "data": {"values": points},
        "facet": {"column": {**name("metric"), "sort": labels}},
        "spacing": 14,
        "spec": _intervals_panel(order, 118),
        "resolve": {"scale": {"x": "independent"}},
    }
    details = f"Mean at K = {sweep.ks[sweep.main]} with 95 % interval. {_scope(sweep)}"
    return _add_heading(spec, "Retrieval methods", best.sentence, details, 110)


def _intervals_panel(order: Sequence[str], width: int) -> Spec:
    """A row per setting: its mean as a point, its interval as a line; the best one in red."""
    axis = {"grid": True, "ticks": False, "domain": False}
    y = {**name("setting", axis=axis), "sort": list(order)}
    colour = {"condition": {"test": "datum.best", "value": RED}, "value": BLUE}
    low = {**number("low", axis={"tickCount": 3, "format": ".2~f"}), "title": None}
    mean = number("mean")
    text = number("mean", format=".3f")
    line = {"x": low, "x2": {"field": "high"}, "y": y, "color": colour}
    label = {"x": mean, "y": y, "color": colour, "text": text}
    return {
        "width": width,
        "height": 46 * len(order),
        "layer": [
            layer("rule", line, strokeWidth=2),
            layer("circle", {"x": mean, "y": y, "color": colour}, size=80, opacity=1),
            layer("text", label, dy=-10, fontSize=11),
        ],
    }


def setups_chart(sweep: Sweep, conclusions: Conclusions) -> Spec:
    """The best setting of every chunking and model, by the metric that chooses."""
    points: list[Spec] = []
    for setup, best in enumerate(conclusions.setups):
        values = sweep.chosen[best.winner][sweep.labelled]
        low = best.value
        high = best.value
        if len(values) > 1:
            low, high = (float(end) for end in mean_intervals(values[:, None])[0])
        points.append(
            {
                "setting": sweep.setup_name(setup),
                "mean": best.value,
                "low": low,
                "high": high,
                "best": setup == conclusions.setup,
            }
        )
    order = [point["setting"] for point in sorted(points, key=lambda point: -point["mean"])]
    spec = {"data": {"values": points}, **_intervals_panel(order, 420)}
    details = (
        f"Best {sweep.plan.select_name} of each chunking and model, with 95 % interval. "
        f"{_scope(sweep)}"
    )
    return _add_heading(spec, "Chunking and models", conclusions.best.sentence, details)


def alpha_chart(sweep: Sweep, conclusions: Conclusions) -> Spec:
    """Six metrics over α at the main K, the best α marked."""
    best = conclusions.alpha
    alpha = sweep.variants[best.winner[0]].alpha
    rows = [
        row for row in sweep.alpha_rows(conclusions.setup) if sweep.variants[row].alpha is not None
    ]
    points = _points_of_metrics(sweep, [(row, sweep.main) for row in rows], _CURVES)
    curves = _curves(points, _alpha_axis(points))
    if alpha is not None:
        text = f"best {sweep.plan.select_name} {best.value:.3f} at α = {alpha:g}"
        _mark_alpha(curves, alpha, text)
    details = f"Mean at K = {sweep.ks[sweep.main]}; bands are 95 % intervals. {_scope(sweep)}"
    return _add_heading(curves, "Weight of dense search, α", best.sentence, details)


def _alpha_axis(points: Sequence[Spec]) -> Spec:
    axis = {"format": "~g", "grid": False, "values": sorted({point["alpha"] for point in points})}
    return number("alpha", _ALPHA_TITLE, axis=axis)


def _mark_alpha(curves: Spec, alpha: float, text: str) -> None:
    """Add a dashed line at this α, with a text beside it."""
    note = {"values": [{"alpha": alpha, "text": text}]}
    at = number("alpha")
    line = layer("rule", {"x": at}, strokeDash=[5, 4], color=GREY)
    encoding = {"x": at, "y": {"value": 354}, "text": {"field": "text"}}
    label = layer("text", encoding, align="left", dx=5, color=GREY, baseline="bottom")
    curves["layer"] = [{"data": note, **line}, *curves["layer"], {"data": note, **label}]


def topk_chart(sweep: Sweep, conclusions: Conclusions) -> Spec:
    """Six metrics over K at one α: the gain from retrieving more passages."""
    row = sweep.topk[conclusions.setup]
    points = _points_of_metrics(sweep, sweep.topk_settings(conclusions.setup), _CURVES)
    curves = _curves(points, _k_axis(points))
    setting = setting_name(sweep, (row, 0), with_k=False)
    details = f"Mean at {setting}; bands are 95 % intervals. {_scope(sweep)}"
    return _add_heading(curves, "Number of passages, K", conclusions.topk.sentence, details)


def _k_axis(points: Sequence[Spec]) -> Spec:
    axis = {"values": sorted({point["k"] for point in points}), "grid": False}
    return number("k", _K_TITLE, axis=axis, scale={"zero": False})


def grid_chart(sweep: Sweep, conclusions: Conclusions) -> Spec:
    """The metric that chooses and F1 of every α and K, the best cell of each outlined."""
    rows = {
        row
        for row, variant in enumerate(sweep.variants)
        if variant.setup == conclusions.setup and variant.alpha is not None and not variant.stage
    }
    places = [place for place in sweep.places if place[0] in rows]
    first = sweep.plan.select[0]
    second = "ndcg" if first == "f1" else "f1"
    panels = [_grid_panel(sweep, places, metric) for metric in (first, second)]
    spec = {"hconcat": panels, "spacing": 40, "resolve": {"scale": {"color": "independent"}}}
    details = f"Mean of each setting; the best cell is outlined. {_scope(sweep)}"
    return _add_heading(spec, "Every α and K", conclusions.best.sentence, details, 110)


def _grid_panel(sweep: Sweep, places: Sequence[Setting], metric: str) -> Spec:
    points = _points(sweep, places, metric, with_interval=False)
    means = sorted(point["mean"] for point in points)
    middle = (means[0] + means[-1]) / 2
    x = {"field": "k", "type": "ordinal", "title": "K", "axis": {"labelAngle": 0}}
    y = {"field": "alpha", "type": "ordinal", "title": "α", "sort": "descending"}
    colour = number("mean", legend=None, scale={"range": _SEQUENTIAL, "zero": False})
    # White text on dark cells, dark text on light ones.
    ink = {"condition": {"test": f"datum.mean > {middle}", "value": "white"}, "value": "#222222"}
    text = {"x": x, "y": y, "text": number("mean", format=".3f"), "color": ink}
    outline = layer("rect", {"x": x, "y": y}, filled=False, stroke=RED, strokeWidth=3)
    return {
        "title": {"text": f"{METRIC_LABELS[metric]}@K", "anchor": "start", "fontSize": 14},
        "width": 52 * len(sweep.ks),
        "height": 30 * len({row for row, _ in places}),
        "data": {"values": points},
        "layer": [
            layer("rect", {"x": x, "y": y, "color": colour}),
            layer("text", text, fontSize=11),
            {"transform": [{"filter": f"datum.mean >= {means[-1]}"}], **outline},
        ],
    }


def radar_chart(sweep: Sweep, conclusions: Conclusions) -> Spec | None:
    """The methods over all metrics at the main K; None where their lines lie on each other."""
    means = sweep.values[:, sweep.main][:, sweep.labelled].mean(axis=1)
    shapes = {
        sweep.variants[row].name: [float(mean) for mean in means[row]]
        for row in sweep.method_rows(conclusions.setup)
    }
    spread = [max(axis) - min(axis) for axis in zip(*shapes.values(), strict=True)]
    if max(spread) < _VISIBLE:
        return None
    widest = max(range(len(METRICS)), key=lambda number: spread[number])
    label = METRIC_LABELS[METRICS[widest]]
    finding = (
        f"The methods differ most in {label}: "
        f"by {spread[widest]:.2f} between the best and the worst"
    )
    details = f"Mean at K = {sweep.ks[sweep.main]}. {_scope(sweep)}"
    radar = _radar([METRIC_LABELS[metric] for metric in METRICS], shapes)
    return _add_heading(radar, "All metrics", finding, details, 80)


def chart_long_table(table: LongTable, source: str) -> tuple[str, Spec]:
    """The chart of an earlier experiment's table of means, and the name of its file."""
    points: list[Spec] = []
    for metric, values in table.values.items():
        for at, mean in values:
            label = METRIC_LABELS.get(metric, metric)
            point = {table.parameter: at, "metric": label, "mean": mean}
            points.append({**point, "low": mean, "high": mean})
    details = f"Means as recorded in {source}; the file has no queries, so there are no intervals."
    finding = best_of_long_table(table)
    if table.parameter == "alpha":
        curves = _curves(points, _alpha_axis(points))
        return ALPHA_CHART, _add_heading(curves, "Weight of dense search, α", finding, details)
    curves = _curves(points, _k_axis(points))
    return TOPK_CHART, _add_heading(curves, "Number of passages, K", finding, details)


def best_of_long_table(table: LongTable) -> str:
    """The best parameter of each metric, in a sentence."""
    symbol = "α" if table.parameter == "alpha" else "K"
    best = [
        f"{metric} {mean:.4f} at {symbol} = {at:g}"
        for metric, values in table.values.items()
        for at, mean in [max(values, key=lambda point: point[1])]
    ]
    return f"best recorded: {', '.join(best)}"


def _add_heading(spec: Spec, title: str, finding: str, details: str, width: int = 90) -> Spec:
    """The chart under a short title; its subtitle states the finding, then how it was made."""
    # The lines are for plots/*.png; a page joins them and wraps them to the width of its card.
    characters = int(width * 1.2)
    subtitle = [
        *textwrap.wrap(f"{capitalise(finding)}.", characters),
        *textwrap.wrap(details, characters),
    ]
    return {"title": {"text": title, "subtitle": subtitle}, **spec}


def _colour_scale(names: Sequence[str]) -> Spec:
    return {"domain": list(names), "range": [SERIES[n % len(SERIES)] for n in range(len(names))]}


def _curves(points: list[Spec], x: Spec) -> Spec:
    """A line with a band per metric, labelled at its right end."""
    shown = {point["metric"] for point in points}
    usual = [METRIC_LABELS[metric] for metric in _CURVES if METRIC_LABELS[metric] in shown]
    names = [*usual, *sorted(shown.difference(usual))]
    colour = {**name("metric", scale=_colour_scale(names)), "legend": None}
    highest = round(max(point["high"] for point in points), 9)
    # The axis ends at 1 for high values within 0..1.
    if 0.5 < highest <= 1.0:
        top = 1.0
    else:
        top = highest or 1.0
    title = "mean over queries"
    y = number("mean", title, scale={"domain": [0, top], "nice": top != 1.0})
    band = {"x": x, "y": number("low", title), "y2": {"field": "high"}, "color": colour}
    last = max(point[x["field"]] for point in points)
    ends = spread_labels([point for point in points if point[x["field"]] == last], top)
    label = {"x": x, "y": number("label_y"), "text": {"field": "label"}, "color": colour}
    layers = [
        layer("area", band, opacity=0.13),
        layer("line", {"x": x, "y": y, "color": colour}, strokeWidth=2.5, point={"size": 45}),
        over(ends, layer("text", label, align="left", dx=10, fontWeight=600)),
    ]
    return {"data": {"values": points}, "width": 620, "height": 360, "layer": layers}


def spread_labels(ends: Sequence[Spec], top: float) -> list[Spec]:
    """Labels at the end of each line, moved apart where lines end close together, below the top."""
    gap = 0.05 * top
    placed: list[Spec] = []
    for point in sorted(ends, key=lambda point: point["mean"]):
        if placed:
            lowest = placed[-1]["label_y"] + gap
        else:
            lowest = 0.0
        label = f"{point['metric']} {point['mean']:.3f}"
        placed.append({**point, "label_y": max(point["mean"], lowest), "label": label})
    highest = top
    # A second pass from the top: labels that were pushed up must not leave the chart.
    for point in reversed(placed):
        point["label_y"] = min(point["label_y"], highest)
        highest = point["label_y"] - gap
    return placed


def _points_of_metrics(
    sweep: Sweep, places: Sequence[Setting], metrics: Sequence[str]
) -> list[Spec]:
    return [point for metric in metrics for point in _points(sweep, places, metric)]


def _points(
    sweep: Sweep, places: Sequence[Setting], metric: str, with_interval: bool = True
) -> list[Spec]:
    """One point per setting: its mean, and its 95 % interval where there are two queries."""
    table = sweep.values[:, :, sweep.labelled, METRICS.index(metric)]
    intervals = None
    if with_interval and table.shape[2] > 1:
        intervals = mean_intervals(table[tuple(zip(*places, strict=True))].T)
    points: list[Spec] = []
    for n, (row, column) in enumerate(places):
        mean = float(table[row, column].mean())
        variant = sweep.variants[row]
        points.append(
            {
                "setting": variant.name,
                "variant": row,
                "alpha": variant.alpha,
                "k": sweep.ks[column],
                "metric": METRIC_LABELS[metric],
                "mean": mean,
                "low": mean if intervals is None else float(intervals[n][0]),
                "high": mean if intervals is None else float(intervals[n][1]),
            }
        )
    return points


def _radar(axes: Sequence[str], shapes: Mapping[str, Sequence[float]]) -> Spec:
    """A polygon per shape over axes from 0 to the next ring above the largest value.

    Vega-Lite has no radar chart: the rings and axes are lines too.
    """
    largest = max(max(shape) for shape in shapes.values())
    step = 0.2 if largest > 0.5 else 0.1
    # Without the small number a mean of 0.6000000000000001 would add a fourth ring.
    count = max(1, math.ceil(largest / step - 1e-9))
    rings = [round(step * n, 2) for n in range(1, count + 1)]
    top = rings[-1]
    # One more than the axes: the last corner closes the polygon.
    around = range(len(axes) + 1)

    def corner(n: int, radius: float, **more: object) -> Spec:
        # The first axis points up, the rest go clockwise.
        angle = math.pi / 2 - 2 * math.pi * n / len(axes)
        return {"x": radius * math.cos(angle), "y": radius * math.sin(angle), "n": n, **more}

    grid = [corner(n, ring, line=f"ring {ring}") for ring in rings for n in around]
    for n in range(len(axes)):
        grid += [corner(n, 0.0, line=f"axis {n}"), corner(n, top, line=f"axis {n}")]
    outline = [
        corner(n, shape[n % len(axes)], shape=key) for key, shape in shapes.items() for n in around
    ]
    labels = [corner(n, top * 1.13, text=text) for n, text in enumerate(axes)]
    marks = [{"x": 0.0, "y": ring, "text": f"{ring:g}"} for ring in rings]
    scale = {"domain": [-top * 1.2, top * 1.2]}
    at = {"x": number("x", axis=None, scale=scale), "y": number("y", axis=None, scale=scale)}
    order = {"field": "n", "type": "ordinal"}
    text = {**at, "text": {"field": "text"}}
    lines = {**at, "detail": name("line"), "order": order}
    polygon = {**at, **_shape_encoding(list(shapes)), "order": order}
    layers = [
        over(grid, layer("line", lines, color=GREY, opacity=0.4, strokeWidth=1)),
        over(marks, layer("text", text, color=GREY, fontSize=10, dx=4, align="left", dy=-5)),
        over(outline, layer("line", polygon, strokeWidth=2.4, point={"size": 36})),
        over(labels, layer("text", text, fontSize=13, fontWeight=600)),
    ]
    return {"width": 520, "height": 520, "layer": layers}


def _shape_encoding(names: list[str]) -> Spec:
    """Colour and dashes of each shape, so that the chart is readable without colours too."""
    legend = {"title": None, "orient": "right", "symbolType": "stroke", "symbolStrokeWidth": 4}
    dashes = {"domain": names, "range": [_DASHES[n % len(_DASHES)] for n in range(len(names))]}
    return {
        "color": {**name("shape", scale=_colour_scale(names)), "legend": legend},
        "strokeDash": {**name("shape", scale=dashes), "legend": None},
    }


def _scope(sweep: Sweep) -> str:
    index = sweep.setups[0]
    pages = len(index.pages) or len(sweep.pages)
    scored = f"{int(sweep.labelled.sum())} of {len(sweep.cases)} queries scored"
    return f"{scored}; {index.source}, {pages} pages."

"""The five charts of a sweep, as Vega-Lite specs."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

from answerkey.experiments.choice import Conclusions, setting_name
from answerkey.experiments.grid import METRICS
from answerkey.experiments.sweep import Sweep
from answerkey.experiments.sweep_files import intervals
from answerkey.reports.chart_style import BLUE, GREY, RED, SERIES, Spec, layer, name, number, over
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
_CURVES = ("hit_rate", "recall", "mrr", "ndcg", "f1", "precision")
_VISIBLE = 0.01
_SEQUENTIAL = ["#f3f7fb", "#0b3a66"]  # light to dark: readable in grey too
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [3, 5])


def sweep_charts(sweep: Sweep, found: Conclusions) -> dict[str, Spec]:
    """Every chart by the name of its file, in reading order; the radar only where its lines differ."""
    charts = {
        "1_retrieval_methods_comparison": methods_chart(sweep, found),
        "2_alpha_sensitivity": alpha_chart(sweep, found),
        "3_topk_analysis": topk_chart(sweep, found),
        "4_comprehensive_comparison": grid_chart(sweep, found),
    }
    if radar := radar_chart(sweep, found):
        charts["5_radar_chart"] = radar
    if found.setups:
        charts["6_chunking_and_models"] = setups_chart(sweep, found)
    return charts


def methods_chart(sweep: Sweep, found: Conclusions) -> Spec:
    """Every method at the main K, one column per metric, best first."""
    rows, best = sweep.method_rows(found.setup), found.method
    points = [
        point
        for metric in METRICS
        for point in _points(sweep, [(row, sweep.main) for row in rows], metric)
    ]
    points = [{**point, "best": point["variant"] == best.winner[0]} for point in points]
    chosen = sweep.chosen[:, sweep.main][:, sweep.labelled].mean(axis=1)
    order = [sweep.variants[row].name for row in sorted(rows, key=lambda row: -chosen[row])]
    first = sweep.plan.select[0]
    columns = [
        METRIC_LABELS[first],
        *(METRIC_LABELS[metric] for metric in METRICS if metric != first),
    ]
    facet = {"column": {**name("metric"), "sort": columns}}
    spec = {
        "data": {"values": points},
        "facet": facet,
        "spacing": 14,
        "spec": _intervals_panel(order, 118),
    }
    details = f"Mean at K = {sweep.ks[sweep.main]} with 95 % interval. {_scope(sweep)}"
    independent = {"resolve": {"scale": {"x": "independent"}}}
    return _headed({**spec, **independent}, best.sentence, details, 110)


def _intervals_panel(order: Sequence[str], width: int) -> Spec:
    """A row per setting: its mean as a point, its interval as a line; the best one in red."""
    y = {
        **name("setting", axis={"grid": True, "ticks": False, "domain": False}),
        "sort": list(order),
    }
    colour = {"condition": {"test": "datum.best", "value": RED}, "value": BLUE}
    low = {**number("low", axis={"tickCount": 3, "format": ".2~f"}), "title": None}
    mean = number("mean")
    return {
        "width": width,
        "height": 46 * len(order),
        "layer": [
            layer(
                "rule", {"x": low, "x2": {"field": "high"}, "y": y, "color": colour}, strokeWidth=2
            ),
            layer("circle", {"x": mean, "y": y, "color": colour}, size=80, opacity=1),
            layer(
                "text",
                {"x": mean, "y": y, "color": colour, "text": number("mean", format=".3f")},
                dy=-10,
                fontSize=11,
            ),
        ],
    }


def setups_chart(sweep: Sweep, found: Conclusions) -> Spec:
    """The best setting of every chunking and model, by the metric that chooses."""
    points: list[Spec] = []
    for setup, best in enumerate(found.setups):
        values = sweep.chosen[best.winner][sweep.labelled]
        low, high = intervals(values[:, None])[0] if len(values) > 1 else (best.value, best.value)
        points.append(
            {
                "setting": sweep.setup_name(setup),
                "mean": best.value,
                "low": float(low),
                "high": float(high),
                "best": setup == found.setup,
            }
        )
    order = [point["setting"] for point in sorted(points, key=lambda point: -point["mean"])]
    spec = {"data": {"values": points}, **_intervals_panel(order, 420)}
    details = f"Best {sweep.plan.select_name} of each chunking and model, with 95 % interval. {_scope(sweep)}"
    return _headed(spec, found.best.sentence, details)


def alpha_chart(sweep: Sweep, found: Conclusions) -> Spec:
    """Six metrics over α at the main K, the best α marked."""
    best, rows = found.alpha, sweep.alpha_rows(found.setup)
    alpha = sweep.variants[best.winner[0]].alpha
    points = [
        point
        for metric in _CURVES
        for point in _points(sweep, [(row, sweep.main) for row in rows], metric)
    ]
    axis = {"format": "~g", "grid": False, "values": sorted({point["alpha"] for point in points})}
    curves = _curves(points, number("alpha", "α   (0 = BM25 alone, 1 = dense alone)", axis=axis))
    note = {
        "values": [
            {
                "alpha": alpha,
                "text": f"best {sweep.plan.select_name} {best.value:.3f} at α = {alpha:g}",
            }
        ]
    }
    at = number("alpha")
    line = layer("rule", {"x": at}, strokeDash=[5, 4], color=GREY)
    text = {"x": at, "y": {"value": 354}, "text": {"field": "text"}}
    label = layer("text", text, align="left", dx=5, color=GREY, baseline="bottom")
    curves["layer"] = [{"data": note, **line}, *curves["layer"], {"data": note, **label}]
    details = f"Mean at K = {sweep.ks[sweep.main]}; bands are 95 % intervals. {_scope(sweep)}"
    return _headed(curves, best.sentence, details)


def topk_chart(sweep: Sweep, found: Conclusions) -> Spec:
    """Six metrics over K at one α: the gain from retrieving more passages."""
    row = sweep.topk[found.setup]
    places = [place for place in sweep.places if place[0] == row]
    points = [point for metric in _CURVES for point in _points(sweep, places, metric)]
    axis = {"values": [sweep.ks[column] for _, column in places], "grid": False}
    curves = _curves(points, number("k", "K   (pages retrieved)", axis=axis, scale={"zero": False}))
    details = f"Mean at {setting_name(sweep, (row, 0), with_k=False)}; bands are 95 % intervals. {_scope(sweep)}"
    return _headed(curves, found.topk.sentence, details)


def grid_chart(sweep: Sweep, found: Conclusions) -> Spec:
    """The metric that chooses and F1 of every α and K, the best cell of each outlined."""
    first, setup = sweep.plan.select[0], found.setup
    of_setup = {
        row
        for row, v in enumerate(sweep.variants)
        if v.setup == setup and v.alpha is not None and not v.stage
    }
    places = [place for place in sweep.places if place[0] in of_setup]
    x = {"field": "k", "type": "ordinal", "title": "K", "axis": {"labelAngle": 0}}
    y = {"field": "alpha", "type": "ordinal", "title": "α", "sort": "descending"}
    colour = number("mean", legend=None, scale={"range": _SEQUENTIAL, "zero": False})
    cells = layer("rect", {"x": x, "y": y, "color": colour})
    outline = layer("rect", {"x": x, "y": y}, filled=False, stroke=RED, strokeWidth=3)
    panels: list[Spec] = []
    for metric in (first, "ndcg" if first == "f1" else "f1"):
        points = _points(sweep, places, metric, with_interval=False)
        means = sorted(point["mean"] for point in points)
        middle = (means[0] + means[-1]) / 2
        ink = {
            "condition": {"test": f"datum.mean > {middle}", "value": "white"},
            "value": "#222222",
        }
        text = layer(
            "text",
            {"x": x, "y": y, "text": number("mean", format=".3f"), "color": ink},
            fontSize=11,
        )
        best = {"transform": [{"filter": f"datum.mean >= {means[-1]}"}], **outline}
        title = {"text": f"{METRIC_LABELS[metric]}@K", "anchor": "start", "fontSize": 14}
        size = {"width": 52 * len(sweep.ks), "height": 30 * len({row for row, _ in places})}
        panels.append(
            {"title": title, **size, "data": {"values": points}, "layer": [cells, text, best]}
        )
    spec = {"hconcat": panels, "spacing": 40, "resolve": {"scale": {"color": "independent"}}}
    details = f"Mean of each setting; the best cell is outlined. {_scope(sweep)}"
    return _headed(spec, found.best.sentence, details, 110)


def radar_chart(sweep: Sweep, found: Conclusions) -> Spec | None:
    """The methods over all metrics at the main K; None where their lines lie on each other."""
    means = sweep.values[:, sweep.main][:, sweep.labelled].mean(axis=1)
    shapes = {
        sweep.variants[row].name: [float(mean) for mean in means[row]]
        for row in sweep.method_rows(found.setup)
    }
    spread = [max(axis) - min(axis) for axis in zip(*shapes.values(), strict=True)]
    if max(spread) < _VISIBLE:
        return None
    widest = max(range(len(METRICS)), key=lambda m: spread[m])
    distance = f"by {spread[widest]:.2f} between the best and the worst"
    finding = f"The methods differ most in {METRIC_LABELS[METRICS[widest]]}: {distance}"
    details = f"Mean at K = {sweep.ks[sweep.main]}. {_scope(sweep)}"
    return _headed(
        _radar([METRIC_LABELS[metric] for metric in METRICS], shapes), finding, details, 80
    )


def _headed(spec: Spec, finding: str, details: str, width: int = 90) -> Spec:
    """The chart under a title that states its finding, and a subtitle that states how it was made."""
    text, subtitle = (
        textwrap.wrap(capitalise(finding), width),
        textwrap.wrap(details, int(width * 1.2)),
    )
    return {"title": {"text": text or [""], "subtitle": subtitle}, **spec}


def _colours(names: Sequence[str]) -> Spec:
    return {"domain": list(names), "range": [SERIES[n % len(SERIES)] for n in range(len(names))]}


def _curves(points: list[Spec], x: Spec) -> Spec:
    """A line with a band per metric, labelled at its right end."""
    names = [METRIC_LABELS[metric] for metric in _CURVES]
    colour = {**name("metric", scale=_colours(names)), "legend": None}
    highest = round(max(point["high"] for point in points), 9)
    top = (
        1.0 if 0.5 < highest <= 1.0 else highest or 1.0
    )  # the axis ends at 1 for high values within 0..1
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
    """Labels at the end of each line, moved apart where the lines end close together; none above the axis' top."""
    gap = 0.05 * top
    placed: list[Spec] = []
    for point in sorted(ends, key=lambda point: point["mean"]):
        lowest = placed[-1]["label_y"] + gap if placed else 0.0
        label = f"{point['metric']} {point['mean']:.3f}"
        placed.append({**point, "label_y": max(point["mean"], lowest), "label": label})
    highest = top
    for point in reversed(placed):
        point["label_y"] = min(point["label_y"], highest)
        highest = point["label_y"] - gap
    return placed


def _points(
    sweep: Sweep, places: Sequence[tuple[int, int]], metric: str, with_interval: bool = True
) -> list[Spec]:
    """One point per setting: its mean, and its 95 % interval where there are two queries or more."""
    table = sweep.values[:, :, sweep.labelled, METRICS.index(metric)]
    ends = None
    if with_interval and table.shape[2] > 1:
        ends = intervals(table[tuple(zip(*places, strict=True))].T)
    found: list[Spec] = []
    for n, (row, column) in enumerate(places):
        mean = float(table[row, column].mean())
        low, high = (float(end) for end in ends[n]) if ends is not None else (mean, mean)
        variant = sweep.variants[row]
        found.append(
            {
                "setting": variant.name,
                "variant": row,
                "alpha": variant.alpha,
                "k": sweep.ks[column],
                "metric": METRIC_LABELS[metric],
                "mean": mean,
                "low": low,
                "high": high,
            }
        )
    return found


def _radar(axes: Sequence[str], shapes: Mapping[str, Sequence[float]]) -> Spec:
    """A polygon per shape over axes from 0 to the next ring above the largest value; Vega-Lite has no radar of its own."""
    largest = max(max(shape) for shape in shapes.values())
    step = 0.2 if largest > 0.5 else 0.1
    rings = [round(step * n, 2) for n in range(1, max(1, math.ceil(largest / step - 1e-9)) + 1)]
    top, around = rings[-1], range(len(axes) + 1)
    scale = {"domain": [-top * 1.2, top * 1.2]}
    at = {"x": number("x", axis=None, scale=scale), "y": number("y", axis=None, scale=scale)}

    def corner(n: int, radius: float, **more: object) -> Spec:
        angle = math.pi / 2 - 2 * math.pi * n / len(
            axes
        )  # the first axis points up, the rest go clockwise
        return {"x": radius * math.cos(angle), "y": radius * math.sin(angle), "n": n, **more}

    grid = [corner(n, ring, line=f"ring {ring}") for ring in rings for n in around]
    for n in range(len(axes)):
        grid += [corner(n, 0.0, line=f"axis {n}"), corner(n, top, line=f"axis {n}")]
    outline = [
        corner(n, shape[n % len(axes)], shape=key) for key, shape in shapes.items() for n in around
    ]
    labels = [corner(n, top * 1.13, text=text) for n, text in enumerate(axes)]
    marks = [{"x": 0.0, "y": ring, "text": f"{ring:g}"} for ring in rings]
    legend = {"title": None, "orient": "right", "symbolType": "stroke", "symbolStrokeWidth": 4}
    dashes = {
        "domain": list(shapes),
        "range": [_DASHES[n % len(_DASHES)] for n in range(len(shapes))],
    }
    order = {"field": "n", "type": "ordinal"}
    shape = {
        "color": {**name("shape", scale=_colours(list(shapes))), "legend": legend},
        "strokeDash": {**name("shape", scale=dashes), "legend": None},
    }
    text = {**at, "text": {"field": "text"}}
    detail = {**at, "detail": name("line"), "order": order}
    layers = [
        over(grid, layer("line", detail, color=GREY, opacity=0.4, strokeWidth=1)),
        over(marks, layer("text", text, color=GREY, fontSize=10, dx=4, align="left", dy=-5)),
        over(
            outline,
            layer("line", {**at, **shape, "order": order}, strokeWidth=2.4, point={"size": 36}),
        ),
        over(labels, layer("text", text, fontSize=13, fontWeight=600)),
    ]
    return {"width": 520, "height": 520, "layer": layers}


def _scope(sweep: Sweep) -> str:
    searched = f"{sweep.setups[0].source}, {len(sweep.setups[0].pages)} pages"
    return f"{int(sweep.labelled.sum())} of {len(sweep.cases)} queries scored; {searched}."

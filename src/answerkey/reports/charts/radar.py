"""A radar chart from lines and points, as Vega-Lite has none of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from answerkey.reports.charts.look import GRID, QUIET, colour_scale, values


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

"""How every chart looks, and the parts that Vega-Lite specs are made of.

Pages draw the specs in the browser. The colours of marks have a contrast of at least 3 on both
backgrounds, so one spec serves light and dark; only background, text and lines change. A chart
that always has the same shape is a file in `charts/`, filled in by `load_chart`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

Spec = dict[str, Any]

BLUE = "#2a78b5"
GREEN = "#1b8a6b"
AMBER = "#b7791f"
RED = "#c8553d"
PURPLE = "#8a6bbf"
GREY = "#8a8a8a"
SERIES = (BLUE, RED, GREEN, PURPLE, AMBER, GREY)
LIGHT = {"paper": "#ffffff", "ink": "#1f242b", "muted": "#59626e", "line": "#dfe3e8"}
DARK = {"paper": "#1b1f25", "ink": "#e7eaee", "muted": "#a3adb9", "line": "#363d47"}
# An axis of counts. With a step of exactly 1, Vega draws halves on a short axis.
COUNTS = {"tickMinStep": 1.01, "format": ",d"}
_COLOURS = {
    "blue": BLUE,
    "green": GREEN,
    "amber": AMBER,
    "red": RED,
    "purple": PURPLE,
    "grey": GREY,
}
_WIDTH = 560
_STATUS_COLOURS = {"ERROR": PURPLE, "UNSCORED": GREY, "SCORED": BLUE}
_RAMPS = {1: (GREEN,), 2: (GREEN, RED), 3: (GREEN, BLUE, RED), 4: (GREEN, BLUE, AMBER, RED)}


def chart_config(dark: bool = False) -> Spec:
    """The Vega-Lite config for a light or a dark background."""
    return _fill(_read_chart("look.json"), {**_COLOURS, **(DARK if dark else LIGHT)})


def load_chart(name: str, **values: Any) -> Spec:
    """The spec `charts/NAME.vl.json`; each text `"$key"` in it is replaced by that value.

    >>> load_chart("bands", values=[], colours={})["data"]
    {'values': []}
    """
    return _fill(_read_chart(f"{name}.vl.json"), {**_COLOURS, "count_axis": COUNTS, **values})


@cache
def _read_chart(name: str) -> Any:
    file = resources.files("answerkey.reports").joinpath("charts", name)
    return json.loads(file.read_text(encoding="utf-8"))


def _fill(part: Any, values: Mapping[str, Any]) -> Any:
    """A copy with every placeholder replaced; a placeholder without a value is an error."""
    if isinstance(part, str) and part.startswith("$"):
        return values[part[1:]]
    if isinstance(part, dict):
        return {key: _fill(each, values) for key, each in part.items()}  # type: ignore
    if isinstance(part, list):
        return [_fill(each, values) for each in part]  # type: ignore
    return part


def add_title(title: str, spec: Spec, subtitle: str = "") -> Spec:
    """The spec with a title and the usual width."""
    heading: Spec = {"text": title}
    if subtitle:
        heading["subtitle"] = subtitle
    return {"title": heading, "width": _WIDTH, **spec}


def number(field: str, title: str | None = None, **more: Any) -> Spec:
    """A quantitative channel; of layers that share an axis, one gives it the title."""
    channel: Spec = {"field": field, "type": "quantitative"}
    if title:
        channel["title"] = title
    return channel | more


def name(field: str, title: str | None = None, **more: Any) -> Spec:
    """A nominal channel, in the order of the data."""
    return {"field": field, "type": "nominal", "sort": None, "title": title, **more}


def layer(mark: str, encoding: Spec, **look: Any) -> Spec:
    return {"mark": {"type": mark, **look}, "encoding": encoding}


def over(values: Sequence[Spec], chart: Spec) -> Spec:
    """A layer with data of its own."""
    return {"data": {"values": list(values)}, **chart}


def beside(field: str, x: Spec, y: Spec) -> Spec:
    """Text to the right of a place."""
    return layer("text", {"x": x, "y": y, "text": {"field": field}}, align="left", dx=8)


def scale_of(names: Sequence[str]) -> Spec:
    """Colours for bands or statuses, best first: green to red, whatever a profile calls them."""
    graded = [band for band in names if band not in _STATUS_COLOURS]
    # Beyond four bands the middle ones share a colour; the best and the worst stay apart.
    ramp = _RAMPS.get(len(graded)) or (GREEN, BLUE, *(AMBER,) * (len(graded) - 3), RED)
    colours = dict(zip(graded, ramp, strict=False)) | _STATUS_COLOURS
    return {"domain": list(names), "range": [colours[band] for band in names]}

"""How every chart looks, and how a Vega-Lite spec becomes a picture.

The colours of marks have a contrast of 3 or more on both papers, so one spec serves light and dark; only paper, ink
and lines change.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]

BLUE, GREEN, AMBER, RED, PURPLE, GREY = "#2a78b5", "#1b8a6b", "#b7791f", "#c8553d", "#8a6bbf", "#8a8a8a"
SERIES = (BLUE, RED, GREEN, PURPLE, AMBER, GREY)
LIGHT = {"paper": "#ffffff", "ink": "#1f242b", "muted": "#59626e", "line": "#dfe3e8"}
DARK = {"paper": "#1b1f25", "ink": "#e7eaee", "muted": "#a3adb9", "line": "#363d47"}
WIDTH = 560
_FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"  # as wide as the pictures are measured
_STATUS = {"ERROR": PURPLE, "UNSCORED": GREY, "SCORED": BLUE}
_RAMP = {1: (GREEN,), 2: (GREEN, RED), 3: (GREEN, BLUE, RED), 4: (GREEN, BLUE, AMBER, RED)}


def config(dark: bool = False) -> Spec:
    """The Vega-Lite config of the light or the dark paper."""
    c = DARK if dark else LIGHT
    return {
        "background": c["paper"],
        "font": _FONT,
        "padding": 12,
        "view": {"stroke": None},
        "title": {"color": c["ink"], "fontSize": 14, "fontWeight": 600, "anchor": "start", "offset": 12,
                  "subtitleColor": c["muted"], "subtitleFontSize": 12, "subtitlePadding": 4},
        "axis": {"labelColor": c["muted"], "titleColor": c["muted"], "labelFontSize": 12, "titleFontSize": 12,
                 "titleFontWeight": "normal", "gridColor": c["line"], "domainColor": c["line"],
                 "tickColor": c["line"], "labelLimit": 200, "titlePadding": 8},
        "legend": {"labelColor": c["muted"], "titleColor": c["muted"], "labelFontSize": 12, "titleFontSize": 12,
                   "titleFontWeight": "normal", "symbolType": "circle", "orient": "top"},
        "header": {"labelColor": c["muted"], "titleColor": c["muted"], "labelFontSize": 12},
        "text": {"color": c["ink"], "fontSize": 12},
        "rule": {"color": c["ink"]},
        "bar": {"color": BLUE},
        "point": {"color": BLUE, "filled": True, "size": 70},
        "line": {"color": BLUE, "strokeWidth": 2},
        "range": {"category": list(SERIES)},
    }  # fmt: skip


def titled(title: str, spec: Spec, subtitle: str = "") -> Spec:
    heading: Spec = {"text": title, **({"subtitle": subtitle} if subtitle else {})}
    return {"title": heading, "width": WIDTH, **spec}


WHOLE = {
    "tickMinStep": 1.01,
    "format": ",d",
}  # an axis of counts; a step of 1 lets halves through where one or two is the most


def number(field: str, title: str | None = None, **more: Any) -> Spec:
    """A quantitative channel; of layers that share an axis, one gives it the title."""
    return {"field": field, "type": "quantitative", **({"title": title} if title else {}), **more}


def name(field: str, title: str | None = None, **more: Any) -> Spec:
    """A nominal channel, in the order of the data."""
    return {"field": field, "type": "nominal", "sort": None, "title": title, **more}


def layer(mark: str, encoding: Spec, **look: Any) -> Spec:
    return {"mark": {"type": mark, **look}, "encoding": encoding}


def beside(field: str, x: Spec, y: Spec) -> Spec:
    """Text at the right of a place."""
    return layer("text", {"x": x, "y": y, "text": {"field": field}}, align="left", dx=8)


def scale_of(names: Sequence[str]) -> Spec:
    """Colours for bands or statuses, best first: from green to red, whatever a profile calls them."""
    graded = [band for band in names if band not in _STATUS]
    ramp = _RAMP.get(len(graded)) or (GREEN, BLUE, *(AMBER,) * (len(graded) - 3), RED)
    colours = dict(zip(graded, ramp, strict=False)) | _STATUS
    return {"domain": list(names), "range": [colours[band] for band in names]}


def svg(spec: Spec) -> str:
    """The chart on the light paper. The first one in a process takes about a second, each further one a tenth."""
    import vl_convert

    return vl_convert.vegalite_to_svg({**spec, "config": {**config(), **spec.get("config", {})}})


def png(drawn: str) -> bytes:
    """A drawn chart as a PNG, twice the size for sharp screens."""
    import vl_convert

    return vl_convert.svg_to_png(drawn, scale=2)


def dark_twin(drawn: str) -> str:
    """The same drawing on the dark paper; drawing it anew would cost as much as the first."""
    for role, colour in LIGHT.items():
        drawn = drawn.replace(colour, DARK[role])
    return drawn


def data_address(drawn: str) -> str:
    """An SVG as the address of an image: as an image, no script in it could run."""
    return "data:image/svg+xml;base64," + base64.b64encode(drawn.encode("utf-8", "replace")).decode("ascii")

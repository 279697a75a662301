"""How every chart looks, and how a Vega-Lite spec becomes an image file.

Pages draw the specs in the browser. The colours of marks have a contrast of at least 3 on both backgrounds, so one
spec serves light and dark; only background, text and lines change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from answerkey.errors import SettingsError, StorageError
from answerkey.files import write_file

Spec = dict[str, Any]

BLUE, GREEN, AMBER, RED, PURPLE, GREY = (
    "#2a78b5",
    "#1b8a6b",
    "#b7791f",
    "#c8553d",
    "#8a6bbf",
    "#8a8a8a",
)
SERIES = (BLUE, RED, GREEN, PURPLE, AMBER, GREY)
LIGHT = {"paper": "#ffffff", "ink": "#1f242b", "muted": "#59626e", "line": "#dfe3e8"}
DARK = {"paper": "#1b1f25", "ink": "#e7eaee", "muted": "#a3adb9", "line": "#363d47"}
COUNTS = {
    "tickMinStep": 1.01,
    "format": ",d",
}  # an axis of counts; with a step of 1, small counts get halves
INSTALL = "pip install 'answerkey[charts]'"
_WIDTH = 560
_FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"
_STATUS = {"ERROR": PURPLE, "UNSCORED": GREY, "SCORED": BLUE}
_RAMP = {1: (GREEN,), 2: (GREEN, RED), 3: (GREEN, BLUE, RED), 4: (GREEN, BLUE, AMBER, RED)}


def config(dark: bool = False) -> Spec:
    """The Vega-Lite config for a light or a dark background."""
    c = DARK if dark else LIGHT
    return {
        "background": c["paper"],
        "font": _FONT,
        "padding": 12,
        "view": {"stroke": None},
        "title": {
            "color": c["ink"],
            "fontSize": 14,
            "fontWeight": 600,
            "anchor": "start",
            "offset": 12,
            "subtitleColor": c["muted"],
            "subtitleFontSize": 12,
            "subtitlePadding": 4,
        },
        "axis": {
            "labelColor": c["muted"],
            "titleColor": c["muted"],
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": c["line"],
            "domainColor": c["line"],
            "tickColor": c["line"],
            "labelLimit": 200,
            "titlePadding": 8,
        },
        "legend": {
            "labelColor": c["muted"],
            "titleColor": c["muted"],
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "symbolType": "circle",
            "orient": "top",
        },
        "header": {"labelColor": c["muted"], "titleColor": c["muted"], "labelFontSize": 12},
        "text": {"color": c["ink"], "fontSize": 12},
        "rule": {"color": c["ink"]},
        "bar": {"color": BLUE},
        "point": {"color": BLUE, "filled": True, "size": 70},
        "line": {"color": BLUE, "strokeWidth": 2},
        "range": {"category": list(SERIES)},
    }


def titled(title: str, spec: Spec, subtitle: str = "") -> Spec:
    heading: Spec = {"text": title, **({"subtitle": subtitle} if subtitle else {})}
    return {"title": heading, "width": _WIDTH, **spec}


def number(field: str, title: str | None = None, **more: Any) -> Spec:
    """A quantitative channel; of layers that share an axis, one gives it the title."""
    return {"field": field, "type": "quantitative", **({"title": title} if title else {}), **more}


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
    """Colours for bands or statuses, best first: from green to red, whatever a profile calls them."""
    graded = [band for band in names if band not in _STATUS]
    ramp = _RAMP.get(len(graded)) or (GREEN, BLUE, *(AMBER,) * (len(graded) - 3), RED)
    colours = dict(zip(graded, ramp, strict=False)) | _STATUS
    return {"domain": list(names), "range": [colours[band] for band in names]}


def can_draw() -> bool:
    """Whether image files can be written: the extra `charts` is installed."""
    from importlib.util import find_spec

    return find_spec("vl_convert") is not None


def png(spec: Spec) -> bytes:
    """The chart on a light background, twice the size for sharp screens. The first one takes about a second."""
    if not can_draw():
        raise SettingsError(f"image files of charts need an extra: {INSTALL}")
    import vl_convert

    return vl_convert.vegalite_to_png(
        {**spec, "config": {**config(), **spec.get("config", {})}}, scale=2
    )


def write_plots(folder: Path, charts: Mapping[str, Spec]) -> list[Path]:
    """One PNG per chart in `folder`; older PNG files there are removed. Returns the paths.

    >>> write_plots(run / "plots", run_charts(summary, rows, profile))      # doctest: +SKIP
    """
    drawn = {folder / f"{chart}.png": png(spec) for chart, spec in charts.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in set(folder.glob("*.png")) - set(drawn):
            old.unlink()
        for path, data in drawn.items():
            write_file(path, data, durable=False)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return list(drawn)

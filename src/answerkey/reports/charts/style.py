"""One look for every picture: colours that survive colour blindness, quiet axes, a title that states the finding."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

# Okabe and Ito's colours, darkest contrast first; the yellow is left out, as it is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#5B4B8A", "#666666")
BEST, OTHERS, INK, QUIET, GRID = "#D55E00", "#0072B2", "#222222", "#6B6B6B", "#E4E4E4"
SEQUENTIAL = ("#F3F7FB", "#08306B")  # light to dark: reads in grey too
SCALE = 2.0


def titled(chart: Any, finding: str, details: str = "", width: int = 90) -> Any:
    """The chart under a title that says what it shows, and a subtitle that says how it was made."""
    import altair as alt

    lines = textwrap.wrap(finding, width) or [""]
    below = textwrap.wrap(details, int(width * 1.25)) if details else []
    title = alt.TitleParams(text=lines, subtitle=below, anchor="start", offset=14)
    return chart.properties(title=title)


def values(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    import altair as alt

    return alt.InlineData(values=list(rows))


def colour_scale(names: Sequence[str]) -> Any:
    """A colour for each name, in order; after the eighth they come again."""
    import altair as alt

    return alt.Scale(domain=list(names), range=[COLOURS[n % len(COLOURS)] for n in range(len(names))])


def spec_of(chart: Any) -> dict[str, Any]:
    """The Vega-Lite spec of a chart, or of a spec, with the look applied."""
    spec = dict(chart) if isinstance(chart, dict) else chart.to_dict()
    return {**spec, "config": {**spec.get("config", {}), **_CONFIG}, "background": "white"}


def save_png(chart: Any, path: Path) -> None:
    """Write the chart (altair or a Vega-Lite spec) as a PNG."""
    import vl_convert

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(vl_convert.vegalite_to_png(spec_of(chart), scale=SCALE))


_CONFIG: dict[str, Any] = {
    "font": "Helvetica, Arial, sans-serif",
    "padding": 18,
    "title": {"fontSize": 17, "fontWeight": 600, "color": INK, "subtitleFontSize": 12, "subtitleColor": QUIET,
              "subtitlePadding": 6, "lineHeight": 22, "subtitleLineHeight": 16},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "labelColor": INK, "titleColor": QUIET, "titleFontWeight": 400,
             "gridColor": GRID, "domainColor": "#BBBBBB", "tickColor": "#BBBBBB", "labelLimit": 260},
    "header": {"labelFontSize": 13, "labelFontWeight": 600, "labelColor": INK, "titleFontSize": 12},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 260},
    "view": {"stroke": None},
    "text": {"color": INK, "fontSize": 12},
}  # fmt: skip

"""The shared look for charts written with altair: finding as title, inline data, a PNG."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

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

"""Bar charts as plain SVG, for notebooks: no extra is needed to draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from answerkey.display import html_text
from answerkey.files import write_file

_WIDTH = 640
_LABELS = 200  # pixels for the names on the left
_NUMBERS = 90  # and for the figures on the right
_BAR = 22
_HEADING = 34
_FONT = "font-family:system-ui,sans-serif;font-size:13px"


@dataclass(frozen=True, slots=True)
class Bars:
    """A heading and a bar per name; `top` is the value of a full bar, by default the largest."""

    heading: str
    values: Mapping[str, float]
    top: float | None = None
    colour: str = "#3d6fb4"


@dataclass(frozen=True, slots=True)
class Plot:
    """Charts that a notebook shows; `save` writes them as an SVG file."""

    charts: Sequence[Bars]

    def to_svg(self) -> str:
        pieces: list[str] = []
        height = 0
        for chart in self.charts:
            pieces.append(_heading(chart.heading, height))
            height += _HEADING
            for name, value in chart.values.items():
                pieces.append(_bar(chart, name, value, height))
                height += _BAR
            height += _BAR // 2
        size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        body = "".join(pieces)
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{_FONT}">{body}</svg>'

    def save(self, path: str | Path) -> Path:
        """Write the charts to an SVG file, and return its path."""
        write_file(Path(path), self.to_svg())
        return Path(path)

    def _repr_html_(self) -> str:
        return self.to_svg()


def _heading(text: str, y: int) -> str:
    return f'<text x="0" y="{y + 20}" font-weight="bold">{html_text(text)}</text>'


def _bar(chart: Bars, name: str, value: float, y: int) -> str:
    # All values may be 0, and a bar must not be divided by it.
    top = chart.top or max(chart.values.values(), default=0) or 1
    # Values outside the scale stop at its ends.
    width = (_WIDTH - _LABELS - _NUMBERS) * min(1.0, max(0.0, value / top))
    if isinstance(value, float):
        number = f"{value:.3g}"
    else:
        number = f"{value}"
    place = f'x="{_LABELS}" y="{y + 3}" width="{width:.1f}" height="{_BAR - 6}"'
    return (
        f'<text x="{_LABELS - 8}" y="{y + 16}" text-anchor="end">{html_text(name)}</text>'
        f'<rect {place} fill="{chart.colour}"/>'
        f'<text x="{_LABELS + width + 6:.1f}" y="{y + 16}">{number}</text>'
    )

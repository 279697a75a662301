"""Results in notebooks: small HTML tables and data frames.

Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from answerkey.errors import MissingPackage
from answerkey.percentages import format_rate
from answerkey.text import printable

if TYPE_CHECKING:
    import pandas

_BARS = "display:flex;height:12px;width:360px;border-radius:3px;overflow:hidden"
# From good to bad; the last one, grey, also for whatever comes after it.
_COLOURS = ("#2e7d32", "#9aa64b", "#c77700", "#b3261e", "#6b6b6b")
_CELL = "padding:2px 10px;text-align:left;vertical-align:top"


def data_frame(rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    """The rows as a pandas DataFrame."""
    try:
        import pandas
    except ImportError:
        raise MissingPackage("pandas", "pandas") from None
    return pandas.DataFrame(list(rows))


def html_table(rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """A table; every cell is shown as text."""
    head = "".join(f'<th style="{_CELL}">{html_text(name)}</th>' for name in header)
    lines = ("".join(f'<td style="{_CELL}">{html_text(cell)}</td>' for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    if head:
        head = f"<thead><tr>{head}</tr></thead>"
    return f"<table>{head}<tbody>{body}</tbody></table>"


def html_bars(shares: Mapping[str, int]) -> str:
    """One horizontal bar per name, as wide as its share of the sum."""
    total = sum(shares.values()) or 1
    colours = (*_COLOURS, *[_COLOURS[-1]] * len(shares))
    parts = [
        _html_bar(name, count, count / total, colour)
        for (name, count), colour in zip(shares.items(), colours, strict=False)
        if count
    ]
    legend = ", ".join(f"{name} {count}" for name, count in shares.items() if count)
    bar = f'<div style="{_BARS}">{"".join(parts)}</div>'
    return f'{bar}<div style="font-size:90%">{html_text(legend)}</div>'


def _html_bar(name: str, count: int, share: float, colour: str) -> str:
    style = f"width:{100 * share:.2f}%;background:{colour}"
    return f'<div title="{html_text(name)}: {count}" style="{style}"></div>'


def html_text(value: object) -> str:
    """Text with markup and control characters made inert."""
    return escape(printable(format_cell(value)))


def format_cell(value: object) -> str:
    """A number with three digits after the point, nothing for None, anything else as it is."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)


def rate_text(rate: float | None, interval: tuple[float, float] | None) -> str:
    """The rate with its interval; `-` for a rate that does not exist.

    >>> rate_text(0.92, (0.811, 0.968))
    '92 %, 95 % interval 81–97 %'
    """
    if rate is None:
        return "-"
    return format_rate(rate, interval)

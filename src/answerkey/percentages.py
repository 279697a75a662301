"""Shares and their intervals in words; every output writes them the same way.

>>> format_rate(0.533, (0.301, 0.752))
'53 %, 95 % interval 30–75 %'
"""

from __future__ import annotations

from collections.abc import Sequence


def format_percent(share: float) -> str:
    """A share in percent.

    Whole percents, with decimals only where 0 % or 100 % would not be true.

    >>> format_percent(0.56), format_percent(0.9996), format_percent(1.0)
    ('56 %', '99.96 %', '100 %')
    """
    return f"{_percent_number(share)} %"


def _percent_number(share: float) -> str:
    # 199 of 200 is not 100 %, and a reader would take it for a perfect run.
    for decimals in (0, 1, 2):
        text = f"{100 * share:.{decimals}f}"
        if float(text) not in (0.0, 100.0) or share in (0.0, 1.0):
            return text
    return ">99.99" if share > 0.5 else "<0.01"


def format_percent_range(low: float, high: float) -> str:
    """`30–75 %`."""
    return f"{_percent_number(low)}–{_percent_number(high)} %"


def format_rate(share: float, interval: Sequence[float] | None) -> str:
    """`53 %, 95 % interval 30–75 %`; without an interval only the share."""
    if not interval:
        return format_percent(share)
    return (
        f"{format_percent(share)}, 95 % interval {format_percent_range(interval[0], interval[1])}"
    )

"""Differences, probabilities and pass rates as the sentences of a comparison write them."""

from __future__ import annotations

import math

from answerkey.comparison.significance import Difference, McNemar
from answerkey.percentages import format_percent


def format_number(value: float, digits: int = 3, sign: str = "-") -> str:
    """A number with that many significant digits, at most 6 decimals, and never an exponent.

    >>> format_number(0.09123), format_number(150.2), format_number(0.05, sign="+")
    ('0.0912', '150', '+0.0500')
    """
    value = round(value, 6) + 0.0  # no minus before a zero
    places = 0
    if value:
        places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:{sign},.{min(max(places, 0), 6)}f}"


def format_p(p: float | None) -> str:
    if p is None:
        return "no test"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}"


def format_change(figures: Difference) -> str:
    """`+0.127 (95 % interval +0.0912 to +0.168, p < 0.001)`."""
    diff = format_number(figures.diff or 0.0, sign="+")
    if figures.interval is None:
        return f"{diff} ({format_p(figures.p)})"
    low = format_number(figures.interval.low, sign="+")
    high = format_number(figures.interval.high, sign="+")
    return f"{diff} (95 % interval {low} to {high}, {format_p(figures.p)})"


def format_rates(passes: McNemar) -> str:
    """The pass rates of both runs: `56 % → 92 %`."""
    before = format_percent((passes.both + passes.only_a) / passes.n)
    after = format_percent((passes.both + passes.only_b) / passes.n)
    return f"{before} → {after}"

"""When two figures are the same: rounding, units, scales and times of day."""

from __future__ import annotations

import math

from answerkey.language.quantities import CLOCK, Figure

TOLERANCE = 0.002  # a share; smaller differences come from rounding
_DEGREES = 2.0  # between scales: 350 °F are given as 175 °C
_SCALES = (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)  # thousands or millions left out
_COARSE = 0.05  # rounded figures never differ by more than this share
_EXACT_BELOW = 10_000  # whole numbers below are counts and years, and not rounded


def figures_agree(expected: Figure, stated: Figure) -> bool:
    """Same value, allowing for rounding of the coarser one, a scale left out, and 0.12 for 12 %.

    Counts and years must be the same, and so must units: 90 minutes are 1.5 hours, but not 90
    seconds. The sign is not compared: a loss of 5 is written both ways.
    """
    if CLOCK in (expected.dimension, stated.dimension):
        return _is_same_time(expected, stated)
    if expected.other_unit(stated):
        return False
    if expected.per and stated.per and not math.isclose(expected.per, stated.per):
        return _is_same_rate(expected, stated)
    if _has_other_scale(expected, stated):
        return _is_same_in_base_unit(expected, stated)
    return _is_same_value(expected, stated)


def _is_same_rate(expected: Figure, stated: Figure) -> bool:
    """12 euros a month are 144 euros a year; of shares this is not so."""
    # 5 % a month is not 60 % a year.
    if expected.percent:
        return False
    return math.isclose(expected.base / expected.per, stated.base / stated.per, rel_tol=0.02)


def _has_other_scale(expected: Figure, stated: Figure) -> bool:
    """Whether both have units of one dimension, but not the same unit: km and m."""
    if not (expected.dimension and stated.dimension):
        return False
    return (expected.size, expected.offset) != (stated.size, stated.offset)


def _is_same_in_base_unit(expected: Figure, stated: Figure) -> bool:
    # `10 pounds` may be a mass in one text and money in the other: only the number compares.
    if "currency GBP" in (expected.dimension, stated.dimension):
        return expected.value == stated.value
    if expected.dimension == "temperature":
        return abs(expected.base - stated.base) <= _DEGREES
    return _is_near(
        abs(expected.base),
        expected.step * expected.size,
        abs(stated.base),
        stated.step * stated.size,
    )


def _is_same_value(expected: Figure, stated: Figure) -> bool:
    first = abs(expected.value)
    second = abs(stated.value)
    if first == second:
        return True
    is_share = expected.percent or stated.percent
    is_exact = expected.whole and stated.whole and max(first, second) < _EXACT_BELOW
    # Nothing but zero is near zero, whatever the scale.
    if (is_exact and not is_share) or min(first, second) == 0 or _differs_exactly(expected, stated):
        return False
    if expected.scaled and stated.scaled:
        scales = (1.0,)
    else:
        scales = _SCALES
    # 0.12 and 12 % are the same share.
    if expected.percent != stated.percent:
        scales = (*scales, 100.0, 0.01)
    return any(
        _is_near(first, expected.step, second * scale, stated.step * scale) for scale in scales
    )


def _differs_exactly(expected: Figure, stated: Figure) -> bool:
    """Figures of about the same size differ though neither is rounded: 4711234 and 4711243."""
    if expected.step != stated.step or expected.percent != stated.percent:
        return False
    first = abs(expected.value)
    second = abs(stated.value)
    step = expected.step
    # A figure that ends in two zeros may be rounded.
    if step >= 1 and (first % (100 * step) == 0 or second % (100 * step) == 0):
        return False
    # Of decimals one step may be rounding: 99.99 and 100.00 agree, 99.99 and 99.95 do not.
    least = 1.0001 * step if step < 1 else 0.0
    return least < abs(first - second) < _COARSE * max(first, second)


def _is_same_time(expected: Figure, stated: Figure) -> bool:
    """20:00 is 8 pm, and may be `at 8`."""
    if expected.dimension == stated.dimension:
        # A time that may be morning or evening is the same 12 hours later.
        return (expected.value - stated.value) % min(expected.size, stated.size) == 0
    if stated.dimension == CLOCK:
        return expected.count and (60 * expected.value - stated.value) % 720 == 0
    return stated.count and (60 * stated.value - expected.value) % 720 == 0


def within(expected: Figure, stated: Figure, tolerance: float) -> bool:
    """Whether two figures differ by at most a share of the expected one; 12 % is 0.12.

    >>> from answerkey.language.quantities import figures
    >>> within(figures("3 km")[0], figures("2950 m")[0], 0.05)
    True
    """
    if expected.other_unit(stated) or not math.isfinite(expected.value):
        return False
    if expected.dimension and stated.dimension:
        # The last term covers rounding of floats, also for an expected 0.
        return abs(stated.base - expected.base) <= tolerance * abs(expected.base) + 1e-12
    scales = [1.0]
    if expected.percent != stated.percent:
        scales.append(0.01 if stated.percent else 100.0)
    largest_gap = tolerance * abs(expected.value) + 1e-12
    return any(abs(stated.value * scale - expected.value) <= largest_gap for scale in scales)


def _is_near(first: float, first_step: float, second: float, second_step: float) -> bool:
    """Within half of the coarser step, but never more than 5 % apart; or within the tolerance."""
    apart = abs(first - second)
    if apart <= TOLERANCE * first:
        return True
    # A little more than a half: 0.5 of a step is not exact in binary.
    is_rounded = apart <= 0.5001 * max(first_step, second_step)
    return is_rounded and apart < _COARSE * max(first, second)

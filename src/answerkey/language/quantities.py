"""Figures with their units as people write them.

3 km are 3000 m and 90 minutes 1.5 hours; another unit or currency is another value. When two
figures are the same is in `figure_match.py`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from answerkey.language.numbers import ORDER, SPELLED, in_digits
from answerkey.language.times import adverb_rates, clock_times, frequencies
from answerkey.language.units import (
    CENTS,
    NO_UNIT,
    NUMBERED,
    Unit,
    currency_of,
    numbered,
    unit_after,
)
from answerkey.language.words import compile_pattern
from answerkey.text import Number, numbers

CLOCK = "clock"
FREQUENCY = "frequency"
_LARGEST = 1e18  # longer numbers are codes
_POUND = 0.45359237  # kilograms
_SCALES = (1.0, 1e3, 1e6, 1e9, 1e12)

_SCALED = compile_pattern("quantities", "scaled")
_UNIT = compile_pattern("quantities", "unit")
_DIGITS = re.compile(r"\d[\d.,']*")
_RANGE = compile_pattern("quantities", "range")
_PLUS = compile_pattern("quantities", "plus")
_SPELLED = re.compile(rf"\b(?:{'|'.join(SPELLED)})\b", re.IGNORECASE)
_ORDERED = compile_pattern("quantities", "ordered", order="|".join(ORDER))
_RATE = compile_pattern("quantities", "rate")
_FIRST = compile_pattern("quantities", "first")
_CURRENCY_CODE = re.compile(r"\b[A-Z]{3}\s?$")
# The period of a rate by its first letter, in years.
_YEARS = {"h": 1 / 8766, "d": 1 / 365.25, "w": 1 / 52.18, "m": 1 / 12, "q": 0.25, "y": 1, "a": 1}


@dataclass(frozen=True, slots=True)
class Figure:
    """`step` is the value of the last digit written: 12.3 is exact to 0.1, 1.2 million to 100,000.

    `dimension` is that of the unit (`length`, `currency USD`), empty without one; `size` and
    `offset` take the value into the dimension's base unit.
    """

    value: float
    step: float
    percent: bool = False
    whole: bool = True
    scaled: bool = False  # the text has thousand, million or billion
    money: bool = False
    dimension: str = ""
    size: float = 1.0
    offset: float = 0.0
    per: float = 0.0  # years: 1/12 for `9 euros a month`, 0 without a rate
    span: tuple[int, int] = field(default=(0, 0), compare=False)  # with its unit

    def __str__(self) -> str:
        number = f"{self.value:,.10g}{' %' if self.percent else ''}"
        if self.money:
            return f"{number} {self.dimension.removeprefix('currency ')}".rstrip()
        if self.dimension:
            return f"{number} ({self.dimension})"
        return number

    @property
    def base(self) -> float:
        """The value in the base unit of its dimension: 3000 for `3 km`."""
        return self.value * self.size + self.offset

    def other_unit(self, other: Figure) -> bool:
        """Whether both have a unit, of different dimensions: days and dollars, km and percent."""
        # A percentage and a bare number may be the same share, but not one with a unit.
        if self.percent != other.percent:
            return bool(self.dimension or other.dimension)
        if self.dimension == other.dimension:
            return False
        dimensions = {self.dimension, other.dimension}
        if dimensions == {"mass", "currency GBP"}:
            return _POUND not in (self.size, other.size)  # `10 pounds` may be either
        if CENTS in dimensions:
            # Cents fit any currency, but not kilometres.
            return "" not in dimensions and not (self.money and other.money)
        return "" not in dimensions

    @property
    def dosed(self) -> bool:
        """An amount per time that is also taken that often: `10 mg a day`; not a price."""
        return bool(self.per) and self.dimension in {"mass", "volume"}

    @property
    def count(self) -> bool:
        """A small whole number without a unit: it may count or number things of a list."""
        has_unit = self.dimension and not self.dimension.startswith(NUMBERED)
        if has_unit or self.percent or self.money:
            return False
        return self.whole and abs(self.value) < 100

    def written(self, digits: str) -> bool:
        """Whether it is written with those digits, without its million or billion."""
        try:
            number = float(digits)
        except ValueError:
            return False
        return any(math.isclose(abs(self.value), number * scale) for scale in _SCALES)

    @property
    def year(self) -> bool:
        if self.percent or self.money or self.dimension or self.step != 1.0:
            return False
        return self.whole and 1000 <= self.value <= 2100


@lru_cache(maxsize=4096)
def figures(text: str, decimal: str = ".", spelled: bool = True) -> tuple[Figure, ...]:
    """Every number with its unit, every time of day and frequency.

    `spelled` also reads number words.

    >>> [(figure.value, figure.dimension) for figure in figures("ten days, RM 5, at 8 pm")]
    [(10.0, 'time'), (5.0, 'currency MYR'), (1200.0, 'clock')]
    """
    if not spelled:
        return tuple(_read_digits(text, decimal))
    # Blanked and not removed, so that all places stay those of the text.
    text = _FIRST.sub(lambda match: " " * len(match[0]), in_digits(text))
    times = _read_times(text)
    for figure in times:  # their digits are no figures of their own
        start, end = figure.span
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    ordinals = [_read_ordinal(match) for match in _ORDERED.finditer(text)]
    # As many characters as before, so that places stay the same.
    text = _SPELLED.sub(
        lambda match: f"{SPELLED[match[0].lower()]:g}".rjust(len(match[0]), "\0"), text
    )
    plain = _read_digits(text, decimal)
    every = [*times, *ordinals, *plain, *_read_rates(text, plain)]
    return tuple(sorted(every, key=lambda figure: figure.span))


def _read_ordinal(match: re.Match[str]) -> Figure:
    if match[1]:
        value = ORDER[match[1].lower()]
    else:
        value = float(match[2])
    return Figure(value, 1.0, span=match.span())


def _read_times(text: str) -> list[Figure]:
    """Frequencies per year, and times of day in minutes.

    The `size` of a time is 720 where it may be morning or evening.
    """
    often = [
        Figure(per_year, 0.01, dimension=FREQUENCY, span=(start, end))
        for start, end, per_year in frequencies(text)
    ]
    clock = [
        Figure(minutes, 1.0, dimension=CLOCK, size=1440.0 if sure else 720.0, span=(start, end))
        for start, end, minutes, sure in clock_times(text)
    ]
    return often + clock


def _read_rates(text: str, plain: list[Figure]) -> list[Figure]:
    """`monthly` where no figure has it as its rate, and how often a dose is taken."""
    taken = [figure.span for figure in plain]
    rates = [
        Figure(times, 0.01, dimension=FREQUENCY, span=(start, end))
        for start, end, times in adverb_rates(text)
        if not any(first < end <= last for first, last in taken)
    ]
    doses = [
        Figure(1 / figure.per, 0.01, dimension=FREQUENCY, span=figure.span)
        for figure in plain
        if figure.dosed
    ]
    return rates + doses


def _read_digits(text: str, decimal: str) -> list[Figure]:
    """The figures in digits; parts such as `2 hours 15 minutes` are one figure."""
    result: list[Figure] = []
    for number in numbers(text, decimal):
        if abs(number.value) >= _LARGEST:
            continue
        figure = _read_figure(number, text)
        if not result:
            result.append(figure)
            continue
        previous = result[-1]
        between = text[previous.span[1] : figure.span[0]]
        if _shares_unit(previous, figure) and _RANGE.fullmatch(between):
            # The first of `2 to 8 °C` has the unit of the second.
            result[-1] = replace(
                previous, dimension=figure.dimension, size=figure.size, offset=figure.offset
            )
        if _continues(previous, figure) and _PLUS.fullmatch(between):
            result[-1] = _add_part(previous, figure)
        else:
            result.append(figure)
    return result


def _shares_unit(first: Figure, second: Figure) -> bool:
    return not (first.dimension or first.percent) and bool(second.dimension)


def _continues(first: Figure, second: Figure) -> bool:
    """`2 hours 15 minutes` and `5 feet 10 inches` are one quantity."""
    same = first.dimension == second.dimension and first.dimension in {"time", "length", "mass"}
    # "5 feet 10 inches": the smaller unit follows and does not fill the larger one.
    return same and second.size < first.size and second.base < first.size


def _add_part(first: Figure, second: Figure) -> Figure:
    return replace(
        first,
        value=first.value + second.value * second.size / first.size,
        step=second.step * second.size / first.size,
        # A sum of two units is no count.
        whole=False,
        span=(first.span[0], second.span[1]),
    )


def _read_figure(number: Number, text: str) -> Figure:
    """The figure with its unit or currency and its rate."""
    start = number.end - len(number.text)
    while start and text[start - 1] == "\0":  # padding of a number word
        start -= 1
    unit, end = _read_unit(number, start, text)
    per = 0.0
    if unit.dimension or number.percent:
        rate = _RATE.match(text, end)
    else:
        rate = None
    if rate:
        per = float(_YEARS[(rate["unit"] or rate["periodic"] or "a")[0].lower()])
        end = rate.end()
    return Figure(
        value=number.value,
        step=_step(number.text, number.value),
        percent=number.percent,
        whole=number.value.is_integer(),
        scaled=_SCALED.search(number.text) is not None,
        money=number.currency or unit.is_money,
        dimension=unit.dimension,
        size=unit.size,
        offset=unit.offset,
        per=per,
        span=(start, end),
    )


def _read_unit(number: Number, start: int, text: str) -> tuple[Unit, int]:
    """The currency before a number, the unit after it, or the noun that it numbers; and its end."""
    if number.currency:
        currency = currency_of(number.text)
    else:
        code = _CURRENCY_CODE.search(text, max(0, start - 4), start)
        currency = currency_of(code[0]) if code else None
    if currency:
        return currency, number.end
    if number.percent:
        return NO_UNIT, number.end
    unit, end = unit_after(text, number.end)
    if unit.dimension or number.currency:
        return unit, end
    label = numbered().search(text, max(0, start - 12), start)
    # Words such as "page" number a thing, so the figure is no quantity.
    if label:
        return Unit(f"{NUMBERED}{label[1].lower()}"), number.end
    return NO_UNIT, number.end


def _step(written: str, value: float) -> float:
    """The value of the last digit: 0.1 for `12.3`, 100,000 for `1.2 million`."""
    digits = _DIGITS.search(written)
    if not digits:
        return 1.0
    plain = digits[0].replace("'", "").rstrip(".,")
    if "." in plain:
        decimals = len(plain.rsplit(".", 1)[1])
    else:
        decimals = 0
    bare = 0.0
    # "1.2.3" is a version and has no value.
    if plain.count(".") <= 1 and plain.replace(",", "").replace(".", ""):
        bare = float(plain.replace(",", ""))
    scale = abs(value) / bare if bare else 1.0
    return 10.0**-decimals * max(scale, 1.0)


def unit_asked(question: str) -> float:
    """1e6 for `in USD millions`; 0 where the question names no unit."""
    match = _UNIT.search(question)
    if not match:
        return 0.0
    return {"t": 1e3, "m": 1e6, "b": 1e9}[match[1][0].lower()]


def in_unit(figure: Figure, unit: float) -> Figure:
    """A bare figure in the unit that is asked for: 1577 in `USD millions` is 1,577,000,000."""
    # Years and percentages are never in millions.
    if not unit or figure.scaled or figure.percent or figure.year:
        return figure
    return replace(figure, value=figure.value * unit, step=figure.step * unit, scaled=True)

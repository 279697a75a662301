"""Figures with their units as people write them, and when two of them are the same.

3 km are 3000 m and 90 minutes 1.5 hours; another unit or currency is another value. Units are data: `units.toml`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import cast

from answerkey.language.dates import clock_times, frequencies, regularly
from answerkey.language.numbers import ORDER, SPELLED, in_digits
from answerkey.language.words import word_list
from answerkey.text import Number, numbers

TOLERANCE = 0.002
_DEGREES = 2.0  # between scales: 350 °F are given as 175 °C
_POUND = 0.45359237  # kilograms
_SCALED = re.compile(r"thousand|million|billion|trillion|\d\s?(?:bn|[kmb])$", re.IGNORECASE)
_UNIT = re.compile(
    r"\bin (?:units of )?(?:USD |US ?dollars? |US\$ ?|\$ ?)?(thousand|million|billion)s?\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d[\d.,']*")
_RANGE = re.compile(r"\s?(?:to|and|or|bis|à|a|-|–|—)\s?", re.IGNORECASE)
_PLUS = re.compile(
    r",?\s+(?:and\s+)?", re.IGNORECASE
)  # between the parts of `2 hours and 15 minutes`
_SPELLED = re.compile(rf"\b(?:{'|'.join(SPELLED)})\b", re.IGNORECASE)
_ORDERED = re.compile(rf"\b({'|'.join(ORDER)})\b|\b(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)
_RATE = re.compile(
    r"\s*(?:(?:/|per|an?|each|every)\s?(?:(?:billing|calendar|working|business|full)\s)?(?P<unit>hour|h|day|week|month|quarter|year|annum)\b|(?P<periodic>hourly|dai|week|month|quarter|year|annual)ly\b|p\.?\s?a\b)",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\b(?:at )?first(?=\s*(?:[.,;!?]|$))", re.IGNORECASE)  # the adverb
_CODE = re.compile(r"\b[A-Z]{3}\s?$")
_NUMBERED = re.compile(rf"\b({'|'.join(sorted(word_list('numbered')))}) $", re.IGNORECASE)
_DURATIONS = {
    "h": 1 / 8766,
    "d": 1 / 365.25,
    "w": 1 / 52.18,
    "m": 1 / 12,
    "q": 0.25,
    "y": 1.0,
    "a": 1.0,
}  # years
CLOCK, FREQUENCY, CENTS, NUMBERED = "clock", "frequency", "cents", "number of a "


@dataclass(frozen=True, slots=True)
class Figure:
    """`step` is the value of the last digit written: 12.3 is exact to 0.1, 1.2 million to 100,000.

    `dimension` is that of the unit (`length`, `currency USD`), empty without one; `size` and `offset` take the value into
    the dimension's base unit.
    """

    value: float
    step: float
    percent: bool = False
    whole: bool = True
    scaled: bool = False  # the text says thousand, million or billion
    money: bool = False
    dimension: str = ""
    size: float = 1.0
    offset: float = 0.0
    per: float = 0.0  # years: 1/12 for `9 euros a month`, 0 without a rate
    span: tuple[int, int] = field(
        default=(0, 0), compare=False
    )  # its place in the text, with its unit

    def __str__(self) -> str:
        unit = (
            self.dimension.removeprefix("currency ")
            if self.money
            else self.dimension and f"({self.dimension})"
        )
        return f"{self.value:,.10g}{' %' if self.percent else ''}{f' {unit}' if unit else ''}"

    @property
    def base(self) -> float:
        """The value in the base unit of its dimension: 3000 for `3 km`."""
        return self.value * self.size + self.offset

    def other_unit(self, other: Figure) -> bool:
        """Whether both have a unit, and not of the same dimension: days and dollars, ringgit and euros, km and percent."""
        if self.percent != other.percent:
            return bool(self.dimension or other.dimension)
        if self.dimension == other.dimension:
            return False
        dimensions = {self.dimension, other.dimension}
        if dimensions == {"mass", "currency GBP"}:
            return _POUND not in (self.size, other.size)  # `10 pounds` may be either
        if CENTS in dimensions:
            return "" not in dimensions and not (self.money and other.money)
        return "" not in dimensions

    @property
    def dosed(self) -> bool:
        """An amount per time that is also taken that often: `10 mg a day`; not a price or a share."""
        return bool(self.per) and self.dimension in {"mass", "volume"}

    @property
    def count(self) -> bool:
        """A small whole number without a unit: it may count or number things that the text lists."""
        numbered = not self.dimension or self.dimension.startswith(NUMBERED)
        return (
            self.whole and abs(self.value) < 100 and numbered and not (self.percent or self.money)
        )

    def written(self, digits: str) -> bool:
        """Whether it is written with those digits, without its million or billion."""
        try:
            return any(
                math.isclose(abs(self.value), float(digits) * scale)
                for scale in (1.0, 1e3, 1e6, 1e9, 1e12)
            )
        except ValueError:
            return False

    @property
    def year(self) -> bool:
        return (
            self.whole
            and 1000 <= self.value <= 2100
            and self.step == 1.0
            and not (self.percent or self.money or self.dimension)
        )


@lru_cache(maxsize=4096)
def figures(text: str, decimal: str = ".", spelled: bool = True) -> tuple[Figure, ...]:
    """Every number of the text with its unit, every time of day and frequency; `spelled` also reads number words.

    >>> [(figure.value, figure.dimension) for figure in figures("ten days, RM 5, at 8 pm")]
    [(10.0, 'time'), (5.0, 'currency MYR'), (1200.0, 'clock')]
    """
    found: list[Figure] = []
    if spelled:
        text = _FIRST.sub(lambda match: " " * len(match[0]), in_digits(text))
        found += _times(text)
        for figure in found:  # their digits are no figures of their own
            start, end = figure.span
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
        found += [
            Figure(ORDER[match[1].lower()] if match[1] else float(match[2]), 1.0, span=match.span())
            for match in _ORDERED.finditer(text)
        ]
        # As many characters as before, so that places stay the same.
        text = _SPELLED.sub(
            lambda match: f"{SPELLED[match[0].lower()]:g}".rjust(len(match[0]), "\0"), text
        )
    counted = _in_digits_only(text, decimal)
    found += counted
    if spelled:
        taken = [figure.span for figure in counted]
        free = [
            each
            for each in regularly(text)
            if not any(start < each[1] <= end for start, end in taken)
        ]
        found += [
            Figure(times, 0.01, dimension=FREQUENCY, span=(start, end))
            for start, end, times in free
        ]
        found += [
            Figure(1 / figure.per, 0.01, dimension=FREQUENCY, span=figure.span)
            for figure in counted
            if figure.dosed
        ]
    return tuple(sorted(found, key=lambda figure: figure.span))


def _times(text: str) -> list[Figure]:
    """Times of day in minutes (`size` is 720 where it may be morning or evening), and frequencies per year."""
    often = [
        Figure(per_year, 0.01, dimension=FREQUENCY, span=(start, end))
        for start, end, per_year in frequencies(text)
    ]
    clock = [
        Figure(minutes, 1.0, dimension=CLOCK, size=1440.0 if sure else 720.0, span=(start, end))
        for start, end, minutes, sure in clock_times(text)
    ]
    return often + clock


def _in_digits_only(text: str, decimal: str) -> list[Figure]:
    found: list[Figure] = []
    for number in numbers(text, decimal):
        if abs(number.value) >= 1e18:
            continue
        start = number.end - len(number.text)
        while start and text[start - 1] == "\0":
            start -= 1
        currency = _currency_before(
            number.text if number.currency else _CODE.search(text, max(0, start - 4), start)
        )
        figure = _with_unit(number, start, text, currency)
        previous = found[-1] if found else None
        between = text[previous.span[1] : start] if previous else ""
        bare = previous and not (previous.dimension or previous.percent)
        if (
            previous and bare and figure.dimension and _RANGE.fullmatch(between)
        ):  # the first of `2 to 8 °C`
            found[-1] = replace(
                previous, dimension=figure.dimension, size=figure.size, offset=figure.offset
            )
        if previous and _continues(previous, figure) and _PLUS.fullmatch(between):
            total = previous.value + figure.value * figure.size / previous.size
            step = figure.step * figure.size / previous.size
            found[-1] = replace(
                previous,
                value=total,
                step=step,
                whole=False,
                span=(previous.span[0], figure.span[1]),
            )
            continue
        found.append(figure)
    return found


def _continues(first: Figure, second: Figure) -> bool:
    """`2 hours 15 minutes` and `5 feet 10 inches` are one quantity."""
    same = first.dimension == second.dimension and first.dimension in {"time", "length", "mass"}
    return same and second.size < first.size and second.base < first.size


def _with_unit(number: Number, start: int, text: str, currency: str = "") -> Figure:
    """The figure with the unit that stands after it, or the currency before it, and its rate."""
    end, money, unit, per = number.end, number.currency, _NO_UNIT, 0.0
    if currency:
        unit, money = _Unit(f"currency {currency}"), True
    elif not number.percent and (match := _unit_after(text, end)):
        unit = _units()[0][match.lastgroup or ""][1]
        money = money or unit.dimension.startswith("currency") or unit.dimension == CENTS
        end = match.end()
    elif (
        not number.percent
        and not money
        and (label := _NUMBERED.search(text, max(0, start - 12), start))
    ):
        unit = _Unit(f"{NUMBERED}{label[1].lower()}")
    if (unit.dimension or number.percent) and (rate := _RATE.match(text, end)):
        per = _DURATIONS[(rate["unit"] or rate["periodic"] or "a")[0].lower()]
        end = rate.end()
    step, scaled, whole = (
        _step(number.text, number.value),
        _SCALED.search(number.text),
        number.value.is_integer(),
    )
    unit_facts = unit.dimension, unit.size, unit.offset
    return Figure(
        number.value,
        step,
        number.percent,
        whole,
        scaled is not None,
        money,
        *unit_facts,
        per,
        (start, end),
    )


def _currency_before(written: str | re.Match[str] | None) -> str:
    """The currency that a number is written with, or whose code stands before it: `CHF 50`."""
    match = _units()[1].match(
        written if isinstance(written, str) else written[0] if written else ""
    )
    return (match.lastgroup or "") if match else ""


@dataclass(frozen=True, slots=True)
class _Unit:
    dimension: str
    size: float = 1.0
    offset: float = 0.0


_NO_UNIT = _Unit("")


@cache
def _units() -> tuple[Mapping[str, tuple[str, _Unit]], re.Pattern[str]]:
    """The units with the expressions for their names, by the group of each; and the currency signs before a number."""
    tables: dict[str, dict[str, float | list[float]]] = tomllib.loads(
        (files("answerkey.language") / "units.toml").read_text(encoding="utf-8")
    )
    currencies = cast("dict[str, str]", tables.pop("currency"))
    units = {
        f"u{n}": (names, _Unit(dimension, *(size if isinstance(size, list) else [size])))
        for n, (dimension, names, size) in enumerate(
            (dimension, names, size)
            for dimension, table in tables.items()
            for names, size in table.items()
        )
    }
    units |= {code: (names, _Unit(f"currency {code}")) for code, names in currencies.items()}
    before = "|".join(rf"(?P<{code}>{names})" for code, names in currencies.items())
    return units, re.compile(rf"[-−\s]*(?:{before})", re.IGNORECASE)


def _unit_after(text: str, end: int) -> re.Match[str] | None:
    """The unit that stands there, perhaps after a blank or a hyphen; only those that begin with its letter are tried."""
    first = text[end : end + 1]
    if first.isspace() or first == "-":
        first = text[end + 1 : end + 2]
    return _units_with(first.casefold()[:1]).match(text, end)


@lru_cache(maxsize=256)
def _units_with(first: str) -> re.Pattern[str]:
    """The units that can begin with this character in any case; an expression that begins with a group always can."""
    names = {group: names for group, (names, _) in _units()[0].items()}
    begin = {
        group: {one.casefold()[:1] for one in re.findall(r"(?:^|\|)(.)", names[group])}
        for group in names
    }
    after = "|".join(
        rf"(?P<{group}>{names[group]})"
        for group, firsts in begin.items()
        if not firsts.isdisjoint((first, *"([\\"))
    )
    return re.compile(rf"[\s-]?(?:{after})(?![\w/])", re.IGNORECASE)


def unit_asked(question: str) -> float:
    """1e6 for `in USD millions`; 0 where the question names no unit."""
    found = _UNIT.search(question)
    return {"t": 1e3, "m": 1e6, "b": 1e9}[found[1][0].lower()] if found else 0.0


def in_unit(figure: Figure, unit: float) -> Figure:
    """A bare figure in the unit that the question asks for: 1577 in `USD millions` is 1,577,000,000."""
    if not unit or figure.scaled or figure.percent or figure.year:
        return figure
    return replace(figure, value=figure.value * unit, step=figure.step * unit, scaled=True)


def _step(written: str, value: float) -> float:
    digits = _DIGITS.search(written)
    if not digits:
        return 1.0
    plain = digits[0].replace("'", "").rstrip(".,")
    decimals = len(plain.rsplit(".", 1)[1]) if "." in plain else 0
    bare = (
        float(plain.replace(",", ""))
        if plain.count(".") <= 1 and plain.replace(",", "").replace(".", "")
        else 0.0
    )
    scale = abs(value) / bare if bare else 1.0
    return 10.0**-decimals * (scale if scale >= 1 else 1.0)


def figures_agree(wanted: Figure, given: Figure) -> bool:
    """Same value, allowing for rounding of the coarser one, thousands or millions left out, and 0.12 for 12 %.

    Counts and years must be the same, and so must units: 90 minutes are 1.5 hours, but not 90 seconds. The sign is not
    compared: a loss of 5 is written both ways.
    """
    if CLOCK in (wanted.dimension, given.dimension):
        return _same_time(wanted, given)
    if wanted.other_unit(given):
        return False
    if wanted.per and given.per and not math.isclose(wanted.per, given.per):
        return (
            math.isclose(wanted.base / wanted.per, given.base / given.per, rel_tol=0.02)
            and not wanted.percent
        )
    if (
        wanted.dimension
        and given.dimension
        and (wanted.size, wanted.offset) != (given.size, given.offset)
    ):
        if "currency GBP" in (wanted.dimension, given.dimension):
            return wanted.value == given.value
        steps = wanted.step * wanted.size, given.step * given.size
        if wanted.dimension == "temperature":
            return abs(wanted.base - given.base) <= _DEGREES
        return _near(abs(wanted.base), steps[0], abs(given.base), steps[1])
    a, b = abs(wanted.value), abs(given.value)
    if a == b:
        return True
    exact = (
        wanted.whole
        and given.whole
        and max(a, b) < 10_000
        and not (wanted.percent or given.percent)
    )
    if exact or min(a, b) == 0 or _as_precise(wanted, given):
        return False
    scales = (1.0,) if wanted.scaled and given.scaled else (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)
    if wanted.percent != given.percent:
        scales = (*scales, 100.0, 0.01)
    return any(_near(a, wanted.step, b * scale, given.step * scale) for scale in scales)


def _as_precise(wanted: Figure, given: Figure) -> bool:
    """Whether two figures of about the same size differ though neither is rounded: 4711234 and 4711243, 99.99 and 99.95."""
    if wanted.step != given.step or wanted.percent != given.percent:
        return False
    a, b, step = abs(wanted.value), abs(given.value), wanted.step
    rounded = step >= 1 and (a % (100 * step) == 0 or b % (100 * step) == 0)
    return not rounded and (1.0001 if step < 1 else 0) * step < abs(a - b) < 0.05 * max(a, b)


def _same_time(wanted: Figure, given: Figure) -> bool:
    """20:00 is 8 pm, and may be `at 8`."""
    if wanted.dimension == given.dimension:
        return (wanted.value - given.value) % min(wanted.size, given.size) == 0
    bare, time = (wanted, given) if given.dimension == CLOCK else (given, wanted)
    return bare.count and (60 * bare.value - time.value) % 720 == 0


def within(wanted: Figure, given: Figure, tolerance: float) -> bool:
    """Whether two figures differ by at most a share of the wanted one, whatever their units; 12 % is 0.12.

    >>> within(figures("3 km")[0], figures("2950 m")[0], 0.05)
    True
    """
    if wanted.other_unit(given) or not math.isfinite(wanted.value):
        return False
    if wanted.dimension and given.dimension:
        return abs(given.base - wanted.base) <= tolerance * abs(wanted.base) + 1e-12
    scales = (1.0,) if wanted.percent == given.percent else (1.0, 0.01 if given.percent else 100.0)
    return any(
        abs(given.value * s - wanted.value) <= tolerance * abs(wanted.value) + 1e-12 for s in scales
    )


def _near(a: float, step_a: float, b: float, step_b: float) -> bool:
    """Within half of the coarser step, but never more than 5 % apart; or within the tolerance."""
    apart = abs(a - b)
    return apart <= TOLERANCE * a or (
        apart <= 0.5001 * max(step_a, step_b) and apart < 0.05 * max(a, b)
    )

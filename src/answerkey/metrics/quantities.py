"""Figures with their units, and dates, as people write them; and when two of them are the same.

3 km are 3000 m and 90 minutes 1.5 hours; another unit or currency is another value. Units are data: `words/units.toml`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from answerkey.text import numbers

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS) + "|sept"
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>{_MONTH})(?:\.|\b)"
    rf"(?:\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s*(?P<year>[12]\d{{3}}))?"
    rf"|(?<![\d.])(?P<n1>\d{{1,2}})(?P<mark>[./])(?P<n2>\d{{1,2}})(?P=mark)(?P<n3>(?:19|20)\d\d)(?!\d)|(?P<iso>[12]\d{{3}}-\d{{2}}-\d{{2}})|(?<![\d,.$])(?P<only>1[0-9]{{3}}|20[0-9]{{2}})(?![,.]?\d{{2}}|%)",
    re.IGNORECASE,
)
_COUNTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
SPELLED = {word: float(value) for value, word in enumerate(_COUNTS)} | {"thirty": 30.0, "forty": 40.0, "fifty": 50.0}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDER = {word: float(value) for value, word in enumerate(_ORDINALS, start=1)}
COUNTED = {word: int(value) for word, value in {**SPELLED, **_ORDER}.items()}  # `second` and `two` are both 2
_AMBIGUOUS_MONTHS = {"may", "mar", "march", "sep", "dec", "jan"}  # also a verb, names, or the end of another word
TOLERANCE = 0.002
_DEGREES = 2.0  # between scales: 350 °F are given as 175 °C
_POUND = 0.45359237  # kilograms
_SCALED = re.compile(r"thousand|million|billion|trillion|\d\s?(?:bn|[kmb])$", re.IGNORECASE)
_UNIT = re.compile(
    r"\bin (?:units of )?(?:USD |US ?dollars? |US\$ ?|\$ ?)?(thousand|million|billion)s?\b", re.IGNORECASE
)
_PERIOD = re.compile(
    r"\b(?P<decade>[12]\d\d0)['’]?s\b|\b(?P<century>\d{1,2})(?:st|nd|rd|th)[\s-]+centur", re.IGNORECASE
)
_RANGE = re.compile(r"\s?(?:to|and|or|bis|à|a|-|–|—)\s?", re.IGNORECASE)
_TIMES = r"hours?|years?|days?|minutes?|months?|weeks?|miles?|kilomet(?:er|re)s?|km|met(?:er|re)s?"
_HALF = re.compile(
    rf"\b(?:(?P<half>half an?)(?=\s(?:{_TIMES})\b)"
    rf"|(?:an?|one)\s(?P<unit>{_TIMES}) and a half\b|(?P<count>\w+) and a half(?=\s(?:{_TIMES})\b))",
    re.IGNORECASE,
)
_WORDY = re.compile(r"\b(" + "|".join([*SPELLED, *_ORDER]) + r")\b|\b(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)


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

    def __str__(self) -> str:
        unit = self.dimension.removeprefix("currency ") if self.money else self.dimension and f"({self.dimension})"
        return f"{self.value:,.10g}{' %' if self.percent else ''}{f' {unit}' if unit else ''}"

    @property
    def base(self) -> float:
        """The value in the base unit of its dimension: 3000 for `3 km`."""
        return self.value * self.size + self.offset

    def other_unit(self, other: Figure) -> bool:
        """Whether both have a unit, and not of the same dimension: days and dollars, ringgit and euros, km and percent."""
        if self.percent != other.percent:
            return bool(self.dimension or other.dimension)
        if {self.dimension, other.dimension} == {"mass", "currency GBP"}:
            return _POUND not in (self.size, other.size)  # `10 pounds` may be either
        return bool(self.dimension and other.dimension) and self.dimension != other.dimension

    @property
    def count(self) -> bool:
        """A small whole number without a unit: it may count or number things that the text lists."""
        return self.whole and abs(self.value) < 100 and not (self.dimension or self.percent or self.money)

    def written(self, digits: str) -> bool:
        """Whether it is written with those digits, without its million or billion."""
        try:
            bare = float(digits)
        except ValueError:
            return False
        return any(math.isclose(abs(self.value), bare * scale) for scale in (1.0, 1e3, 1e6, 1e9, 1e12))

    @property
    def year(self) -> bool:
        return (
            self.whole
            and 1000 <= self.value <= 2100
            and self.step == 1.0
            and not (self.percent or self.money or self.dimension)
        )


@dataclass(frozen=True, slots=True)
class Date:
    year: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def parts(self) -> int:
        return sum(part is not None for part in (self.year, self.month, self.day))

    def agrees(self, other: Date) -> float:
        """1 when the parts that both give are the same, 0 when one differs, 0.5 when they share none."""
        both = [
            (mine, theirs)
            for mine, theirs in ((self.year, other.year), (self.month, other.month), (self.day, other.day))
            if mine is not None and theirs is not None
        ]
        return 0.5 if not both else float(all(mine == theirs for mine, theirs in both))

    def shared(self, other: Date) -> int:
        """How many parts are the same; none where one differs."""
        return min(self.parts, other.parts) if self.agrees(other) == 1.0 else 0


@lru_cache(maxsize=4096)
def figures(text: str, decimal: str = ".", spelled: bool = True) -> tuple[Figure, ...]:
    """Every number of the text with its unit, those spelled out too, unless `spelled` is false.

    >>> [(figure.value, figure.dimension) for figure in figures("ten days, RM 5")]
    [(5.0, 'currency MYR'), (10.0, 'time')]
    """
    found: list[Figure] = []
    last = 0
    for number in numbers(text, decimal):
        if abs(number.value) >= 1e18:
            continue
        figure = Figure(
            number.value,
            _step(number.text, number.value),
            number.percent,
            number.value == int(number.value),
            bool(_SCALED.search(number.text)),
            number.currency,
        )
        figure = _with_unit(figure, text, number.end, _currency_before(number.text) if number.currency else "")
        ranged = bool(found) and _RANGE.fullmatch(text[last : number.end - len(number.text)])
        if ranged and figure.dimension and not found[-1].dimension:  # the first of `2 to 8 °C`
            found[-1] = replace(found[-1], dimension=figure.dimension, size=figure.size, offset=figure.offset)
        found.append(figure)
        last = number.end
    if not spelled:
        return tuple(found)
    for match in _WORDY.finditer(text):
        word = match[1].lower() if match[1] else ""
        value = float(match[2]) if match[2] else SPELLED.get(word, _ORDER.get(word, 0.0))
        found.append(_with_unit(Figure(value, 1.0), text, match.end()) if word in SPELLED else Figure(value, 1.0))
    for match in _HALF.finditer(text):
        count = match["count"].lower() if match["count"] else ""
        whole = 0.0 if match["half"] else float(count) if count.isdigit() else SPELLED.get(count, 1.0)
        figure = Figure(whole + 0.5, 0.5, whole=False)
        found.append(_with_unit(figure, text, match.start("unit") if match["unit"] else match.end()))
    return tuple(found)


def _with_unit(figure: Figure, text: str, end: int, currency: str = "") -> Figure:
    """The figure with the unit that stands after it, or the currency before it."""
    if currency:
        return replace(figure, dimension=f"currency {currency}", money=True)
    if figure.percent or not (match := _units()[0].match(text, end)):
        return figure
    unit = _units()[1][match.lastgroup or ""]
    money = unit.dimension.startswith("currency")
    return replace(figure, dimension=unit.dimension, size=unit.size, offset=unit.offset, money=figure.money or money)


def _currency_before(written: str) -> str:
    match = _units()[2].match(written)
    return (match.lastgroup or "") if match else ""


@dataclass(frozen=True, slots=True)
class _Unit:
    dimension: str
    size: float = 1.0
    offset: float = 0.0


@cache
def _units() -> tuple[re.Pattern[str], Mapping[str, _Unit], re.Pattern[str]]:
    """What stands after a number, which unit each group of it is, and the currency signs before one."""
    tables: dict[str, dict[str, Any]] = tomllib.loads(
        (files("answerkey.metrics") / "words" / "units.toml").read_text(encoding="utf-8")
    )
    currencies: dict[str, str] = tables.pop("currency")
    units = {
        f"u{n}": (names, _Unit(dimension, *(size if isinstance(size, list) else [size])))
        for n, (dimension, names, size) in enumerate(
            (dimension, names, size) for dimension, table in tables.items() for names, size in table.items()
        )
    }
    units |= {code: (names, _Unit(f"currency {code}")) for code, names in currencies.items()}
    after = "|".join(rf"(?P<{group}>{names})" for group, (names, _) in units.items())
    before = "|".join(rf"(?P<{code}>{names})" for code, names in currencies.items())
    return (
        re.compile(rf"[\s-]?(?:{after})(?![\w/])", re.IGNORECASE),
        {group: unit for group, (_, unit) in units.items()},
        re.compile(rf"[-−\s]*(?:{before})", re.IGNORECASE),
    )


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
    digits = re.search(r"\d[\d.,']*", written)
    if not digits:
        return 1.0
    plain = digits[0].replace("'", "").rstrip(".,")
    decimals = len(plain.rsplit(".", 1)[1]) if "." in plain else 0
    bare = float(plain.replace(",", "")) if plain.count(".") <= 1 and plain.replace(",", "").replace(".", "") else 0.0
    scale = abs(value) / bare if bare else 1.0
    return 10.0**-decimals * (scale if scale >= 1 else 1.0)


def figures_agree(wanted: Figure, given: Figure) -> bool:
    """Same value, allowing for rounding of the coarser one, thousands or millions left out, and 0.12 for 12 %.

    Counts and years must be the same, and so must units: 90 minutes are 1.5 hours, but not 90 seconds. The sign is not
    compared: a loss of 5 is written both ways.
    """
    if wanted.other_unit(given):
        return False
    if wanted.dimension and given.dimension and (wanted.size, wanted.offset) != (given.size, given.offset):
        if "currency GBP" in (wanted.dimension, given.dimension):
            return wanted.value == given.value
        steps = wanted.step * wanted.size, given.step * given.size
        if wanted.dimension == "temperature":
            return abs(wanted.base - given.base) <= _DEGREES
        return _near(abs(wanted.base), steps[0], abs(given.base), steps[1])
    a, b = abs(wanted.value), abs(given.value)
    if a == b:
        return True
    exact = wanted.whole and given.whole and max(a, b) < 10_000 and not (wanted.percent or given.percent)
    if exact or min(a, b) == 0:
        return False
    scales = (1.0,) if wanted.scaled and given.scaled else (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)
    if wanted.percent != given.percent:
        scales = (*scales, 100.0, 0.01)
    return any(_near(a, wanted.step, b * scale, given.step * scale) for scale in scales)


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
    return any(abs(given.value * s - wanted.value) <= tolerance * abs(wanted.value) + 1e-12 for s in scales)


def _near(a: float, step_a: float, b: float, step_b: float) -> bool:
    """Within half of the coarser step, but never more than 5 % apart; or within the tolerance."""
    apart = abs(a - b)
    return apart <= TOLERANCE * a or (apart <= 0.5001 * max(step_a, step_b) and apart < 0.05 * max(a, b))


@lru_cache(maxsize=4096)
def dates(text: str) -> tuple[Date, ...]:
    """Every date of the text, complete or in part."""
    found: list[Date] = []
    for match in _DATE.finditer(text):
        if match["iso"]:
            year, month, day = (int(part) for part in match["iso"].split("-"))
            found.append(Date(year, month, day))
        elif match["n1"]:
            found += _numeric(int(match["n1"]), int(match["n2"]), int(match["n3"]), match["mark"])
        elif match["only"]:
            found.append(Date(year=int(match["only"])))
        elif match["year"] or match["day"] or match["day2"] or match["month"].lower() not in _AMBIGUOUS_MONTHS:
            day = match["day"] or match["day2"]
            month = next(n for n, name in enumerate(MONTHS, 1) if name.startswith(match["month"].lower()[:3]))
            found.append(Date(int(match["year"]) if match["year"] else None, month, int(day) if day else None))
    return tuple(found)


def _numeric(one: int, two: int, year: int, mark: str) -> list[Date]:
    """`03.07.2020` is a day in July; `03/07/2020` may also be one in March."""
    orders = ((one, two),) if mark == "." else ((one, two), (two, one))
    return [Date(year, month, day) for day, month in dict.fromkeys(orders) if 1 <= month <= 12 and 1 <= day <= 31]


def without_dates(text: str) -> str:
    """The text without its dates, but with its bare years."""
    return _DATE.sub(lambda match: match[0] if match["only"] else " ", text)


@lru_cache(maxsize=4096)
def periods(text: str) -> tuple[tuple[int, int], ...]:
    """Every decade and century of the text as its first and last year: `1920s`, `16th century`."""
    found: list[tuple[int, int]] = []
    for match in _PERIOD.finditer(text):
        if match["decade"]:
            first = int(match["decade"])
            found.append((first, first + (99 if first % 100 == 0 else 9)))
        else:
            last = int(match["century"]) * 100
            found.append((last - 100, last))
    return tuple(found)

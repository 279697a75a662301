"""Figures and dates as people write them, and when two of them are the same."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import lru_cache

from answerkey.text import numbers

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS) + "|sept"
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<month>{_MONTH})(?:\.|\b)"
    rf"(?:\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s*(?P<year>[12]\d{{3}}))?"
    rf"|(?P<iso>[12]\d{{3}}-\d{{2}}-\d{{2}})|(?<![\d,.$])(?P<only>1[0-9]{{3}}|20[0-9]{{2}})(?![,.]?\d{{2}}|%)",
    re.IGNORECASE,
)
_COUNTS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
SPELLED = {word: float(value) for value, word in enumerate(_COUNTS)} | {
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDER = {word: float(value) for value, word in enumerate(_ORDINALS, start=1)}
COUNTED = {word: int(value) for word, value in {**SPELLED, **_ORDER}.items()}  # `second` and `two` are both 2
_AMBIGUOUS_MONTHS = {
    "may",
    "mar",
    "march",
    "sep",
    "dec",
    "jan",
}  # also a verb, names, or the end of another word
TOLERANCE = 0.002
_SCALED = re.compile(r"thousand|million|billion|trillion|\d\s?(?:bn|[kmb])$", re.IGNORECASE)
_UNIT = re.compile(
    r"\bin (?:units of )?(?:USD |US ?dollars? |US\$ ?|\$ ?)?(thousand|million|billion)s?\b", re.IGNORECASE
)
_PERIOD = re.compile(
    r"\b(?P<decade>[12]\d\d0)['’]?s\b|\b(?P<century>\d{1,2})(?:st|nd|rd|th)[\s-]+centur", re.IGNORECASE
)
_WORDY = re.compile(r"\b(" + "|".join([*SPELLED, *_ORDER]) + r")\b|\b(\d+)(?:st|nd|rd|th)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """`step` is the value of the last digit written: 12.3 is exact to 0.1, 1.2 million to 100,000."""

    value: float
    step: float
    percent: bool = False
    whole: bool = True
    scaled: bool = False  # the text says thousand, million or billion
    money: bool = False

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
            and not (self.percent or self.money)
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
def figures(text: str) -> tuple[Figure, ...]:
    """Every number of the text, those spelled out too."""
    found = [
        Figure(
            number.value,
            _step(number.text, number.value),
            number.percent,
            number.value == int(number.value),
            bool(_SCALED.search(number.text)),
            number.currency,
        )
        for number in numbers(text)
        if abs(number.value) < 1e18
    ]
    for match in _WORDY.finditer(text):
        word = match[1].lower() if match[1] else ""
        value = float(match[2]) if match[2] else SPELLED.get(word, _ORDER.get(word, 0.0))
        found.append(Figure(value, 1.0))
    return tuple(found)


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
    bare = (
        float(plain.replace(",", ""))
        if plain.count(".") <= 1 and plain.replace(",", "").replace(".", "")
        else 0.0
    )
    scale = abs(value) / bare if bare else 1.0
    return 10.0**-decimals * (scale if scale >= 1 else 1.0)


def figures_agree(wanted: Figure, given: Figure) -> bool:
    """Same value, allowing for rounding of the coarser one, thousands or millions left out, and 0.12 for 12 %.

    Counts and years must be the same. The sign is not compared: a loss of 5 is written both ways.
    """
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
        elif match["only"]:
            found.append(Date(year=int(match["only"])))
        elif (
            match["year"] or match["day"] or match["day2"] or match["month"].lower() not in _AMBIGUOUS_MONTHS
        ):
            day = match["day"] or match["day2"]
            month = next(
                n for n, name in enumerate(_MONTHS, 1) if name.startswith(match["month"].lower()[:3])
            )
            found.append(
                Date(int(match["year"]) if match["year"] else None, month, int(day) if day else None)
            )
    return tuple(found)


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

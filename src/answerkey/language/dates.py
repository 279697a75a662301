"""Dates, decades, times of day and how often something happens, as people write them."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from functools import lru_cache

from answerkey.language.numbers import COUNTED

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = (
    "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS) + "|sept"
)
_DATE = re.compile(
    rf"\b(?:(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?|(?P<end>(?:end|last day)(?=\s+of)))\s+(?:of\s+)?)?(?P<month>{_MONTH})(?:\.|\b)"
    rf"(?:\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?(?:,?\s*(?P<year>[12]\d{{3}}))?"
    rf"|(?<![\d.])(?P<n1>\d{{1,2}})(?P<mark>[./])(?P<n2>\d{{1,2}})(?P=mark)(?P<n3>(?:19|20)\d\d)(?!\d)|(?P<iso>[12]\d{{3}}-\d{{2}}-\d{{2}})|(?<![\d,.$])(?P<only>1[0-9]{{3}}|20[0-9]{{2}})(?![,.]?\d{{2}}|%)",
    re.IGNORECASE,
)
_AMBIGUOUS_MONTHS = {
    "may",
    "mar",
    "march",
    "sep",
    "dec",
    "jan",
}  # also a verb, names, or the end of another word
_PERIOD = re.compile(
    r"\b(?P<decade>[12]\d\d0)['’]?s\b|\b(?P<century>\d{1,2})(?:st|nd|rd|th)[\s-]+centur",
    re.IGNORECASE,
)
_HOUR_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_HOUR = rf"(?:\d{{1,2}}|{_HOUR_WORDS})"
_HALF_OF_DAY = r"(?P<half>[ap]\.?\s?m\b\.?|(?:in the |this )?(?:early |late )?(?:morning|afternoon|evening)\b|at night\b)"
_CLOCK = re.compile(
    rf"(?<![\d:.,$€£])(?:(?P<past>half|quarter|(?:\d{{1,2}}|ten|twenty|five)(?= minutes))(?: minutes)? (?P<way>past|to) "
    rf"(?P<hour>{_HOUR})\b(?:\s?{_HALF_OF_DAY})?"
    rf"|(?P<h24>\d{{1,2}}):(?P<m24>[0-5]\d)(?!:?\d)(?:\s?{_HALF_OF_DAY.replace('half', 'half2')})?"
    rf"|(?P<h12>{_HOUR})(?:[.:](?P<m12>[0-5]\d))?"
    rf"(?:\s?{_HALF_OF_DAY.replace('half', 'half3')}|\s?(?:o['’]clock\b|uhr\b)(?:\s{_HALF_OF_DAY.replace('half', 'half4')})?)"
    r"|(?P<twelve>\b(?:at |until |till |from |by )(?:12 )?(?:noon|midday|midnight)\b))",
    re.IGNORECASE,
)
_PER_YEAR = {
    "minute": 525960.0,
    "hour": 8766.0,
    "day": 365.25,
    "week": 52.18,
    "month": 12.0,
    "quarter": 4.0,
    "year": 1.0,
}
_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_UNIT = "minute|hour|day|week|month|quarter|year"
_UNITLY = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
} | dict.fromkeys(("yearly", "annually"), "year")
_OFTEN = re.compile(
    rf"\b(?:(?P<times>once|twice|thrice)|(?P<many>\d+|{_HOUR_WORDS}) times) "
    rf"(?:(?:an?|per|each|every) (?P<unit>{_UNIT})|(?P<unitly>{'|'.join(_UNITLY)}))\b"
    rf"|\bevery (?:(?P<every>\d+|other|{_HOUR_WORDS}) )?(?P<unit2>{_UNIT})s?\b",
    re.IGNORECASE,
)
_REGULARLY = re.compile(
    rf"\b({'|'.join(_UNITLY)})\b(?=\W*$|[.,;:!?)]|\s(?:to|by|at|on|in|with|for|and|or|from|until)\b)",
    re.IGNORECASE,
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
            for mine, theirs in (
                (self.year, other.year),
                (self.month, other.month),
                (self.day, other.day),
            )
            if mine is not None and theirs is not None
        ]
        return 0.5 if not both else float(all(mine == theirs for mine, theirs in both))

    def shared(self, other: Date) -> int:
        """How many parts are the same; none where one differs."""
        return min(self.parts, other.parts) if self.agrees(other) == 1.0 else 0


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
        elif (
            match["year"]
            or match["day"]
            or match["day2"]
            or match["end"]
            or match["month"].lower() not in _AMBIGUOUS_MONTHS
        ):
            day, year = match["day"] or match["day2"], int(match["year"] or 0)
            month = next(
                n for n, name in enumerate(MONTHS, 1) if name.startswith(match["month"].lower()[:3])
            )
            last = calendar.monthrange(year or 2001, month)[1] if match["end"] else None
            found.append(Date(year or None, month, int(day) if day else last))
    return tuple(found)


def _numeric(one: int, two: int, year: int, mark: str) -> list[Date]:
    """`03.07.2020` is a day in July; `03/07/2020` may also be one in March."""
    orders = ((one, two),) if mark == "." else ((one, two), (two, one))
    return [
        Date(year, month, day)
        for day, month in dict.fromkeys(orders)
        if 1 <= month <= 12 and 1 <= day <= 31
    ]


def without_dates(text: str, years: bool = False) -> str:
    """The text without its dates, but with its bare years unless `years`."""
    return _DATE.sub(lambda match: match[0] if match["only"] and not years else " ", text)


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


def _whole(word: str) -> int:
    return int(word) if word.isdigit() else COUNTED[word.lower()]


def clock_times(text: str) -> list[tuple[int, int, int, bool]]:
    """Every time of day as (start, end, minutes after midnight, whether morning or evening is certain).

    >>> clock_times("from 8 pm")
    [(5, 9, 1200, True)]
    """
    return [(*match.span(), *time) for match in _CLOCK.finditer(text) if (time := _time(match))]


def _time(match: re.Match[str]) -> tuple[int, bool] | None:
    if match["twelve"]:
        return (
            0 if "mid" in match["twelve"].lower() and "day" not in match["twelve"].lower() else 720
        ), True
    half = "".join(match[name] or "" for name in ("half", "half2", "half3", "half4")).lower()
    hour = _whole(match["hour"] or match["h24"] or match["h12"])
    minutes = int(match["m24"] or match["m12"] or 0)
    if match["way"]:
        past = {"half": 30, "quarter": 15}.get(match["past"].lower()) or _whole(match["past"])
        minutes = past if match["way"].lower() == "past" else -past
    if hour > 24 or (half and hour > 12 and not match["h24"]):
        return None
    if half and hour <= 12:
        late = (
            half[0] == "p"
            or "afternoon" in half
            or "evening" in half
            or ("night" in half and hour > 5)
        )
        hour = hour % 12 + (12 if late else 0)
    sure = bool(half) or hour > 12 or hour == 0 or (match["h24"] or "").startswith("0")
    return (60 * hour + minutes) % 1440, sure


def frequencies(text: str) -> list[tuple[int, int, float]]:
    """Every `twice a year` and `every six months` as (start, end, times per year): 2 for both."""
    found: list[tuple[int, int, float]] = []
    for match in _OFTEN.finditer(text):
        if unit := match["unit"] or match["unitly"]:
            times = _TIMES.get((match["times"] or "").lower()) or _whole(match["many"])
            found.append(
                (*match.span(), times * _PER_YEAR[_UNITLY.get(unit.lower(), unit.lower())])
            )
        else:
            every = (match["every"] or "1").lower()
            found.append(
                (
                    *match.span(),
                    _PER_YEAR[match["unit2"].lower()] / (2 if every == "other" else _whole(every)),
                )
            )
    return found


def regularly(text: str) -> list[tuple[int, int, float]]:
    """Every `monthly` that is no part of `the monthly fee`, as (start, end, times per year)."""
    return [
        (*match.span(), _PER_YEAR[_UNITLY[match[1].lower()]]) for match in _REGULARLY.finditer(text)
    ]

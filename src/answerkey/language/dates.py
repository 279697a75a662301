"""Dates as people write them."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from functools import lru_cache

from answerkey.language.words import compile_pattern, read_words

MONTHS: tuple[str, ...] = tuple(read_words("en")["months"].split())


def _month_names() -> str:
    """The months, in full or as their first three letters."""
    names = [f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in MONTHS]
    return "|".join([*names, "sept"])


_DATE = re.compile(
    # 3 July 2020, end of July, July 3rd, 2020
    compile_pattern("dates", "date", month_names=_month_names()).pattern
    # 03.07.2020, 3/7/2020
    + r"|(?<![\d.])(?P<n1>\d{1,2})(?P<mark>[./])(?P<n2>\d{1,2})(?P=mark)(?P<n3>(?:19|20)\d\d)(?!\d)"
    # 2020-07-03, 2020
    r"|(?P<iso>[12]\d{3}-\d{2}-\d{2})"
    r"|(?<![\d,.$])(?P<only>1[0-9]{3}|20[0-9]{2})(?![,.]?\d{2}|%)",
    re.IGNORECASE,
)
# Also a verb, a name, or the end of another word: a month only with a day or a year beside it.
_AMBIGUOUS_MONTHS = frozenset(read_words("en")["dates"]["ambiguous"].split())


@dataclass(frozen=True, slots=True)
class Date:
    """A date, complete or in part."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def parts(self) -> int:
        return sum(part is not None for part in (self.year, self.month, self.day))

    def agrees(self, other: Date) -> float:
        """1 when all parts that both have are equal, 0 when one differs, 0.5 when they share none."""
        parts = zip(
            (self.year, self.month, self.day), (other.year, other.month, other.day), strict=True
        )
        both = [(mine, theirs) for mine, theirs in parts if mine is not None and theirs is not None]
        if not both:
            return 0.5
        return float(all(mine == theirs for mine, theirs in both))

    def shared(self, other: Date) -> int:
        """The number of equal parts; 0 where one differs."""
        if self.agrees(other) == 1.0:
            return min(self.parts, other.parts)
        return 0


@lru_cache(maxsize=4096)
def dates(text: str) -> tuple[Date, ...]:
    """Every date of the text, complete or in part."""
    return tuple(date for match in _DATE.finditer(text) for date in _read_date(match))


def _read_date(match: re.Match[str]) -> list[Date]:
    """The date of a match; two where day and month can be exchanged, none for the verb "may"."""
    if match["iso"]:
        year, month, day = (int(part) for part in match["iso"].split("-"))
        return [Date(year, month, day)]
    if match["n1"]:
        return _read_numeric(match)
    if match["only"]:
        return [Date(year=int(match["only"]))]
    day = match["day"] or match["day2"]
    is_certain = match["year"] or day or match["end"]
    if not is_certain and match["month"].lower() in _AMBIGUOUS_MONTHS:
        return []
    return [_read_named(match, day)]


def _read_numeric(match: re.Match[str]) -> list[Date]:
    """`03.07.2020` is a day in July; `03/07/2020` may also be one in March."""
    first = int(match["n1"])
    second = int(match["n2"])
    orders = [(first, second)]
    # With dots the day always comes first; slashes are used in both orders.
    if match["mark"] != "." and first != second:
        orders.append((second, first))
    return [
        Date(int(match["n3"]), month, day)
        for day, month in orders
        if 1 <= month <= 12 and 1 <= day <= 31
    ]


def _read_named(match: re.Match[str], day: str | None) -> Date:
    year = int(match["year"] or 0)
    start = match["month"].lower()[:3]
    month = next(number for number, name in enumerate(MONTHS, 1) if name.startswith(start))
    if day:
        return Date(year or None, month, int(day))
    if match["end"]:
        # Without a year February has 28 days, as 2001 had.
        last = calendar.monthrange(year or 2001, month)[1]
    else:
        last = None
    return Date(year or None, month, last)


def without_dates(text: str, years: bool = False) -> str:
    """The text without its dates, but with its bare years unless `years`."""
    return _DATE.sub(lambda match: match[0] if match["only"] and not years else " ", text)

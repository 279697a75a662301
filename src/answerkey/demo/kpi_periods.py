"""Which months a question means: `December 2025`, `Q3 2025`, `2024`, `last month`, `this year`."""

from __future__ import annotations

import re
from calendar import month_name, monthrange
from datetime import date

from answerkey.demo.kpi_catalog import Catalog
from answerkey.demo.kpi_database import Period

_YEAR = re.compile(r"\b(20\d\d)\b")
_QUARTER = re.compile(r"\bq([1-4])\b|\b(first|second|third|fourth) quarter\b")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}


def month_of(day: date) -> Period:
    return Period(day.replace(day=1), _last_day(day), f"{month_name[day.month]} {day.year}")


def shifted(period: Period, months: int) -> Period:
    """The period of the same length that begins so many months later (or earlier)."""
    first = _plus(period.first, months)
    last = _last_day(_plus(first, period.months - 1))
    if period.months == 1:
        return month_of(first)
    if period.months == 12 and first.month == 1:
        return Period(first, last, str(first.year))
    return Period(first, last, f"{month_name[first.month]} {first.year} to {month_name[last.month]} {last.year}")


def find_period(question: str, catalog: Catalog, latest: date) -> Period | None:
    """The period the question names, None where it names none. A year alone is the whole of it."""
    says = catalog.words
    named_year = _YEAR.search(question)
    year = int(named_year[1]) if named_year else latest.year
    if _says(question, says.get("last_year", ())):
        year = latest.year - 1
    quarter = _QUARTER.search(question)
    if quarter:
        number = int(quarter[1] or _ORDINALS[quarter[2]])
        first = date(year, 3 * number - 2, 1)
        return Period(first, _last_day(_plus(first, 2)), f"Q{number} {year}")
    month = _month(question, catalog)
    if month:
        # Without a year, the latest month of that name that is in the tables.
        known = named_year is not None or date(year, month, 1) <= latest
        return month_of(date(year if known else year - 1, month, 1))
    if _says(question, says.get("last_month", ())):
        return month_of(latest)
    if named_year or _says(question, says.get("last_year", ())) or _says(question, says.get("this_year", ())):
        last = date(year, 12, 31) if year < latest.year else _last_day(latest)
        return Period(date(year, 1, 1), max(last, date(year, 1, 31)), str(year))
    return None


def _month(question: str, catalog: Catalog) -> int | None:
    for number, names in enumerate(catalog.months, 1):
        for name in names:
            # Short names are words too ("may", "mar"): they need a year after them or "in" before them.
            pattern = rf"\b{name}\b" if len(name) > 3 else rf"\b(?:in|for|of|during)\s+{name}\b|\b{name}\s+20\d\d\b"
            if re.search(pattern, question):
                return number
    return None


def _says(question: str, phrases: tuple[str, ...]) -> bool:
    return any(re.search(rf"\b{re.escape(phrase)}\b", question) for phrase in phrases)


def _plus(day: date, months: int) -> date:
    count = day.year * 12 + day.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)


def _last_day(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])

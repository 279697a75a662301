"""Times as tracers write them: nanoseconds, seconds, ISO 8601 dates and durations."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

_NANOSECONDS = 1_000_000_000
# From these sizes upwards a number counts nano-, micro- or milliseconds since 1970: as seconds
# they would lie thousands of years ahead.
_UNITS = ((10**17, 1), (10**14, 1000), (10**11, 1_000_000))
_MOST_DIGITS = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DURATION = re.compile(
    r"P(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_FRACTION = re.compile(r"(\.\d{6})\d+")  # Python reads at most microseconds
_LATEST = 1 << 62  # in the year 2116; a larger number would not fit into 64 bits


def read_time(value: object) -> int | None:
    """Nanoseconds since 1970 of a time in any of the usual spellings; None where there is none.

    Whole numbers, because a float rounds the nanoseconds of a date.

    >>> read_time("1700000000000000001"), read_time("2023-11-14T22:13:20Z")
    (1700000000000000001, 1700000000000000000)
    """
    if isinstance(value, datetime):  # a column of Parquet
        value = value.isoformat()
    if isinstance(value, str):
        text = value.strip()
        if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
            return _scale_number(int(text))
        try:
            value = float(text)
        except ValueError:
            return _read_date(text)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return _scale_number(value)


def _scale_number(number: float) -> int | None:
    # 0 stands for a time that is not known.
    if number <= 0:
        return None
    unit = next((unit for least, unit in _UNITS if number >= least), _NANOSECONDS)
    if number <= _LATEST:
        nanoseconds = int(number * unit)
    else:
        nanoseconds = 0
    if 0 < nanoseconds <= _LATEST:
        return nanoseconds
    return None


def _read_date(text: str) -> int | None:
    text = _FRACTION.sub(r"\1", text)
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    since = date - _EPOCH
    nanoseconds = (since.days * 86_400 + since.seconds) * _NANOSECONDS + since.microseconds * 1000
    if 0 < nanoseconds <= _LATEST:
        return nanoseconds
    return None


def read_duration(value: object) -> float | None:
    """Seconds of a duration: a number, or `PT1M45.3S`.

    >>> read_duration("PT1M45.5S"), read_duration(2)
    (105.5, 2.0)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if match and any(match.groups()):
            parts = {unit: float(number or 0) for unit, number in match.groupdict().items()}
            hours = parts["days"] * 24 + parts["hours"]
            return hours * 3600 + parts["minutes"] * 60 + parts["seconds"]
    try:
        seconds = float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        return None
    if math.isfinite(seconds) and seconds >= 0:
        return seconds
    return None


def iso_time(nanoseconds: int) -> str:
    """The time as text, in UTC.

    >>> iso_time(1700000000_000000000)
    '2023-11-14T22:13:20+00:00'
    """
    return (_EPOCH + timedelta(microseconds=nanoseconds // 1000)).isoformat()

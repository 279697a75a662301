"""Times of day, and how often something happens."""

from __future__ import annotations

import re

from answerkey.language.numbers import COUNTED
from answerkey.language.words import compile_pattern, read_words

TimeOfDay = tuple[int, int, int, bool]  # start, end, minutes after midnight, is it certain?
Rate = tuple[int, int, float]  # start, end, times per year

_TABLE = read_words("en")["times"]
_HOUR_WORDS = _TABLE["hours"]
_HOUR = rf"(?:\d{{1,2}}|{_HOUR_WORDS})"


def _half_of_day(group: str) -> str:
    return rf"(?P<{group}>{_TABLE['half_of_day']})"


_CLOCK = re.compile(
    # half past eight, 20 minutes to nine in the morning
    r"(?<![\d:.,$€£])"
    rf"(?:{_TABLE['past']}(?P<hour>{_HOUR})\b(?:\s?{_half_of_day('half1')})?"
    # 20:30, 8:30 pm
    rf"|(?P<h24>\d{{1,2}}):(?P<m24>[0-5]\d)(?!:?\d)(?:\s?{_half_of_day('half2')})?"
    # 8 pm, 8.30 am, eight o'clock in the evening
    rf"|(?P<h12>{_HOUR})(?:[.:](?P<m12>[0-5]\d))?"
    rf"(?:\s?{_half_of_day('half3')}|{_TABLE['o_clock']}(?:\s{_half_of_day('half4')})?)"
    rf"|{_TABLE['twelve']})",
    re.IGNORECASE,
)
_PER_YEAR: dict[str, float] = _TABLE["per_year"]
_ADVERBS: dict[str, str] = _TABLE["adverbs"]
_TIMES: dict[str, int] = _TABLE["multiples"]
_ADVERB = "|".join(_ADVERBS)
_OFTEN = compile_pattern(
    "times", "often", times="|".join(_TIMES), unit="|".join(_PER_YEAR), adverb=_ADVERB
)
_REGULARLY = compile_pattern("times", "regularly", adverb=_ADVERB)


def clock_times(text: str) -> list[TimeOfDay]:
    """Every time of day with its place. It is certain when morning or evening is known.

    >>> clock_times("from 8 pm")
    [(5, 9, 1200, True)]
    """
    times: list[TimeOfDay] = []
    for match in _CLOCK.finditer(text):
        time = _read_time(match)
        if time:
            times.append((*match.span(), *time))
    return times


def _read_time(match: re.Match[str]) -> tuple[int, bool] | None:
    if match["twelve"]:
        return (0 if "midnight" in match["twelve"].lower() else 720), True
    halves = [match[name] for name in ("half1", "half2", "half3", "half4") if match[name]]
    half = "".join(halves).lower()
    hour = _read_count(match["hour"] or match["h24"] or match["h12"])
    # "15 pm" is no time, but "15:30 pm" is often written.
    if hour > 24 or (half and hour > 12 and not match["h24"]):
        return None
    if half and hour <= 12:
        # 12 am is midnight and 12 pm is noon.
        hour = hour % 12 + (12 if _is_late(half, hour) else 0)
    # "08:30" has a leading zero and is on the 24-hour clock.
    is_certain = bool(half) or hour > 12 or hour == 0 or (match["h24"] or "").startswith("0")
    return (60 * hour + _read_minutes(match)) % 1440, is_certain


def _read_minutes(match: re.Match[str]) -> int:
    """The minutes after the full hour; negative for `quarter to nine`."""
    if not match["way"]:
        return int(match["m24"] or match["m12"] or 0)
    named = _TABLE["past_words"].get(match["past"].lower())
    minutes = named or _read_count(match["past"])
    if match["way"].lower() == "past":
        return minutes
    return -minutes


def _is_late(half: str, hour: int) -> bool:
    """`8 pm` and `8 in the evening`; `at night` is late unless the hour is small."""
    if half.startswith("p") or "afternoon" in half or "evening" in half:
        return True
    return "night" in half and hour > 5


def _read_count(word: str) -> int:
    if word.isdigit():
        return int(word)
    return COUNTED[word.lower()]


def frequencies(text: str) -> list[Rate]:
    """Every `twice a year` and `every six months`, per year: 2 for both."""
    return [(*match.span(), _read_frequency(match)) for match in _OFTEN.finditer(text)]


def _read_frequency(match: re.Match[str]) -> float:
    unit = match["unit"] or match["adverb"]
    if unit:
        times = _TIMES.get((match["times"] or "").lower()) or _read_count(match["many"])
        return times * _PER_YEAR[_ADVERBS.get(unit.lower(), unit.lower())]
    every = (match["every"] or "1").lower()
    if every == "other":
        interval = 2
    else:
        interval = _read_count(every)
    return _PER_YEAR[match["unit2"].lower()] / interval


def adverb_rates(text: str) -> list[Rate]:
    """Every `monthly` that is no part of `the monthly fee`, per year."""
    return [
        (*match.span(), _PER_YEAR[_ADVERBS[match[1].lower()]])
        for match in _REGULARLY.finditer(text)
    ]

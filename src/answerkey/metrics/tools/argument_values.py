"""When two argument values are the same: numbers, dates, times and text in any usual notation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time

from answerkey.coerce.expected_tools import ANY
from answerkey.coerce.values import is_list, is_mapping, is_number
from answerkey.language.dates import Date, dates, without_dates
from answerkey.language.quantities import Figure, figures
from answerkey.language.times import clock_times
from answerkey.text import format_count, normalise, short_label

_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_CLOSING_MARKS = " .!?;,"
_LONGEST_NOTATION = 60  # a longer text is prose, and no figure or date
_LONGEST_SHOWN = 40
_DEEPEST = 30


def find_differences(
    expected: Mapping[str, object], arguments: Mapping[str, object]
) -> dict[str, str]:
    """The arguments that differ, each with a sentence; null is the same as missing.

    >>> find_differences({"city": "Oslo", "nights": 2}, {"city": "oslo", "nights": "3"})
    {'nights': 'nights is "3", expected 2'}
    """
    differences: dict[str, str] = {}
    allows_others = ANY in expected
    # In the order of the case; arguments that only the call has come last.
    for name in dict.fromkeys([*expected, *arguments]):
        if name == ANY:
            continue
        value = arguments.get(name)
        if name not in expected:
            if value is not None and not allows_others:
                differences[name] = f"{name} is {show_value(value)}, not expected"
            continue
        difference = _find_difference(name, expected[name], value)
        if difference:
            differences[name] = difference
    return differences


def count_arguments(expected: Mapping[str, object], arguments: Mapping[str, object]) -> int:
    """The number of arguments that are compared: all that either side names."""
    names = {name for name, value in expected.items() if value is not None and name != ANY}
    if ANY not in expected:
        names |= {name for name, value in arguments.items() if value is not None}
    return len(names)


def same_arguments(first: Mapping[str, object], second: Mapping[str, object]) -> bool:
    return not find_differences(first, second)


def _find_difference(path: str, expected: object, value: object, depth: int = 0) -> str:
    """A sentence about the first place where two values differ; empty where they agree."""
    if depth > _DEEPEST:
        if expected == value:
            return ""
        return f"{path} differs"
    if expected is None and value is None:
        return ""
    if value is None:
        if expected == ANY:
            return f"{path} is missing"
        return f"{path} is missing, expected {show_value(expected)}"
    if expected == ANY:
        return ""
    expected = _unpack_json(expected, value)
    value = _unpack_json(value, expected)
    if is_mapping(expected) and is_mapping(value):
        inner = find_differences_inside(path, expected, value, depth)
        return next(inner, "")
    if is_list(expected) or is_list(value):
        return _compare_lists(path, _as_items(expected), _as_items(value), depth)
    if values_agree(expected, value):
        return ""
    return f"{path} is {show_value(value)}, expected {show_value(expected)}"


def find_differences_inside(
    path: str, expected: Mapping[str, object], value: Mapping[str, object], depth: int
) -> Iterator[str]:
    for name in dict.fromkeys([*expected, *value]):
        place = f"{path}.{name}"
        if name == ANY:
            continue
        if name not in expected:
            if value[name] is not None and ANY not in expected:
                yield f"{place} is {show_value(value[name])}, not expected"
            continue
        difference = _find_difference(place, expected[name], value.get(name), depth + 1)
        if difference:
            yield difference


def _compare_lists(
    path: str, expected: Sequence[object], value: Sequence[object], depth: int
) -> str:
    if len(expected) != len(value):
        return f"{path} has {format_count(len(value), 'item')}, expected {len(expected)}"
    for place, (right, stated) in enumerate(zip(expected, value, strict=True)):
        difference = _find_difference(f"{path}[{place}]", right, stated, depth + 1)
        if difference:
            return difference
    return ""


def _as_items(value: object) -> Sequence[object]:
    return value if is_list(value) else [value]


def _unpack_json(value: object, other: object) -> object:
    """The object inside a text, where the other value is an object or a list."""
    has_structure = is_mapping(other) or is_list(other)
    if not has_structure or not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def values_agree(expected: object, value: object) -> bool:
    """Whether two single values are the same, whatever their notation.

    >>> values_agree(1250, "$1,250"), values_agree("2024-05-20", "May 20, 2024")
    (True, True)
    >>> values_agree("01234", 1234), values_agree(249.99, 250)
    (False, False)
    """
    if isinstance(expected, bool) or isinstance(value, bool):
        return _read_truth(expected) is not None and _read_truth(expected) == _read_truth(value)
    if is_number(expected) and is_number(value):
        return math.isclose(expected, value, rel_tol=1e-9, abs_tol=1e-12)
    first = str(expected).strip()
    second = str(value).strip()
    if _plain_text(first) == _plain_text(second):
        return True
    if max(len(first), len(second)) > _LONGEST_NOTATION:
        return False
    return _same_date(first, second) or _same_time(first, second) or _same_figure(first, second)


def _read_truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _TRUTHS.get(value.strip().lower())
    return None


def _plain_text(text: str) -> str:
    return normalise(text).rstrip(_CLOSING_MARKS)


def _same_figure(first: str, second: str) -> bool:
    figure = _whole_figure(first)
    other = _whole_figure(second)
    if figure is None or other is None or figure.percent != other.percent:
        return False
    # An amount may lack its unit; 5 km and 5 miles both have one.
    if figure.dimension and other.dimension:
        if figure.dimension != other.dimension:
            return False
        return math.isclose(figure.base, other.base, rel_tol=1e-9, abs_tol=1e-12)
    return math.isclose(figure.value, other.value, rel_tol=1e-9, abs_tol=1e-12)


def _whole_figure(text: str) -> Figure | None:
    """The figure that is the whole text; digits after a leading zero are an id, not a figure."""
    if text[:1] == "0" and text[1:2].isdigit():
        return None
    parts = figures(text)
    if len(parts) != 1 or parts[0].span != (0, len(text)):
        return None
    return parts[0]


def _same_date(first: str, second: str) -> bool:
    days = _whole_dates(first)
    return any(day == other for day in days for other in _whole_dates(second))


def _whole_dates(text: str) -> tuple[Date, ...]:
    """The date that is the whole text; two where day and month can be exchanged."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        # A date with another time than midnight is a moment, not a day.
        if moment.time() != time.min:
            return ()
        return (Date(moment.year, moment.month, moment.day),)
    if without_dates(text, years=True).strip(_CLOSING_MARKS):
        return ()
    return dates(text)


def _same_time(first: str, second: str) -> bool:
    minutes = _whole_time(first)
    return minutes is not None and minutes == _whole_time(second)


def _whole_time(text: str) -> int | None:
    times = clock_times(text)
    if len(times) != 1:
        return None
    start, end, minutes, _is_certain = times[0]
    if (start, end) == (0, len(text)):
        return minutes
    return None


def show_value(value: object) -> str:
    """A value as a sentence quotes it, cut and made inert."""
    return short_label(json.dumps(value, ensure_ascii=False, default=str), _LONGEST_SHOWN)

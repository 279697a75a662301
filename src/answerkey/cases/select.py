"""A choice of cases: those that meet conditions, and a random sample of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from answerkey.coerce.values import is_list
from answerkey.errors import SettingsError, did_you_mean
from answerkey.text import fold
from answerkey.types import Case, Response

_CONDITION = re.compile(r"\s*([\w.\- ]+?)\s*(!=|>=|<=|=|>|<|~)\s*(.*?)\s*", re.DOTALL)
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda value, limit: value > limit,
    "<": lambda value, limit: value < limit,
    ">=": lambda value, limit: value >= limit,
    "<=": lambda value, limit: value <= limit,
}
_CASE_FIELDS = ("id", "question", "type", "priority", "note", "expected_route", "tags", "expected")
_RESPONSE_FIELDS = (
    "answer",
    "route",
    "error",
    "seconds",
    "prompt_tokens",
    "completion_tokens",
    "cost",
)
_ALIASES = {"latency": "seconds", "response_time": "seconds", "session": "conversation"}
_ANY = "*"


@dataclass(frozen=True, slots=True)
class CaseCondition:
    """One condition of `--where`, such as `feedback=down` or `latency>5`."""

    column: str
    operator: str
    value: str

    @classmethod
    def parse(cls, text: str) -> CaseCondition:
        """
        >>> CaseCondition.parse("latency >= 5")
        CaseCondition(column='latency', operator='>=', value='5')
        """
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise SettingsError(
                f'--where "{text}": expected COLUMN=VALUE, or one of != > < >= <= ~ (contains)'
            )
        condition = cls(match[1], match[2], match[3])
        if condition.operator in _OPERATORS and _number(condition.value) is None:
            raise SettingsError(f'--where "{text}": expected a number after {match[2]}')
        return condition

    def holds(self, case: Case) -> bool:
        """Whether a case meets it; a column without a value only meets `!=` and `COLUMN=`."""
        values = column_values(case, self.column)
        if self.operator == "!=":
            return not self._matches(values)
        if self.operator in _OPERATORS:
            limit = _number(self.value) or 0.0
            numbers = [_number(value) for value in values]
            compare = _OPERATORS[self.operator]
            return any(compare(number, limit) for number in numbers if number is not None)
        return self._matches(values)

    def _matches(self, values: Sequence[str]) -> bool:
        if self.value == _ANY:
            return bool(values)
        if not self.value:
            return not values
        needle = fold(self.value)
        if self.operator == "~":
            return any(needle in fold(value) for value in values)
        return any(needle == fold(value) for value in values)


def column_values(case: Case, column: str) -> list[str]:
    """The values of a column of a case as texts; several for a list, none where it is empty."""
    name = _ALIASES.get(column, column)
    response = case.recorded or Response()
    if name == "tool":
        return [call.name for call in response.tools or ()]
    if name in _CASE_FIELDS:
        return _texts(getattr(case, name))
    if name in _RESPONSE_FIELDS:
        return _texts(getattr(response, name))
    return _texts(case.extra.get(name))


def _texts(value: object) -> list[str]:
    if value is None or value == "":
        return []
    if is_list(value):
        return [str(item) for item in value]
    return [str(value)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def filter_cases(cases: Iterable[Case], conditions: Sequence[CaseCondition]) -> Iterator[Case]:
    """The cases that meet all conditions; a column that no case has is an error."""
    # A misspelt column would silently match nothing. It is known only after the last case, because
    # a column of a log may be empty in most rows.
    unseen = {condition.column for condition in conditions}
    columns: set[str] = set()
    for case in cases:
        # Columns are collected only while one is missing.
        if unseen:
            unseen = {column for column in unseen if not _has_column(case, column)}
            columns.update(case.extra)
        if all(condition.holds(case) for condition in conditions):
            yield case
    if unseen:
        column = min(unseen)
        names = [*columns, *_CASE_FIELDS, *_RESPONSE_FIELDS, *_ALIASES, "tool"]
        hint = did_you_mean(column, names)
        raise SettingsError(f'--where: no case has the column "{column}"{hint}')


def _has_column(case: Case, column: str) -> bool:
    known_names = (*_CASE_FIELDS, *_RESPONSE_FIELDS, *_ALIASES, "tool", "feedback")
    return column in known_names or column in case.extra


def sample_cases(cases: Iterable[Case], count: int, seed: int = 0) -> list[Case]:
    """`count` cases drawn at random, in their order; all of them where there are fewer.

    One pass, and no more than `count` cases in memory (reservoir sampling).
    """
    random = Random(seed)
    chosen: list[tuple[int, Case]] = []
    for number, case in enumerate(cases):
        if len(chosen) < count:
            chosen.append((number, case))
            continue
        # Each case has the same chance, however many follow.
        place = random.randrange(number + 1)
        if place < count:
            chosen[place] = (number, case)
    # In the order of the file, so that turns of a conversation stay in order.
    return [case for _, case in sorted(chosen, key=lambda pair: pair[0])]

"""Whether the answer uses the results of its tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from answerkey.coerce.values import Place, is_list, is_mapping, is_number, parse_literal
from answerkey.language.dates import Date, dates, without_dates
from answerkey.metrics.registry import metric
from answerkey.metrics.tools.call_lists import all_calls, split_failed
from answerkey.text import numbers, short_label, words
from answerkey.types import Case, Response, Score, ToolCall

# A word that begins with a capital inside a sentence, and anything with letters and digits.
_NAME = re.compile(
    r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+)*|\b(?=\w*\d)\w*[A-Za-z]\w*"
)
_MOST_WORDS = 5  # a longer value of an object is prose
_LONGEST_RESULT = 50_000  # characters; the facts of a larger result are not worth the time
_DEEPEST = 30
_PLACE = Place("a tool result", live=True)


@dataclass(frozen=True, slots=True)
class ResultFacts:
    """Figures, dates and names: as values that can be looked up in a text."""

    figures: frozenset[float] = frozenset()
    days: frozenset[Date] = frozenset()
    names: frozenset[tuple[str, ...]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.figures or self.days or self.names)

    def without(self, other: ResultFacts, text: str) -> ResultFacts:
        """The facts that another text does not state already."""
        return ResultFacts(
            self.figures - other.figures,
            self.days - other.days,
            frozenset(name for name in self.names if not states_name(text, name)),
        )

    def is_used_in(self, text: str) -> bool:
        stated = facts_of_text(text)
        if self.figures & stated.figures or self.days & stated.days:
            return True
        return any(states_name(text, name) for name in self.names)


def states_name(text: str, name: tuple[str, ...]) -> bool:
    return f" {' '.join(name)} " in f" {' '.join(words(text))} "


def facts_of_text(text: str) -> ResultFacts:
    """The figures, dates and names of prose."""
    text = text[:_LONGEST_RESULT]
    names = frozenset(words(match[0]) for match in _NAME.finditer(text))
    # Without the dates, because the year of a date is no figure of its own.
    figures = frozenset(round(number.value, 6) for number in numbers(without_dates(text)))
    return ResultFacts(figures, frozenset(dates(text)), names - {()})


def facts_of_result(result: object) -> ResultFacts:
    """The facts of a result: prose, an object, or an object inside a text.

    >>> sorted(facts_of_result({"city": "Oslo", "degrees": 12}).names)
    [('oslo',)]
    """
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        result = parse_literal(result[:_LONGEST_RESULT], "result", _PLACE)
    if isinstance(result, str):
        return facts_of_text(result)
    figures: set[float] = set()
    days: set[Date] = set()
    names: set[tuple[str, ...]] = set()
    for value in _leaves(result):
        if is_number(value):
            figures.add(round(float(value), 6))
        elif isinstance(value, str):
            facts = facts_of_text(value)
            figures |= facts.figures
            days |= facts.days
            names |= facts.names
            value_words = words(value)
            if value_words and len(value_words) <= _MOST_WORDS and not facts.days:
                names.add(value_words)
    return ResultFacts(frozenset(figures), frozenset(days), frozenset(names))


def _leaves(value: object, depth: int = 0) -> Iterator[object]:
    # A truth value is no fact that could be found again in a text.
    if depth > _DEEPEST or isinstance(value, bool):
        return
    if is_mapping(value):
        for item in value.values():
            yield from _leaves(item, depth + 1)
    elif is_list(value):
        for item in value:
            yield from _leaves(item, depth + 1)
    else:
        yield value


@metric(
    "tool_use",
    needs=("answer", "tools"),
    uses=("question",),
    empty="not applicable where no result has a figure, date or name",
)
def tool_use(case: Case, response: Response) -> Score:
    """Share of the calls whose result is used: a fact of it is in the answer or in a later call.

    The result `{"degrees": 12}` is used by "It is 12 degrees", and not by "It is 15 degrees".
    Facts are figures, dates and names that the question and the call do not have already.
    """
    calls = split_failed(all_calls(response.tools or ())).done
    unused: list[str] = []
    count = 0
    for place, call in enumerate(calls):
        facts = _new_facts(case, call)
        if not facts:
            continue
        count += 1
        later = " ".join(_text_of_arguments(each) for each in calls[place + 1 :])
        if not facts.is_used_in(f"{response.answer or ''}\n{later}"):
            unused.append(call.name)
    if not count:
        return Score.not_applicable("no result with a figure, date or name")
    names = ", ".join(short_label(name) for name in dict.fromkeys(unused))
    if unused:
        reason = f"not used: the result of {names}"
    else:
        reason = ""
    return Score(1 - len(unused) / count, reason, details={"unused": unused})


def _new_facts(case: Case, call: ToolCall) -> ResultFacts:
    stated = f"{case.question}\n{_text_of_arguments(call)}"
    return facts_of_result(call.result).without(facts_of_text(stated), stated)


def _text_of_arguments(call: ToolCall) -> str:
    values: Sequence[object] = list(_leaves(call.arguments))
    return " ".join(str(value) for value in values)

"""The figures and names that a text states, to compare an answer with the expected one."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from answerkey.language.dates import Date, dates, without_dates
from answerkey.language.figure_match import figures_agree
from answerkey.language.numbers import in_digits
from answerkey.language.quantities import Figure, figures
from answerkey.language.sentences import content_stems, pieces
from answerkey.language.words import opposites, synonyms, word_list

_LONGEST_READ = 20_000  # characters of a text; longer passages are cut before they are compared
_CAPITAL_RUN = regex.compile(
    r"\b\p{Lu}[\p{L}\p{N}'’-]*(?:\s+(?:(?:of|de|van|von|la)\s+)?\p{Lu}[\p{L}\p{N}'’-]*)*"
)
_OPENING_WORD = regex.compile(r"^\W*(yes|no|yeah|nope|true|false|correct|sure)\b", regex.IGNORECASE)
_MONTHS = frozenset(name.casefold() for name in month_name if name)
_YES = {"yes", "yeah", "true", "correct", "sure"}
_YES_NO_QUESTION = regex.compile(
    r"^\W*(?:is|are|was|were|am|does|do|did|has|have|had|can|could|will|would|should|must|may)\b",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A figure, a date or a name as the text writes it."""

    text: str
    value: Figure | Date | str
    is_sure: bool = True

    def is_same(self, other: Statement) -> bool:
        if isinstance(self.value, Figure) and isinstance(other.value, Figure):
            return figures_agree(self.value, other.value)
        if isinstance(self.value, Date) and isinstance(other.value, Date):
            return self.value.agrees(other.value) == 1.0
        if isinstance(self.value, str) and isinstance(other.value, str):
            return _share_word(self.value, other.value)
        return False

    def is_comparable(self, other: Statement) -> bool:
        """Whether one could stand in the other's place: 28 days for 25, not 28 days for 25 euros."""
        if isinstance(self.value, Figure) and isinstance(other.value, Figure):
            return not self.value.other_unit(other.value)
        return type(self.value) is type(other.value)


def _share_word(first: str, second: str) -> bool:
    """Whether two names have a word in common: a surname stands for the whole name."""
    return not set(first.casefold().split()).isdisjoint(second.casefold().split())


@lru_cache(maxsize=2048)
def read_figures(text: str) -> tuple[Statement, ...]:
    """Figures with their unit, and dates."""
    text = text[:_LONGEST_READ]
    read = [Statement(_date_text(date), date) for date in dates(text) if date.parts > 1]
    plain = in_digits(without_dates(text))
    for figure in figures(plain):
        start, end = figure.span
        written = plain[start:end].strip(" ,.;:") or str(figure)
        read.append(Statement(written, figure))
    return tuple(read)


def _date_text(date: Date) -> str:
    if date.month is None:
        month = ""
    else:
        month = month_name[date.month]
    day = "" if date.day is None else str(date.day)
    year = "" if date.year is None else str(date.year)
    return " ".join(part for part in (day, month, year) if part)


@lru_cache(maxsize=2048)
def read_names(text: str, question: str = "") -> tuple[Statement, ...]:
    """Runs of words with a capital that the question does not contain, surest first.

    The first word of a sentence has a capital anyway; alone it is a name only if nothing better
    is found, and if it is no common word.
    """
    text = text[:_LONGEST_READ]
    starts = {piece.start for piece in pieces(text)}
    sure: list[Statement] = []
    doubtful: list[Statement] = []
    for match in _CAPITAL_RUN.finditer(text):
        words = match[0].split()
        begins_sentence = match.start() in starts
        if begins_sentence and words[0].casefold() in word_list("stop_words"):
            words = words[1:]
            begins_sentence = False
        name = " ".join(words)
        if not name or _is_no_name(name, question):
            continue
        is_doubtful = begins_sentence and len(words) == 1 and not _has_inner_capital(name)
        (doubtful if is_doubtful else sure).append(Statement(name, name, not is_doubtful))
    return tuple(sure + doubtful)


def _is_no_name(name: str, question: str) -> bool:
    if _OPENING_WORD.match(name) or name.casefold() in _MONTHS:
        return True
    stems = content_stems(name)
    return not stems or stems <= content_stems(question)


def _has_inner_capital(word: str) -> bool:
    return any(char.isupper() for char in word[1:])


def find_rival(
    stated: Sequence[Statement], expected: Sequence[Statement]
) -> tuple[Statement, Statement] | None:
    """The first expected statement that is missing, with the one that stands in its place."""
    for wanted in expected:
        if any(wanted.is_same(statement) for statement in stated):
            continue
        for statement in stated:
            is_right = any(statement.is_same(other) for other in expected)
            if not is_right and statement.is_comparable(wanted):
                return statement, wanted
    return None


def without_question(
    statements: Iterable[Statement], question: Sequence[Statement]
) -> tuple[Statement, ...]:
    """The statements that the question does not contain already."""
    return tuple(
        statement
        for statement in statements
        if not any(statement.is_same(other) for other in question)
    )


def find_passage(statement: Statement, passages: Sequence[str]) -> int | None:
    """The number of the first passage that contains the statement, from 1."""
    for number, passage in enumerate(passages, start=1):
        if isinstance(statement.value, str):
            if content_stems(statement.value) <= content_stems(passage[:_LONGEST_READ]):
                return number
        elif any(statement.is_same(other) for other in read_figures(passage)):
            return number
    return None


def polarity(text: str) -> int:
    """1 for a yes, -1 for a no, also where it is implied by a negation."""
    if opening := _OPENING_WORD.match(text):
        return 1 if opening[1].casefold() in _YES else -1
    negations = sum(piece.negations for piece in pieces(text[:_LONGEST_READ]))
    return -1 if negations % 2 else 1


def asks_yes_or_no(question: str) -> bool:
    return _YES_NO_QUESTION.match(question) is not None and " or " not in question


def starts_with_yes_or_no(text: str) -> bool:
    return _OPENING_WORD.match(text) is not None


def find_opposite(answer: str, expected: str) -> tuple[str, str] | None:
    """A stem of the expected answer with its opposite in the answer: "approved", "rejected"."""
    answer_stems = content_stems(answer)
    for stem in sorted(content_stems(expected) - answer_stems):
        for opposite in sorted(opposites().get(stem, frozenset()) & answer_stems):
            return opposite, stem
    return None


def own_words(text: str, question: str) -> set[str]:
    """The stems of a text that the question does not contain, without a yes or no."""
    return content_stems(_OPENING_WORD.sub("", text)) - content_stems(question)


def share_of_words(words: Iterable[str], text: str) -> float:
    """The share of the stems that a text contains, itself or as a synonym."""
    stems = list(words)
    if not stems:
        return 0.0
    in_text = content_stems(text[:_LONGEST_READ])
    return sum(_has_word(stem, in_text) for stem in stems) / len(stems)


def _has_word(stem: str, stems: set[str]) -> bool:
    return stem in stems or not stems.isdisjoint(synonyms().get(stem, frozenset()))


def missing_items(answer: str, expected: str) -> list[str]:
    """The items of an expected list that the answer does not mention."""
    items = [item for item in split_items(expected) if content_stems(item)]
    return [item for item in items if share_of_words(content_stems(item), answer) < 0.5]


_ITEM_END = regex.compile(r",\s*(?:and|or)?\s+|;\s*|\s+(?:and|or)\s+")


def split_items(text: str) -> Iterator[str]:
    for item in _ITEM_END.split(text.strip(" .")):
        if item.strip():
            yield item.strip()

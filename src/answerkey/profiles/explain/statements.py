"""The figures and names that a text states, to compare an answer with the expected one."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from answerkey.language.dates import Date, dates, without_dates
from answerkey.language.figure_match import figures_agree
from answerkey.language.numbers import in_digits
from answerkey.language.quantities import Figure, figures
from answerkey.language.sentences import content_stems, pieces
from answerkey.language.words import word_list
from answerkey.profiles.explain.wording import LONGEST_READ, starts_with_yes_or_no

# "Ana Silva", "Bank of Japan", "Ludwig van Beethoven": words with a capital, and small ones between them.
_CAPITAL_RUN = regex.compile(
    r"\b\p{Lu}[\p{L}\p{N}'’-]*(?:\s+(?:(?:of|de|van|von|la)\s+)?\p{Lu}[\p{L}\p{N}'’-]*)*"
)
_YEAR = regex.compile(r"(?:19|20)\d\d")
_MONTHS = frozenset(name.casefold() for name in month_name if name)


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
            return _is_same_name(self.value, other.value)
        return False

    def is_comparable(self, other: Statement) -> bool:
        """Whether one could stand in the other's place: 28 days for 25, not 28 days for 25 euros."""
        if isinstance(self.value, Figure) and isinstance(other.value, Figure):
            # "RM 3,287" stands in place of another amount, not of the year beside it.
            is_year = _is_year(self) != _is_year(other)
            return not is_year and not self.value.other_unit(other.value)
        return type(self.value) is type(other.value)


def _is_year(statement: Statement) -> bool:
    return _YEAR.fullmatch(statement.text) is not None


def _is_same_name(first: str, second: str) -> bool:
    """Whether one name is a part of the other: a surname stands for the whole name.

    A word in common is not enough: "Frost Saver" is not "Snow Saver".
    """
    first_words = _name_words(first)
    second_words = _name_words(second)
    return first_words <= second_words or second_words <= first_words


def _name_words(name: str) -> set[str]:
    """The words of a name without initials: "John F. Kennedy" is "John Kennedy"."""
    words = name.casefold().replace(".", " ").split()
    return {word for word in words if len(word) > 1} or set(words)


# Several rules read the figures of the same question, answer and passages.
@lru_cache(maxsize=2048)
def find_figures(text: str) -> tuple[Statement, ...]:
    """Figures with their unit, and dates."""
    text = text[:LONGEST_READ]
    read = [Statement(_date_text(date), date) for date in dates(text) if date.parts > 1]
    # "Twenty-five days" and "25 days" are the same figure.
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
def find_names(text: str, question: str = "") -> tuple[Statement, ...]:
    """Runs of words with a capital that the question does not contain, surest first.

    The first word of a sentence has a capital anyway; alone it is a name only if nothing better
    is found, and if it is no common word.
    """
    text = text[:LONGEST_READ]
    starts = {piece.start for piece in pieces(text)}
    sure: list[Statement] = []
    doubtful: list[Statement] = []
    for match in _CAPITAL_RUN.finditer(text):
        words = match[0].split()
        begins_sentence = match.start() in starts
        # Without "The", the capital of "The Bank of Japan" has no other reason than the name.
        if begins_sentence and words[0].casefold() in word_list("stop_words"):
            words = words[1:]
            begins_sentence = False
        name = " ".join(words)
        if not name or _is_no_name(name, question):
            continue
        # The start of a sentence does not explain the capitals inside "NASA".
        is_doubtful = begins_sentence and len(words) == 1 and not _has_inner_capital(name)
        (doubtful if is_doubtful else sure).append(Statement(name, name, not is_doubtful))
    return tuple(sure + doubtful)


def _is_no_name(name: str, question: str) -> bool:
    if starts_with_yes_or_no(name) or name.casefold() in _MONTHS | word_list("honorifics"):
        return True
    stems = content_stems(name)
    return not stems or stems <= content_stems(question)


def _has_inner_capital(word: str) -> bool:
    return any(char.isupper() for char in word[1:])


def find_rival(
    stated: Sequence[Statement], expected: Sequence[Statement]
) -> tuple[Statement, Statement] | None:
    """The first expected statement that is missing, with the one that stands in its place."""
    for missing in expected:
        if any(missing.is_same(statement) for statement in stated):
            continue
        for statement in stated:
            # A figure that is right for another expected figure replaces none.
            is_right = any(statement.is_same(other) for other in expected)
            if not is_right and statement.is_comparable(missing):
                return statement, missing
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
            if content_stems(statement.value) <= content_stems(passage[:LONGEST_READ]):
                return number
        elif any(statement.is_same(other) for other in find_figures(passage)):
            return number
    return None

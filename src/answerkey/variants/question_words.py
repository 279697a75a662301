"""The words of a question, and which of them a variant must not touch."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from answerkey.text import fold
from answerkey.types import Case

# A word with the marks that belong to it: "don't", "e-mail", "B2B", "3,000".
_WORD = re.compile(r"\w+(?:['’.,-]\w+)*")


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """One word at its place in the question. A `needed` word may not be changed or removed."""

    text: str
    start: int
    end: int
    needed: bool

    @property
    def is_plain(self) -> bool:
        """Only letters, so that a slip of the finger makes another word of letters."""
        return self.text.isalpha()


def split_question(case: Case) -> list[QuestionWord]:
    """The words of a case's question. Figures and words of the expectation are needed."""
    needed = needed_words(case)
    return [
        QuestionWord(match[0], match.start(), match.end(), _is_needed(match[0], needed))
        for match in _WORD.finditer(case.question)
    ]


def needed_words(case: Case) -> frozenset[str]:
    """Folded words of everything the case expects: a changed one could make the answer wrong."""
    checks = case.criteria
    texts = [
        *case.expected,
        *checks.must_contain,
        *checks.must_contain_any,
        *checks.acceptable_if_includes,
    ]
    return frozenset(_folded_words(texts))


def _folded_words(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        for match in _WORD.finditer(text):
            yield fold(match[0])


def _is_needed(word: str, needed: frozenset[str]) -> bool:
    has_digit = any(character.isdigit() for character in word)
    return has_digit or fold(word) in needed

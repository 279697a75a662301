"""The content words of questions and answers, in the language of the test set."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from answerkey.retrieval.search_words import detect_language, load_stemmer, stop_words
from answerkey.text import fold, words
from answerkey.types import Case

_ENGLISH = "en"


@dataclass(frozen=True)
class SetLanguage:
    """`code` is the ISO code of the questions' language, "" where it is not clear."""

    code: str

    def content(self, text: str) -> frozenset[str]:
        """The stems of the words that are no stop words."""
        stem = load_stemmer(self.code)
        ignored = stop_words(self.code)
        return frozenset(stem(word) for word in words(text) if word not in ignored)

    def subject(self, text: str) -> frozenset[str]:
        """The stems of the words that name something."""
        names = (word for word in words(text) if not self.is_generic(word))
        return self.content(" ".join(names))

    def is_pronoun(self, word: str) -> bool:
        return word in _word_list("pronouns", self.code)

    def is_generic(self, word: str) -> bool:
        return word in _word_list("generic", self.code)

    def is_plain_answer(self, text: str) -> bool:
        """Whether an answer is a plain yes or no, alone."""
        return set(words(text)) <= _word_list("plain_answers", self.code)

    def offers_choice(self, question: str) -> bool:
        """Whether the question has an "or"."""
        return not _word_list("choices", self.code).isdisjoint(words(question))

    def pointer(self, question: str) -> str:
        """The phrase of the question that points at a text the bot is not shown; else ""."""
        folded = fold(question)
        phrases = _data()["pointers"].get(self.code, ())
        return next((phrase for phrase in phrases if phrase in folded), "")

    @property
    def has_word_lists(self) -> bool:
        return self.code in _data()["generic"]


def language_of_cases(cases: Sequence[Case]) -> SetLanguage:
    """The language of the questions and expected answers."""
    texts = [" ".join((case.question, *case.expected)) for case in cases]
    return SetLanguage(detect_language(texts) or _language_of_few_words(texts))


def _language_of_few_words(texts: Sequence[str]) -> str:
    """The language with most stop words, where there is too little text for `detect_language`."""
    every_word = [word for text in texts for word in words(text)]
    counts = {
        code: sum(word in stop_words(code) for word in every_word) for code in _data()["generic"]
    }
    best = max(counts, key=lambda code: counts[code])
    if counts[best] > counts[_ENGLISH]:
        return best
    # A few English words without a stop word, such as "Warranty period?".
    if all(text.isascii() for text in texts):
        return _ENGLISH
    return ""


def _word_list(name: str, code: str) -> frozenset[str]:
    return _word_lists(name).get(code, frozenset())


@cache
def _word_lists(name: str) -> dict[str, frozenset[str]]:
    return {code: frozenset(fold(text).split()) for code, text in _data()[name].items()}


@cache
def _data() -> dict[str, Any]:
    path = files("answerkey.testsets").joinpath("data/questions.toml")
    return tomllib.loads(path.read_text("utf-8"))

"""The same question as search keywords, as speech, in lower case, or between a greeting and thanks."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from random import Random

from answerkey.retrieval.search_words import stop_words
from answerkey.text import fold
from answerkey.types import Case
from answerkey.variants.question_words import QuestionWord, split_question

_PHRASES = Path(__file__).parent / "data" / "phrases.toml"
_END_MARKS = " ?!.¿¡？。！"
_LEAST_KEYWORDS = 2  # one word alone is usually another, wider question


@cache
def _read_phrases() -> dict[str, dict[str, list[str]]]:
    """Language code → its fillers, corrections, openings, closings and negations."""
    return tomllib.loads(_PHRASES.read_text(encoding="utf-8"))


def to_keywords(case: Case, language: str) -> str | None:
    """The words that carry the subject, as typed into a search box; None where too few are left."""
    negations = frozenset(_read_phrases().get(language, {}).get("negations", []))
    fillers = stop_words(language) - negations
    kept = [word.text for word in split_question(case) if _is_keyword(word, fillers)]
    if len(kept) < _LEAST_KEYWORDS:
        return None
    return " ".join(kept).lower()


def _is_keyword(word: QuestionWord, fillers: frozenset[str]) -> bool:
    return word.needed or fold(word.text) not in fillers


def to_speech(case: Case, random: Random, language: str) -> str | None:
    """The question with a filler and a false start, as in speech; None for a very short question."""
    words = case.question.strip(_END_MARKS).split()
    if len(words) < 4 or language not in _read_phrases():
        return None
    # The false start repeats words of the question itself, so that nothing new is asked.
    restart = random.randint(2, min(3, len(words) - 2))
    correction = random.choice(_read_phrases()[language]["corrections"])
    filler = random.choice(_read_phrases()[language]["fillers"])
    filler_place = random.randint(restart + 1, len(words) - 1)
    start = " ".join(words[:restart])
    middle = " ".join(words[restart:filler_place])
    end = " ".join(words[filler_place:])
    return f"{start}, {correction}, {start} {middle} {filler} {end}".lower()


def to_lower_case(case: Case) -> str:
    """The question in lower case and without the mark at the end."""
    return case.question.strip(_END_MARKS).lower()


def with_greeting(case: Case, random: Random, language: str) -> str | None:
    """Between a greeting and thanks; None where no phrases of the language are known."""
    if language not in _read_phrases():
        return None
    opening = random.choice(_read_phrases()[language]["openings"])
    closing = random.choice(_read_phrases()[language]["closings"])
    return f"{opening} {case.question.strip()} {closing}"

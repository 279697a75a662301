"""The language of a message, by its script and its most frequent words."""

from __future__ import annotations

import unicodedata
from functools import cache

from answerkey.retrieval.search_words import stop_words
from answerkey.text import words

LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "nl")
_LEAST_WORDS = 2  # function words by which a language is known
_LEAST_LEAD = 1.3  # times as many as of the next language


def detect_message_language(text: str) -> str | None:
    """A code such as "en", the name of another script, or None where it is unclear.

    >>> detect_message_language("Where is my order and when will it arrive?")
    'en'
    >>> detect_message_language("OK") is None
    True
    """
    letters = [char for char in text if char.isalpha()]
    foreign = [char for char in letters if char > "\u024f"]
    if letters and len(foreign) > len(letters) / 2:
        return unicodedata.name(foreign[0], "OTHER").split(" ")[0].lower()
    message_words = words(text)
    counts = {
        language: sum(word in _function_words(language) for word in message_words)
        for language in LANGUAGES
    }
    # Function words: names and loan words look the same in many languages.
    ranked = sorted(counts, key=lambda language: -counts[language])
    best = counts[ranked[0]]
    if best < _LEAST_WORDS or best < _LEAST_LEAD * counts[ranked[1]]:
        return None
    return ranked[0]


@cache
def _function_words(language: str) -> frozenset[str]:
    return stop_words(language) - stop_words("any")

"""A light English stemmer: plural and verb endings are removed, accents too."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SHORTEST = 4  # letters; shorter words are their own stem
_NOUNS_IN_NESS = frozenset({"business", "agribusiness"})
_VOWEL = re.compile(r"[aeiouy].")
# The first ending that fits is replaced; longer ones stand before those that they end with.
_ENDINGS = (
    ("ations", "at"),
    ("ation", "at"),
    ("ions", ""),
    ("ion", ""),
    ("ingly", ""),
    ("edly", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("zes", "z"),
    ("ing", ""),
    ("ed", ""),
    ("ly", ""),
    ("s", ""),
)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a lower-case word.

    >>> stem("regulations"), stem("café"), stem("1,500.00")
    ('regulat', 'caf', '1500')
    """
    if not word.isascii():
        plain = _remove_accents(word)
        # Letters of other scripts have no English endings.
        if not plain or not plain.isascii():
            return plain or word
        word = plain
    if word[:1].isdigit():
        return _plain_number(word)
    if len(word) < _SHORTEST:
        return word
    return _trim(_remove_ending(word))


def _remove_accents(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(ch for ch in decomposed if not "\u0300" <= ch <= "\u036f")


def _plain_number(word: str) -> str:
    """`1500` for `1,500.00`."""
    plain = word.replace(",", "").rstrip(".")
    if "." in plain:
        return plain.rstrip("0").rstrip(".")
    return plain


def _remove_ending(word: str) -> str:
    if len(word) > 7 and word.endswith("ness") and word not in _NOUNS_IN_NESS:
        word = word[:-4]
    # "glass", "virus", "analysis": this s is no plural.
    if word.endswith(("ss", "us", "is")):
        return word
    for ending, replacement in _ENDINGS:
        # A stem has a vowel: "sing" stays, "singing" loses its ending.
        if word.endswith(ending) and _VOWEL.search(word, 0, len(word) - len(ending)):
            return word[: len(word) - len(ending)] + replacement
    return word


def _trim(word: str) -> str:
    """Without a doubled consonant or a final vowel: `stopp` and `stop`, `care` and `car(ing)`."""
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > 3 and word[-1] in "eiy":
        return word[:-1]
    return word

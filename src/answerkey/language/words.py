"""The word lists of `words/`: one file per language.

English has lists of every kind. The other languages have the expressions of their refusals.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from answerkey.language.stems import stem

LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "nl", "ms", "zh", "hi")
_FIELD = re.compile(r"\{([a-z_]+)\}")  # not the {1,2} of a regular expression

Bounds = tuple[tuple[str, str], tuple[str, str]]


@cache
def read_words(language: str) -> dict[str, Any]:
    """Everything in the file of a language."""
    file = files("answerkey.language") / "words" / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def compile_pattern(section: str, name: str, **parts: str) -> re.Pattern[str]:
    """An English regular expression of the word file, with `{name}` replaced by that part.

    A part may be an argument or another entry of the section. Case is ignored.
    """
    table: dict[str, Any] = read_words("en")[section]

    def fill(field: re.Match[str]) -> str:
        return parts.get(field[1]) or table[field[1]]

    return re.compile(_FIELD.sub(fill, table[name]), re.IGNORECASE)


@cache
def word_list(name: str) -> frozenset[str]:
    """A list of English words, as they are written."""
    return frozenset(read_words("en")[name].split())


@cache
def stem_list(name: str) -> frozenset[str]:
    """The stems of a list of English words."""
    return frozenset(stem(word) for word in word_list(name))


@cache
def word_groups(name: str) -> tuple[str, ...]:
    """A list of groups of English words, each group as one string."""
    return tuple(read_words("en")[name])


@cache
def phrases() -> dict[str, str]:
    """Regular expressions for several words that mean the same as one, by that one."""
    return dict(read_words("en")["phrases"])


@cache
def synonyms() -> dict[str, frozenset[str]]:
    """For each stem the stems of the words that can replace it."""
    replacements: dict[str, frozenset[str]] = {}
    for group in word_groups("synonyms"):
        stems = frozenset(stem(word) for word in group.split())
        for word in stems:
            # Every word but itself; a word may be in several groups.
            replacements[word] = replacements.get(word, frozenset()) | stems - {word}
    return replacements


@cache
def bounds() -> Bounds:
    """Regular expressions before and after a figure that is an upper bound, and a lower one."""
    table: dict[str, list[str]] = read_words("en")["bounds"]
    most_before, most_after = table["most"]
    least_before, least_after = table["least"]
    return (most_before, most_after), (least_before, least_after)


@cache
def poles() -> dict[str, tuple[tuple[int, int], ...]]:
    """For each stem the axes that it is on, each with its side, 1 or -1.

    Axes of relations, such as "larger" and "smaller", have negative numbers.
    """
    axes = list(enumerate(word_groups("poles"), start=1))
    axes += [(-number, pair) for number, pair in enumerate(word_groups("relations"), start=1)]
    places: dict[str, tuple[tuple[int, int], ...]] = {}
    for axis, pair in axes:
        for side, words in zip((1, -1), pair.split(" | "), strict=True):
            # Sorted, because the order of a set differs between processes.
            for word in sorted({stem(word) for word in words.split()}):
                places[word] = (*places.get(word, ()), (axis, side))
    return places


@cache
def opposites() -> dict[str, frozenset[str]]:
    """For each stem the stems on the other side of one of its axes."""
    sides: dict[tuple[int, int], set[str]] = {}
    for word, places in poles().items():
        for place in places:
            sides.setdefault(place, set()).add(word)
    return {
        word: frozenset(other for axis, side in places for other in sides[axis, -side]) - {word}
        for word, places in poles().items()
    }

"""Typing mistakes of the kinds that people make: a letter dropped, swapped, hit beside, doubled."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from answerkey.types import Case
from answerkey.variants.question_words import QuestionWord, split_question

_KEYBOARDS = Path(__file__).parent / "data" / "keyboards.toml"
DEFAULT_KEYBOARD = "qwerty"

# Shares among 30 real query typos (DL-Typo): 10 dropped, 10 replaced, 9 swapped, 1 added letter.
_DROP_SHARE = 10
_REPLACE_SHARE = 10
_SWAP_SHARE = 9
_DOUBLE_SHARE = 1

_SHORTEST_WORD = 4  # in shorter words a typo often makes another word
_MOST_TYPOS = 2
_WORDS_PER_TYPO = 6
_TRIES = 20


def add_typos(case: Case, random: Random, keyboard: str = DEFAULT_KEYBOARD) -> str | None:
    """The question with one or two typos; None where no word may be changed."""
    words = split_question(case)
    candidates = [word for word in words if is_candidate(word)]
    if not candidates:
        return None
    count = min(_MOST_TYPOS, len(candidates), 1 + len(words) // _WORDS_PER_TYPO)
    question = case.question
    # From the end, so that the places of the words before stay right.
    for word in sorted(random.sample(candidates, count), key=lambda word: -word.start):
        mistyped = mistype(word.text, random, keyboard)
        question = question[: word.start] + mistyped + question[word.end :]
    return question


def is_candidate(word: QuestionWord) -> bool:
    return word.is_plain and not word.needed and len(word.text) >= _SHORTEST_WORD


def mistype(word: str, random: Random, keyboard: str = DEFAULT_KEYBOARD) -> str:
    """The word with one slip, never equal to the word. The first letter is kept."""
    for _ in range(_TRIES):
        slip = _draw_slip(random)
        place = random.randrange(1, len(word))
        mistyped = slip(word, place, random, keyboard)
        if mistyped != word:
            return mistyped
    return word[:-1]  # every try gave the word back, as in "oooo"


_Slip = Callable[[str, int, Random, str], str]


def _draw_slip(random: Random) -> _Slip:
    slips: dict[_Slip, int] = {
        _drop: _DROP_SHARE,
        _hit_neighbour: _REPLACE_SHARE,
        _swap: _SWAP_SHARE,
        _double: _DOUBLE_SHARE,
    }
    return random.choices(list(slips), list(slips.values()))[0]


def _drop(word: str, place: int, _random: Random, _keyboard: str) -> str:
    return word[:place] + word[place + 1 :]


def _swap(word: str, place: int, _random: Random, _keyboard: str) -> str:
    if place + 1 >= len(word):
        return word
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _double(word: str, place: int, _random: Random, _keyboard: str) -> str:
    return word[:place] + word[place] + word[place:]


def _hit_neighbour(word: str, place: int, random: Random, keyboard: str) -> str:
    letter = word[place]
    neighbours = neighbours_of(keyboard).get(letter.lower(), "")
    if not neighbours:
        return word
    hit = random.choice(neighbours)
    if letter.isupper():
        hit = hit.upper()
    return word[:place] + hit + word[place + 1 :]


@cache
def neighbours_of(keyboard: str) -> dict[str, str]:
    """Letter → the letters beside it."""
    keys = {
        letter: (column + 0.5 * row, row)
        for row, letters in enumerate(keyboard_layouts()[keyboard]["rows"])
        for column, letter in enumerate(letters)
    }
    return {
        letter: "".join(
            other
            for other, other_place in keys.items()
            if other != letter and math.dist(place, other_place) < 1.2
        )
        for letter, place in keys.items()
    }


@cache
def keyboard_layouts() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(_KEYBOARDS.read_text(encoding="utf-8"))


def keyboard_of(language: str) -> str:
    """The usual layout of a language; QWERTY where it is not known."""
    for name, layout in keyboard_layouts().items():
        if language in layout["languages"]:
            return name
    return DEFAULT_KEYBOARD

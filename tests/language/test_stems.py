"""A light stem: the same for the forms of a word, another for another word."""

from __future__ import annotations

import pytest

from answerkey.language.stems import stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("stopped", "stop"),
        ("cities", "city"),
        ("café", "cafe"),
        ("1,500.00", "1500"),
        ("happiness", "happy"),
    ],
)
def test_forms_of_one_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["bus", "glass", "is", "业务", "business"])
def test_these_words_keep_their_ending(word: str) -> None:
    assert stem(word) == word.rstrip("y")


def test_two_words_stay_two() -> None:
    assert stem("1.5") != stem("15")
    assert stem("station") != stem("stone")

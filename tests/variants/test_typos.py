"""Typing mistakes: one slip per word, on the right keyboard."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import DamerauLevenshtein

from answerkey.variants.typos import keyboard_of, mistype, neighbours_of


@given(
    st.text(st.characters(categories=["Ll", "Lu"]), min_size=2, max_size=20), st.integers(0, 999)
)
def test_a_mistyped_word_is_one_slip_away_and_keeps_its_first_letter(word: str, seed: int):
    mistyped = mistype(word, Random(seed))
    assert mistyped != word
    assert mistyped[0] == word[0]
    # Upper-casing a neighbour key may give two letters ("ß"), which counts as two.
    assert DamerauLevenshtein.distance(word, mistyped) <= 1


def test_kinds_of_slips_are_drawn_as_often_as_people_make_them():
    lengths = Counter(len(mistype("government", Random(seed))) for seed in range(3_000))
    assert lengths[9] / 3_000 == pytest.approx(10 / 30, abs=0.03)  # a letter dropped
    assert lengths[11] / 3_000 == pytest.approx(1 / 30, abs=0.02)  # a letter doubled


@pytest.mark.parametrize(
    ("keyboard", "letter", "neighbours"),
    [
        ("qwerty", "g", "tyfhvb"),
        ("qwertz", "z", "tugh"),
        ("azerty", "a", "zq"),
    ],
)
def test_neighbours_are_those_of_the_layout(keyboard: str, letter: str, neighbours: str):
    assert sorted(neighbours_of(keyboard)[letter]) == sorted(neighbours)


def test_a_language_has_its_usual_keyboard():
    assert [keyboard_of(code) for code in ("en", "de", "fr", "xx")] == [
        "qwerty",
        "qwertz",
        "azerty",
        "qwerty",
    ]

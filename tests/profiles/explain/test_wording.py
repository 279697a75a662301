"""A yes against a no, opposites, and items of a list."""

from __future__ import annotations

import pytest

from answerkey.profiles.explain.wording import (
    asks_yes_or_no,
    has_opposite,
    missing_items,
    missing_words,
    polarity,
)


@pytest.mark.parametrize(
    ("text", "sign"),
    [("Yes, it is.", 1), ("No.", -1), ("It is not allowed.", -1), ("It is allowed.", 1)],
)
def test_polarity(text: str, sign: int) -> None:
    assert polarity(text) == sign


def test_a_question_with_or_asks_for_a_choice() -> None:
    assert asks_yes_or_no("Is parking free?")
    assert not asks_yes_or_no("Is it red or blue?")
    assert not asks_yes_or_no("When is lunch?")


@pytest.mark.parametrize(
    ("answer", "expected", "contradicts"),
    [
        ("The request was rejected.", "The request was approved.", True),
        (
            "Connect it after inserting the battery.",
            "Connect it before inserting the battery.",
            True,
        ),
        # "after" and "before" in texts about other things contradict nothing.
        ("Call us after lunch.", "Pay before you leave the shop.", False),
    ],
)
def test_opposites(answer: str, expected: str, contradicts: bool) -> None:
    assert has_opposite(answer, expected) is contradicts


def test_a_word_that_all_items_share_shows_none_of_them() -> None:
    expected = "A booking fee and a card fee"
    assert missing_items("There is a booking fee.", expected) == ["a card fee"]
    assert missing_items("A booking fee and a card fee apply.", expected) == []


def test_words_are_missing_only_from_an_answer_that_says_nothing_else() -> None:
    question = "When is the meeting?"
    expected = "On 4 June in the town hall"
    assert missing_words("The meeting is on 4 June.", expected, question) == "town hall"
    assert missing_words("It is in the library on 4 June.", expected, question) == ""

"""Figures and names that a text states."""

from __future__ import annotations

import pytest

from answerkey.profiles.explain.statements import (
    find_figures,
    find_names,
    find_passage,
    find_rival,
    without_question,
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Travel is approved by Bo Lind.", ["Bo Lind"]),
        ("Dr. Elena Petrova", ["Elena Petrova"]),
        ("Yes, in May.", []),
        ("It is in Norway.", ["Norway"]),
    ],
)
def test_names(text: str, names: list[str]) -> None:
    assert [name.text for name in find_names(text, "Who?") if name.is_sure] == names


@pytest.mark.parametrize(
    ("stated", "expected", "is_same"),
    [
        ("the Petrova group", "see Elena Petrova", True),
        ("called Frost Saver", "called Snow Saver", False),
        ("by Anna Bell", "by Anna Stone", False),
    ],
)
def test_a_part_of_a_name_stands_for_it_and_a_shared_word_does_not(
    stated: str, expected: str, is_same: bool
) -> None:
    (first,) = find_names(stated)
    (second,) = find_names(expected)
    assert first.is_same(second) is is_same


def test_a_rival_has_the_same_unit() -> None:
    stated = find_figures("You get 28 days and 30 euros.")
    expected = find_figures("25 days")
    rival = find_rival(stated, expected)
    assert rival is not None
    assert (rival[0].text, rival[1].text) == ("28 days", "25 days")
    assert find_rival(find_figures("30 euros"), expected) is None


def test_figures_of_the_question_are_no_statement() -> None:
    in_question = find_figures("What happens after 30 days?")
    assert (
        without_question(find_figures("After 30 days it costs 5 euros"), in_question)[0].text
        == "5 euros"
    )


def test_the_first_passage_with_a_statement() -> None:
    (figure,) = find_figures("25 days")
    assert find_passage(figure, ["Lunch is at noon.", "You have 25 days.", "25 days"]) == 2
    assert find_passage(figure, ["You have 28 days."]) is None

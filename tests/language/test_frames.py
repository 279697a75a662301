"""Greetings, closings, headings, sources and Markdown are frames; statements are not."""

from __future__ import annotations

import pytest

from answerkey.language.frames import is_frame, opening_end, without_frame, without_pointers


@pytest.mark.parametrize(
    "sentence",
    [
        "Let me know if you need anything else!",
        "Is there anything else I can help you with?",
        "> Source: handbook, p. 9",
        "Please do not hesitate to contact us.",
        "Have a wonderful day!",
        "## Summary",
        "Hello there!",
        "You're welcome!",
        "Kind regards, your support team",
        "handbook.pdf, page 3",
    ],
)
def test_frames(sentence: str) -> None:
    assert is_frame(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "No.",
        "It lasts 24 months.",
        "Sure, the shop is closed on Sunday.",
        "Hello Kitty is a cat.",
        "Thanks to a new law, it is free.",
        "Documents are required.",
        "Feel free to use the pool.",
        "Section 4 applies to tenants.",
        "Have a passport with you.",
        "Let us know the number 4711.",
        "See the doctor before you travel.",
    ],
)
def test_statements(sentence: str) -> None:
    assert not is_frame(sentence)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: No.", "No."),
        ("**Answer:** It is *open* [1].", "It is open [1]."),
        ("# Hours\n\n- We open at 9.", "We open at 9."),
        ("It takes 5 days (section 4.2). Have a nice day!", "It takes 5 days."),
        ("Have a nice day!", "Have a nice day!"),
        ("", ""),
    ],
)
def test_the_answer_alone(text: str, answer: str) -> None:
    assert without_frame(text) == answer


def test_pointers_are_removed_and_remarks_stay() -> None:
    assert without_pointers("It is 5 (see page 12).") == "It is 5."
    assert without_pointers("It is 5 (five) euros.") == "It is 5 (five) euros."


def test_where_the_answer_begins() -> None:
    assert opening_end("No.") == 0
    assert "**Answer:** No."[opening_end("**Answer:** No.") :] == "No."

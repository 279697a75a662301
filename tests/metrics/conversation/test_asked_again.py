"""Questions of a bot that the user has already answered."""

from __future__ import annotations

import pytest

from answerkey.metrics.conversation.asked_again import find_repetition, questions_in
from answerkey.types import Turn


@pytest.mark.parametrize(
    ("message", "question", "reply"),
    [
        ("A table for six on Saturday", "For how many people?", "Six"),
        ("It's about flat 12B", "Which flat is it?", "12B"),
        ("I want to insure my beagle", "What breed is your dog?", "A beagle, as I wrote."),
        ("The rear tyre is flat", "Is it the front or rear?", "rear"),
        ("Send it to a@b.example", "To which address should I send it?", "a@b.example"),
    ],
)
def test_a_reply_that_repeats_an_earlier_message_shows_it(
    message: str, question: str, reply: str
) -> None:
    turns = [Turn(message, question), Turn(reply, "Thank you.")]
    repetition = find_repetition(turns, 0)
    assert repetition is not None
    assert repetition.message == message


@pytest.mark.parametrize(
    ("message", "question", "reply"),
    [
        ("A table for six on Saturday", "At what time?", "7 pm"),
        ("My orders 4711 and 4712 are late", "Is it about 4711 or 4712?", "4711"),
        ("It shows E24", "Please restart it. Which error does it show now?", "E24"),
        ("Cancel order 7781", "Shall I cancel order 7781?", "7781, yes"),
    ],
)
def test_a_new_question_a_choice_or_a_new_state_is_no_repetition(
    message: str, question: str, reply: str
) -> None:
    turns = [Turn(message, question), Turn(reply, "Thank you.")]
    assert find_repetition(turns, 0) is None


def test_courtesy_is_no_question() -> None:
    assert questions_in("Done. Is there anything else? Shall I go ahead?") == []
    assert questions_in("To which address should I send it?") != []

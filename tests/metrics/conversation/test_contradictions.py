"""Which statements of two answers contradict each other, and which only look so."""

from __future__ import annotations

import pytest

from answerkey.embed import load_embedder
from answerkey.metrics.conversation.contradictions import Contradiction, find_contradiction
from answerkey.types import Turn


def _find(*messages: str) -> Contradiction | None:
    turns = [Turn(*pair) for pair in zip(messages[::2], messages[1::2], strict=True)]
    return find_contradiction(turns, len(turns) - 1, load_embedder())


@pytest.mark.parametrize(
    ("question", "first", "then", "second"),
    [
        ("Delivery?", "Delivery takes 3 days.", "Sure?", "Delivery takes 7 days."),
        ("Until when?", "The deadline is 31 July.", "So when?", "The deadline is 30 September."),
        ("Who runs it?", "The Oslo office is run by Kari Holm.", "Who?", "The Oslo office is run by Erik Dahl."),
        ("Is breakfast included?", "Breakfast is included in all rooms.", "When is it?", "At 8. Breakfast costs 18 euros."),
        ("can I bring my cat to the holiday flat?", "Sure, pets are welcome in all of our flats.", "Anything I should know about the flat?", "Please note that animals are not permitted."),
        ("Theft?", "Theft is covered by your policy.", "It is gone.", "Unfortunately your policy doesn't cover theft."),
        ("When?", "It is picked up on Mondays in Oak Street.", "OK?", "It is picked up on Friday in Oak Street."),
    ],
)  # fmt: skip
def test_a_contradiction_is_found(question: str, first: str, then: str, second: str) -> None:
    assert _find(question, first, then, second) is not None


@pytest.mark.parametrize(
    ("question", "first", "then", "second"),
    [
        ("Price?", "The basic plan costs 9 euros.", "And the family plan?", "The family plan costs 19 euros."),
        ("Delivery?", "Delivery takes 3 days.", "Really?", "I apologise, delivery takes 5 days at the moment."),
        ("How many days of leave do I have?", "You have 25 days a year.", "How many have I taken?", "You have taken 10 days."),
        ("Launch?", "The launch is in September.", "When was it before?", "It was planned for July."),
        ("Cancel?", "It cannot be cancelled.", "I am moving away.", "Then you can cancel at the end of the month."),
        ("Shop?", "You can visit the shop without a ticket.", "and the café?", "You need a ticket for it."),
        ("Where?", "On Wednesdays you can come by.", "fine", "See you on Thursday!"),
    ],
)  # fmt: skip
def test_another_case_or_a_correction_is_no_contradiction(
    question: str, first: str, then: str, second: str
) -> None:
    assert _find(question, first, then, second) is None

from __future__ import annotations

import pytest

import answerkey as ak
from answerkey.metrics.agreement.long_answers import LONG_FROM, LongTerms, is_long

QUESTION = "How do I return a rented bike?"
FACTS = (
    "Park the bike inside one of the marked zones shown in the app.",
    "Close the lock on the rear wheel by hand.",
    "Take a photo of the parked bike, which ends the ride.",
    "A ride that is not ended costs at most 25 euros a day.",
)
EXPECTED = " ".join(FACTS)


def agreement(answer: str) -> float:
    score = ak.score("answer_agreement", question=QUESTION, expected=EXPECTED, answer=answer)
    assert score.value is not None
    return score.value


def test_several_sentences_with_many_words_are_long() -> None:
    assert is_long("Any answer.", (EXPECTED,))


@pytest.mark.parametrize(
    "expected",
    [
        "Park it. Lock it.",
        " ".join(["word"] * (LONG_FROM + 5)),
        "This is a sentence. " * 400,
    ],
    ids=["few words", "one sentence", "a document"],
)
def test_others_are_left_to_the_models_for_short_answers(expected: str) -> None:
    assert not is_long("Any answer.", (expected,))


def test_of_several_expected_answers_the_nearest_decides() -> None:
    assert not is_long("Call the hotline.", (EXPECTED, "Call the hotline."))
    assert is_long(EXPECTED, (EXPECTED, "Call the hotline."))


@pytest.mark.parametrize("name", ["token_f1", "recall", "precision"])
def test_more_of_a_term_raises_the_sum(name: str) -> None:
    terms = {"token_f1": 0.5, "recall": 0.5, "precision": 0.5}
    assert LongTerms(**terms | {name: 0.6}).total > LongTerms(**terms).total


def test_the_value_grows_with_the_facts_that_are_there() -> None:
    one, two, three = (agreement(" ".join(FACTS[:count])) for count in (1, 2, 3))
    assert one < two < three
    assert one < 0.6 < three


def test_a_copy_agrees_and_another_text_does_not() -> None:
    assert agreement(EXPECTED) > 0.95
    assert agreement("Helmets are recommended. They are sold in the shop at the station.") < 0.3


def test_the_details_have_each_expected_fact() -> None:
    score = ak.score(
        "answer_agreement", question=QUESTION, expected=EXPECTED, answer=" ".join(FACTS[:2])
    )
    assert "of the expected facts are there" in score.reason
    assert len(score.details["facts"]) >= len(FACTS)

"""Answers that people tried, and that got a wrong verdict at first."""

from __future__ import annotations

import pytest

import answerkey as ak
from answerkey.language.quantities import figures
from answerkey.language.refusal import refusal

PASSAGE = "Samples are kept for 35 days. They are stored in the laboratory in Leeds."


def agreement(question: str, expected: str, answer: str) -> float:
    value = ak.score("answer_agreement", question=question, expected=expected, answer=answer).value
    assert value is not None
    return value


def unsupported(answer: str) -> list[str]:
    score = ak.score(
        "groundedness", question="How long are samples kept?", answer=answer, contexts=[PASSAGE]
    )
    return [one["text"] for one in score.details["sentences"] if one["flag"]]


@pytest.mark.parametrize("answer", ["Answer: No.", "**Answer:** No.", "A: No, you can't."])
def test_a_label_before_a_no_makes_no_refusal(answer: str) -> None:
    assert refusal(answer) == "none"
    assert agreement("May I park there?", "No", answer) > 0.5


def test_please_do_not_hesitate_is_no_refusal() -> None:
    assert refusal("It lasts 2 years. Please do not hesitate to contact us.") == "none"
    assert refusal("Please do not hesitate to ask.") == "none"


def test_a_clause_of_one_word_is_no_refusal() -> None:
    assert refusal("FIGUR:FOUND") == "none"


def test_the_end_of_a_quarter_has_no_figure() -> None:
    assert figures("Invoices are due at the end of a quarter.") == ()


@pytest.mark.parametrize(
    "closing",
    [
        "Let me know if you need anything else!",
        "Is there anything else I can help you with?",
        "Have a wonderful day!",
        "Please do not hesitate to contact us.",
        "\n\n> Source: handbook, p. 9",
        "(section 4.2)",
    ],
)
def test_a_closing_needs_no_support(closing: str) -> None:
    assert unsupported(f"Samples are kept for 35 days. {closing}") == []


def test_a_section_number_is_no_wrong_number() -> None:
    right = "Samples are kept for 35 days (section 4.2)."
    assert agreement("How long are samples kept?", "35 days", right) > 0.5
    assert unsupported(right) == []


def test_an_added_statement_is_unsupported() -> None:
    assert unsupported("Samples are kept for 35 days, and stored in Iceland.")
    assert unsupported("35 days, and stored in Iceland")


@pytest.mark.parametrize(
    "answer",
    [
        "Paris is not the capital; it is Lyon.",
        "It isn't Paris, it is Lyon.",
        "The capital is Lyon, not Paris.",
    ],
)
def test_a_denied_answer_does_not_agree(answer: str) -> None:
    assert agreement("What is the capital of France?", "Paris", answer) < 0.5


JUNK = {
    "words": "word " * 100,
    "lorem ipsum": "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. "
    * 5,
    "markup": "<div></div>" * 100,
    "digits": " ".join(str(number) for number in range(300)),
}
SHORT = [
    ("What is the capital of France?", "Paris"),
    ("Which language is spoken in Brazil?", "Portuguese"),
    ("Who wrote Emma?", "Jane Austen"),
    ("When was it opened?", "12 May 1871"),
    ("How long is the warranty?", "24 months"),
]


@pytest.mark.parametrize("kind", [*JUNK, "the question"])
@pytest.mark.parametrize(("question", "expected"), SHORT)
def test_junk_does_not_agree_with_a_short_answer(question: str, expected: str, kind: str) -> None:
    junk = JUNK.get(kind) or f"{question} " * 50
    assert agreement(question, expected, junk) < 0.4

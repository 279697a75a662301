"""The six runtime checks: each fires on its own, and none on a good answer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey import Passage, assess_answer
from answerkey.quality.assess import CHECKS, Limits
from answerkey.quality.phrases import is_list_question
from answerkey.text import citations

GOOD: dict[str, Any] = {
    "question": "How long do I have to return goods?",
    "answer": "You have 30 days from the day of purchase [1].",
    "contexts": ["Goods may be returned within 30 days of purchase.", "Gifts need a gift receipt."],
    "retrieval_scores": [0.71, 0.42],
}
BAD: dict[str, dict[str, Any]] = {
    "not_empty": {"answer": "  \n"},
    "contexts_exist": {"contexts": []},
    "citations_valid": {"answer": "You have 30 days."},
    "no_fallback": {"answer": "Unable to generate a response at this time."},
    "retrieval_scores": {"retrieval_scores": [0.12, 0.08]},
    "list_structure": {
        "question": "List the ways to return goods",
        "answer": "By post or in a store [1].",
    },
}


def test_a_good_answer_passes_every_check() -> None:
    result = assess_answer(**GOOD, run_id="r-1")
    assert result.passed
    assert result.findings == ()
    assert result.run_id == "r-1"
    listed = assess_answer(
        "List the ways to return goods",
        "- by post [1]\n- in a store [2]",
        contexts=GOOD["contexts"],
        retrieval_scores=[0.5],
    )
    assert set(listed.checks) == set(CHECKS)
    assert all(passed is True for passed in listed.checks.values())


@pytest.mark.parametrize("check", CHECKS)
def test_each_check_fires_on_its_own(check: str) -> None:
    result = assess_answer(**{**GOOD, **BAD[check]})
    assert [finding.check for finding in result.findings] == [check]
    assert not result.passed
    assert result.checks[check] is False
    assert result.findings[0].message
    assert result.findings[0].action


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        ("a [1] b [2]", {1, 2}), ("[1, 3]", {1, 3}), ("[1-3]", {1, 2, 3}), ("[1–2; 5]", {1, 2, 5}),
        ("none [a] (1)", set()), ("[0]", {0}), ("[1-9999]", {1, 9999}), ("[3-1]", set()),
    ],
)  # fmt: skip
def test_citation_marks_as_people_write_them(answer: str, cited: set[int]) -> None:
    assert set(citations(answer)) == cited


@pytest.mark.parametrize("mark", ["[0]", "[3]", "[1][9]", "[1-3]"])
def test_a_citation_must_point_to_a_context(mark: str) -> None:
    result = assess_answer(**{**GOOD, "answer": f"30 days {mark}"})
    assert [finding.check for finding in result.findings] == ["citations_valid"]
    assert "points to no context" in result.findings[0].message


@pytest.mark.parametrize(
    ("question", "is_list"),
    [
        ("List the benefits", True), ("Please list all stores", True), ("What are the steps to claim leave?", True),
        ("What are the main features of the card?", True), ("Name three benefits", True),
        ("Which documents are needed?", True), ("Explain step by step", True), ("Outline the procedure", True),
        ("What is the list price?", False), ("How much is it?", False), ("What are the opening hours?", False),
        ("Who lists houses?", False), ("Is there a listing fee?", False), ("What is this?", False),
    ],
)  # fmt: skip
def test_which_questions_ask_for_a_list(question: str, is_list: bool) -> None:
    assert is_list_question(question) is is_list


@pytest.mark.parametrize(
    "answer",
    [
        "- one [1]\n- two",
        "1. one [1]\n2. two",
        "• one [1]",
        "| a | b [1] |",
        "(1) one [1] (2) two",
        "<li>one [1]",
    ],
)
def test_structure_is_recognised(answer: str) -> None:
    assert (
        assess_answer("List the ways", answer, contexts=GOOD["contexts"]).checks["list_structure"]
        is True
    )


def test_scores_come_from_the_passages_where_none_are_given() -> None:
    passages = [Passage(text="30 days", score=0.1), Passage(text="gift", score=0.05)]
    result = assess_answer(GOOD["question"], GOOD["answer"], contexts=passages)
    assert [finding.check for finding in result.findings] == ["retrieval_scores"]
    as_dicts = [{"text": "30 days", "score": 0.9}, {"content": "gift"}]
    assert assess_answer(GOOD["question"], GOOD["answer"], contexts=as_dicts).passed


def test_unknown_scores_are_not_low_scores_and_nan_is_reported() -> None:
    assert (
        assess_answer(GOOD["question"], GOOD["answer"], contexts=GOOD["contexts"]).checks[
            "retrieval_scores"
        ]
        is None
    )
    result = assess_answer(
        GOOD["question"], GOOD["answer"], contexts=GOOD["contexts"], retrieval_scores=[math.nan]
    )
    assert "not a number" in result.findings[0].message


def test_parts_that_a_live_bot_may_leave_out_are_no_error() -> None:
    fired = [
        finding.check
        for finding in assess_answer(
            "How long?", None, contexts=None, retrieval_scores=None
        ).findings
    ]
    assert fired == ["not_empty", "contexts_exist"]
    assert assess_answer(
        GOOD["question"], GOOD["answer"], contexts=GOOD["contexts"], retrieval_scores=[None, 0.7]
    ).passed
    assert (
        assess_answer(
            GOOD["question"], GOOD["answer"], contexts=GOOD["contexts"], retrieval_scores=[]
        ).checks["retrieval_scores"]
        is None
    )


def test_limits_are_settings() -> None:
    strict = Limits(minimum_score=0.9, fallbacks=("30 days",))
    fired = {finding.check for finding in assess_answer(**GOOD, limits=strict).findings}
    assert fired == {"no_fallback", "retrieval_scores"}


@given(st.text(max_size=200), st.text(max_size=400), st.lists(st.text(max_size=40), max_size=4))
def test_any_text_is_assessed(question: str, answer: str, contexts: list[str]) -> None:
    result = assess_answer(question, answer, contexts=contexts)
    assert result.passed == (not result.findings)
    assert result.to_dict()["passed"] == result.passed


def test_hostile_text_takes_linear_time() -> None:
    # A pattern that backtracks would never come back from these.
    for text in (
        "[" * 20_000,
        "[1" * 20_000,
        "what are " * 5_000,
        "- " * 20_000,
        "1. " * 20_000,
        "name a " * 5_000,
    ):
        assert assess_answer(text, text, contexts=[text]).findings


def test_a_refusal_needs_no_citation_and_no_list() -> None:
    found = assess_answer(
        "What are the steps to apply?",
        "Das geht aus den Dokumenten nicht hervor.",
        contexts=["Opening hours."],
        retrieval_scores=[0.9],
    )
    assert found.checks["citations_valid"] is None
    assert found.passed

"""Citation marks: which point to a passage, and which sentences carry one."""

from __future__ import annotations

import pytest

from answerkey.metrics.citations import citation_coverage, citation_support, citation_validity
from answerkey.types import Case, Passage, Response

CASE = Case("c", "q")


def response(answer: str) -> Response:
    return Response(answer=answer, passages=(Passage("one"), Passage("two")))


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ("It is so [1].", 1.0),
        ("Both agree [1, 2].", 1.0),
        ("Both agree [1-2].", 1.0),
        ("It is so [1], or so [3].", 0.5),
        ("All agree [1–4].", 0.5),
        ("Made up [0].", 0.0),
    ],
)
def test_the_share_of_marks_that_point_to_a_passage(answer: str, share: float) -> None:
    assert citation_validity(CASE, response(answer)).value == share


def test_without_a_mark_there_is_no_share_of_marks() -> None:
    assert not citation_validity(CASE, response("It is so [a].")).applies


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ("The pressure is 1.5 bar [1].", 1.0),
        ("See U.S. law [1].", 1.0),
        ("It costs $3.99 a day [1]. The second is free.", 0.5),
        ("So it is.[1] And so it goes.[2]", 1.0),
        ("So it is. [1] And so it goes. [1, 2]", 1.0),
        ("So it is! Really? Yes [1].", 1 / 3),
        ("Smith et al. [1] show it.", 1.0),
        ("Do this:\n- open the box [1]\n- close the box", 0.5),
        ("1. Open the box [1].\n2. Close the box [2].", 1.0),
        ("It is so [1-2].", 1.0),
        ("No mark at all", 0.0),
        ("是的。[1] 不是。", 0.5),
    ],
)
def test_the_share_of_sentences_that_carry_a_mark(answer: str, share: float) -> None:
    assert citation_coverage(CASE, response(answer)).value == pytest.approx(share)


@pytest.mark.parametrize("answer", ["", "...", "5 [1]"])
def test_without_a_sentence_there_is_no_share_of_sentences(answer: str) -> None:
    assert not citation_coverage(CASE, response(answer)).applies


PASSAGES = (
    Passage("The museum opens at 9 am on weekdays."),
    Passage("A ticket costs 12 euros for adults."),
    Passage("Dogs are not allowed in the museum."),
)


def support(answer: str) -> dict[str, float | None]:
    names = ("citation_support", "citation_precision", "citation_recall")
    pair = (
        Case("c", "When does the museum open and what does it cost?"),
        Response(answer, PASSAGES),
    )
    return {name: scores[0].value for name, scores in citation_support([pair], names=names).items()}


@pytest.mark.parametrize(
    "marks", ["[1]", "[^1]", "【1】", "【1†source】", "[doc1]", "[Doc 1]", "(1)"]
)  # fmt: skip
def test_every_style_of_marker_is_read(marks: str) -> None:
    assert support(f"The museum opens at 9 am on weekdays {marks}.")["citation_support"] == 1
    assert citation_coverage(Case("c", "q"), Response(f"It opens at nine {marks}.")).value == 1


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (
            "The museum opens at 9 am on weekdays [1]. A ticket costs 12 euros for adults [2].",
            (1, 1, 1),
        ),
        (
            "The museum opens at 9 am on weekdays [2]. A ticket costs 12 euros for adults [2].",
            (0.5, 0.5, 0.5),
        ),
        (
            "The museum opens at 9 am on weekdays [1]. A ticket costs 12 euros for adults.",
            (1, 1, 0.5),
        ),
        ("The museum opens at 9 am on weekdays [1, 3].", (0.5, 0.5, 1)),
        ("The museum opens at 9 am on weekdays [9].", (0, 0, 0)),
    ],
)
def test_precision_and_recall_of_citations(answer: str, found: tuple[float, float, float]) -> None:
    assert tuple(support(answer).values()) == found


def test_the_wrong_marker_of_a_right_claim_is_named() -> None:
    pair = (Case("c", "q"), Response("The museum opens at 9 am on weekdays [2].", PASSAGES))
    found = citation_support([pair], names=("citation_support",))["citation_support"][0]
    assert "[2] does not support" in found.reason


def test_without_a_marker_or_a_claim_support_is_not_applicable() -> None:
    assert set(support("The museum opens at 9 am.").values()) == {None}
    assert set(support("The documents do not say. [1]").values()) == {None}

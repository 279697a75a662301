"""Citation marks: which point to a passage, and which sentences carry one."""

from __future__ import annotations

import pytest

from answerkey.metrics.citations import citation_coverage, citation_validity
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

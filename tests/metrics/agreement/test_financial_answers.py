"""answer_agreement on questions about companies' figures. None of these was fitted on.

Right in another writing, wrong figures, scales and directions, refusals, years beside the figure, sums that end with it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from answerkey.metrics.agreement.answer_agreement import answer_agreement
from answerkey.types import Case, Response

TABLE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "financial_answers.json").read_text(encoding="utf-8")
)


@cache
def scored() -> list[tuple[str, str, int, float]]:
    """Question, answer, label and value of every row."""
    rows = [
        (row, text, label)
        for row in TABLE
        for label in (1, 0)
        for text in row["right" if label else "wrong"]
    ]
    pairs = [
        (Case("1", row["q"], expected=(row["ref"],)), Response(answer=text))
        for row, text, _ in rows
    ]
    values = [score.value for score in answer_agreement(pairs)]
    return [
        (row["q"], text, label, value or 0.0)
        for (row, text, label), value in zip(rows, values, strict=True)
    ]


def test_right_answers_are_above_wrong_ones() -> None:
    labels, values = zip(*((label, value) for _, _, label, value in scored()), strict=True)
    assert roc_auc_score(labels, values) > 0.95
    assert sum(
        (value >= 0.5) == bool(label) for label, value in zip(labels, values, strict=True)
    ) > 0.9 * len(labels)


@pytest.mark.parametrize("question", [row["q"] for row in TABLE])
def test_each_question(question: str) -> None:
    right = [value for asked, _, label, value in scored() if asked == question and label]
    wrong = [value for asked, _, label, value in scored() if asked == question and not label]
    assert sum(right) / len(right) > sum(wrong) / len(wrong)


def test_a_refusal_is_no_agreement() -> None:
    refusals = [
        value
        for _, text, label, value in scored()
        if not label
        and any(words in text for words in ("does not", "cannot be", "sorry", "would need"))
    ]
    assert len(refusals) >= 4
    assert max(refusals) < 0.5


@pytest.mark.parametrize(
    ("expected", "answer", "question", "right"),
    [
        ("$1577.00", "It was $1,577 million.", "What is the capex (in USD millions)?", True),
        ("$1577.00", "It was $1,577 billion.", "What is the capex (in USD millions)?", False),
        ("$17.7 billion", "It was $17.7 million.", "What was paid?", False),
        ("$(9,141) million", "A net loss of $9.1 billion.", "What was the net loss?", True),
        ("0.353", "About 35.3% of sales.", "What share of sales was it?", True),
        (
            "65.4%",
            "FY2015: 903,095; FY2016: 1,493,602. So it grew by 65.39%.",
            "How much did it grow?",
            True,
        ),
        (
            "242",
            "It closed 117 stores and has 2,714 left.",
            "How many stores were closed in 2022?",
            False,
        ),
    ],
)
def test_writings_of_one_figure(expected: str, answer: str, question: str, right: bool) -> None:
    (score,) = answer_agreement(
        [(Case("1", question, expected=(expected,)), Response(answer=answer))]
    )
    assert score.value is not None
    assert (score.value > 0.5) is right

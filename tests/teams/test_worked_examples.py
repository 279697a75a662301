"""The worked examples that the five teams' descriptions give, with their numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import answerkey as ak
from answerkey.comparison.significance import difference
from answerkey.metrics.overlap import keyword_recall
from answerkey.types import Case, Response

Write = Callable[[str, object], Path]


def test_the_ranking_example() -> None:
    """Five retrieved pages, two of the three relevant ones among them, the first at rank 3."""
    figures = ak.rank(
        {"q": ["p1", "p2", "p3"]},
        {"q": ["x", "y", "p1", "z", "p2"]},
        ["precision@5", "recall@5", "f1@5", "mrr"],
    )
    means = {name: round(value, 3) for name, value in figures.mean.items()}
    assert means == {"precision@5": 0.4, "recall@5": 0.667, "f1@5": 0.5, "mrr": 0.333}


def test_cohens_d_uses_population_deviations() -> None:
    before = np.array([0.5, 0.6, 0.7, 0.8])
    after = np.array([0.7, 0.7, 0.9, 0.9])
    pooled = ((before.std() ** 2 + after.std() ** 2) / 2) ** 0.5
    expected = (after.mean() - before.mean()) / pooled
    assert difference(before, after).d_pooled == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "expected", "recall"),
    [
        ("Reset it in your profile settings.", "Go to your profile settings.", 3 / 5),
        ("RM 99,852.83", "It was RM 99,852.83!", 2 / 4),
        ("self-service", "self service", 0.0),
        ("", "anything", 0.0),
        ("anything", "", 0.0),
    ],
)
def test_keyword_recall_uses_the_tokens_of_the_faq_bot(
    answer: str, expected: str, recall: float
) -> None:
    score: Any = keyword_recall(Case("1", "q", expected=(expected,)), Response(answer))
    assert score.value == pytest.approx(recall)


def test_files_in_a_list(write: Write) -> None:
    first = write("a.jsonl", [{"id": "1", "question": "q", "expected": "a"}])
    second = write("b.jsonl", [{"id": "2", "question": "r", "expected": "b"}])
    assert [case.id for case in ak.load_cases([first, second])] == ["1", "2"]
    assert [case.id for case in ak.load_cases(first, [second])] == ["1", "2"]


def test_another_order_of_arguments_is_an_error() -> None:
    def model(prompt: str) -> str:
        return "x"

    improve: Any = ak.improve_answer
    assess: Any = ak.assess_answer
    with pytest.raises(TypeError):
        improve(model, "Where?", "In Paris.", ["It is in Paris."])
    with pytest.raises(TypeError):
        improve(model, "Where?", contexts=["It is in Paris."])
    with pytest.raises(TypeError):
        assess("Where?", "In Paris.", ["It is in Paris."])


@pytest.mark.parametrize(
    "answer",
    [
        "The AI was unable to synthesize an answer.",
        "I could not find relevant information.",
        "There is no sufficient context.",
    ],
)
def test_usual_fallback_phrases(answer: str) -> None:
    result = ak.assess_answer("Where?", answer, contexts=["It is in Paris."])
    assert result.checks["no_fallback"] is False


def test_the_mean_of_the_retrieval_scores_as_an_option() -> None:
    from answerkey.quality.assess import Limits

    answer = "It is in Paris [1]."
    contexts = ["It is in Paris.", "Bread."]
    best = ak.assess_answer("Where?", answer, contexts=contexts, retrieval_scores=[0.5, 0.0])
    assert best.checks["retrieval_scores"] is True
    by_mean = ak.assess_answer(
        "Where?",
        answer,
        contexts=contexts,
        retrieval_scores=[0.5, 0.0],
        limits=Limits(scores="mean"),
    )
    assert by_mean.checks["retrieval_scores"] is False
    assert "mean retrieval score is 0.25" in by_mean.findings[0].message

from __future__ import annotations

import numpy as np
import pytest

from answerkey.errors import SettingsError
from answerkey.metrics.semantic import (
    answer_correctness,
    answer_hallucination,
    answer_relevance,
    context_relevance,
    context_sufficiency,
    evaluate_all,
)

ROWS = {"q": [1, 0], "near": [1, 0], "half": [1, 1], "far": [0, 1]}


def embed(texts: list[str]) -> np.ndarray:
    return np.array([ROWS[text] for text in texts], dtype=float)


class Encoder:
    def encode(self, texts: list[str]) -> np.ndarray:
        return embed(texts)


@pytest.mark.parametrize("model", [embed, Encoder()], ids=["function", "object"])
def test_the_five_functions_of_texts(model: object) -> None:
    assert context_relevance("q", ["near", "far"], model=model) == pytest.approx(0.5)
    assert context_sufficiency("q", ["near", "half", "far"], model=model) == pytest.approx(2 / 3)
    assert context_sufficiency("q", ["near", "half"], 0.9, model=model) == 0.5
    assert answer_relevance("q", "half", model=model) == pytest.approx(0.7071, abs=1e-4)
    assert answer_relevance("q", "far", "far", model=model) == pytest.approx(1.0)
    assert answer_correctness("near", "far", model=model) == 0.0
    assert answer_hallucination("near. far.", ["q"], model=model) == 0.5
    assert answer_hallucination("half.", ["q"], threshold=0.8, model=model) == 1.0


def test_blank_texts_and_no_contexts() -> None:
    assert context_relevance("q", [], model=embed) == 0.0
    assert context_sufficiency("q", [], model=embed) == 0.0
    assert answer_hallucination("near.", [], model=embed) == 1.0
    assert answer_hallucination("", ["q"], model=embed) == 0.0
    assert answer_correctness(" ", "a", model="all-MiniLM-L6-v2") == 0.0


def test_they_equal_evaluate_all() -> None:
    question = "Where is it?"
    answer = "It is in Paris. The moon is green."
    contexts = ["The office is in Paris.", "Bread is baked daily."]
    together = evaluate_all(question, answer, "In Paris.", contexts)
    alone = {
        "context_relevance": context_relevance(question, contexts),
        "context_sufficiency": context_sufficiency(question, contexts),
        "answer_relevance": answer_relevance(question, answer, "In Paris."),
        "answer_correctness": answer_correctness(answer, "In Paris."),
        "answer_hallucination": answer_hallucination(answer, contexts),
    }
    assert alone == pytest.approx(together, abs=1e-5)


def test_a_model_of_another_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="expected a name, an object with embed or encode"):
        context_relevance("q", ["near"], model=3)

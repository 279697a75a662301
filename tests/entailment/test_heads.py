"""Reading a model's numbers as supported, neutral and contradicted."""

from __future__ import annotations

import numpy as np
import pytest

from answerkey.entailment.heads import (
    ClassHead,
    ClassMeaning,
    Family,
    NumberHead,
    choose_family,
    make_head,
    read_meanings,
)
from answerkey.entailment.pair_model import probabilities
from answerkey.errors import SettingsError

CLASSIFIER = {"architectures": ["BertForSequenceClassification"]}


@pytest.mark.parametrize(
    ("config", "name", "family"),
    [
        ({**CLASSIFIER, "id2label": {"0": "a", "1": "b", "2": "c"}}, "m", Family.THREE_CLASSES),
        ({**CLASSIFIER, "id2label": {"0": "a", "1": "b"}}, "m", Family.TWO_CLASSES),
        ({**CLASSIFIER, "num_labels": 1}, "m", Family.ONE_NUMBER),
        ({**CLASSIFIER, "num_labels": 1}, "org/bge-reranker", Family.RERANKER),
        ({"architectures": ["XForTokenClassification"]}, "m", Family.TOKENS),
        ({}, "m", Family.TWO_CLASSES),  # the default of transformers
    ],
)
def test_the_family_comes_from_the_config(
    config: dict[str, object], name: str, family: Family
) -> None:
    assert choose_family(config, name) is family


@pytest.mark.parametrize(
    "config", [{**CLASSIFIER, "num_labels": 7}, {"architectures": ["GPT2LMHeadModel"]}]
)
def test_other_models_are_refused(config: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match='model "m"'):
        choose_family(config, "m")


def test_class_names_are_read_in_any_spelling() -> None:
    config = {"id2label": {"1": "ENTAILMENT", "0": "Contradiction", "2": "neutral"}}
    assert read_meanings(config, "m") == (
        ClassMeaning.CONTRADICTED,
        ClassMeaning.SUPPORTED,
        ClassMeaning.NEUTRAL,
    )


def test_a_class_that_a_model_lacks_has_no_probability() -> None:
    head = ClassHead((ClassMeaning.NOT_SUPPORTED, ClassMeaning.SUPPORTED))
    shares = probabilities(head.rows(np.array([[0.0, 2.0], [3.0, 0.0]], np.float32)))
    assert shares[0] == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2)), 0], abs=1e-6)
    assert shares[:, 2].max() < 1e-9


def test_one_number_is_log_odds_or_a_probability() -> None:
    numbers = np.array([[0.8]], np.float32)
    odds = probabilities(NumberHead().rows(numbers))[0, 0]
    share = probabilities(NumberHead(is_probability=True).rows(numbers))[0, 0]
    assert odds == pytest.approx(1 / (1 + np.exp(-0.8)))
    assert share == pytest.approx(0.8, abs=1e-6)


def test_regression_without_an_activation_is_a_probability() -> None:
    config = {**CLASSIFIER, "num_labels": 1, "problem_type": "regression"}
    assert make_head(config, Family.ONE_NUMBER, "m") == NumberHead(is_probability=True)

"""Pair models without ONNX through the real CrossEncoder; skipped without the extra `sentence-transformers`."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="needs answerkey[sentence-transformers]")

from sentence_transformers import CrossEncoder
from tests.support.torch_models import make_torch_classifier

from answerkey.entailment.load import load_pair_model
from answerkey.entailment.pair_model import probabilities

ORDER = ("entailment", "neutral", "contradiction")  # ours: supported, neutral, contradicted
PAIRS = [
    ("the museum opened in 1932", "the museum is closed"),
    ("a tour takes an hour", "a tour takes an hour"),
    ("closed on mondays", "yes"),
]


@pytest.mark.parametrize("labels", list(itertools.permutations(ORDER)))
def test_classes_are_those_of_the_cross_encoder_in_our_order(
    tmp_path: Path, labels: tuple[str, ...]
) -> None:
    folder = make_torch_classifier(tmp_path / "m", labels)
    model = load_pair_model(str(folder), cache=False)
    assert model is not None
    outputs = CrossEncoder(str(folder), device="cpu").predict(PAIRS, apply_softmax=True)
    expected = np.asarray(outputs)[:, [labels.index(name) for name in ORDER]]
    shares = probabilities(model.logits(PAIRS))
    np.testing.assert_allclose(shares, expected, atol=1e-5)
    assert np.ptp(expected, axis=1).max() > 0.05  # the classes differ, so the order matters


def test_one_number_is_the_log_odds(tmp_path: Path) -> None:
    folder = make_torch_classifier(tmp_path / "m", ("LABEL_0",))
    model = load_pair_model(str(folder), cache=False)
    assert model is not None
    plain = CrossEncoder(str(folder), device="cpu").predict(PAIRS)  # a sigmoid of the number
    np.testing.assert_allclose(probabilities(model.logits(PAIRS))[:, 0], plain, atol=1e-5)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_other_tokenizers_give_the_same(tmp_path: Path, kind: str) -> None:
    folder = make_torch_classifier(tmp_path / "m", ORDER, kind)
    model = load_pair_model(str(folder), cache=False)
    assert model is not None
    outputs = CrossEncoder(str(folder), device="cpu").predict(PAIRS, apply_softmax=True)
    np.testing.assert_allclose(probabilities(model.logits(PAIRS)), np.asarray(outputs), atol=1e-5)


def test_a_long_premise_is_read_in_windows(tmp_path: Path) -> None:
    folder = make_torch_classifier(tmp_path / "m", ORDER)
    model = load_pair_model(str(folder), cache=False)
    assert model is not None
    long = "the museum is closed on mondays and " * 40
    rows = model.logits([(long, "yes"), (long + "yes", "yes")])
    assert np.isfinite(rows).all()
    assert np.abs(rows[0] - rows[1]).max() > 0  # its end is read too

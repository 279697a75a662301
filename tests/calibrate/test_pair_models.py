"""`answerkey models check`: figures, the card, and metrics that use it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.support.tiny_models import make_classes

import answerkey as ak
from answerkey.calibrate.agreement import auroc
from answerkey.calibrate.pair_models import calibration_error
from answerkey.entailment import load

CONTEXTS = ["the museum opened in 1932"]


def labelled_rows(count: int) -> list[dict[str, object]]:
    """Every tenth label is wrong, so that no fit is perfect."""
    rows: list[dict[str, object]] = []
    for n in range(count):
        word = ("yes", "no")[n % 2]
        label = 1 - n % 2 if n % 10 else n % 2
        answer = f"{word} the museum {'opened ' * (n % 5)}."
        rows.append({"contexts": CONTEXTS, "answer": answer, "label": label, "group": n // 4})
    return rows


def test_a_checked_model_has_a_card_that_metrics_use(
    cli: Callable, write: Callable[[str, object], Path], tmp_path: Path
) -> None:
    folder = make_classes(tmp_path / "m", ("supported", "not_supported"))
    data = write("labelled.jsonl", labelled_rows(80))
    card = cli("models", "check", folder, "--data", data, "--json").json
    assert card["rows"] == 80
    assert card["groups"] == 20
    assert 0.85 < card["auroc"]["low"] <= card["auroc"]["value"] <= card["auroc"]["high"] <= 1
    assert card["calibration_error"] < 0.15
    assert card["temperature"] > 1  # the tiny model is far too sure: it is wrong in a tenth
    load._load.cache_clear()
    row = {"question": "q", "answer": "yes the museum.", "contexts": CONTEXTS}
    (outcome,) = ak.evaluate([row], ["groundedness"], entailment=str(folder), progress=False)
    score = outcome.scores["groundedness"]
    assert "calibrated on 80 labels" in score.reason
    assert 0.7 < (score.value or 0) < 0.98
    shown = cli("models", "check", folder, "--data", data, "--label-means", "unsupported")
    assert shown.code == 0, shown.err
    assert "AUROC, packaged model" in shown.out
    load._load.cache_clear()


def test_too_few_labels_and_wrong_rows_are_errors(
    cli: Callable, write: Callable[[str, object], Path], tmp_path: Path
) -> None:
    folder = make_classes(tmp_path / "m", ("supported", "not_supported"))
    shown = cli("models", "check", folder, "--data", write("a.jsonl", labelled_rows(20)))
    assert shown.code == 2
    assert "too few labels: 8 supported and 12 unsupported" in shown.last_line
    shown = cli("models", "check", folder, "--data", write("b.jsonl", [{"answer": "a"}]))
    assert shown.code == 2
    assert "expected contexts, answer and label" in shown.last_line


def test_auroc_and_calibration_error_have_known_values() -> None:
    labels = np.array([1, 0, 1, 0])
    assert auroc(np.array([0.9, 0.1, 0.8, 0.2]), labels == 1) == 1.0
    assert auroc(np.array([0.5, 0.5, 0.5, 0.5]), labels == 1) == 0.5
    assert auroc(np.array([0.1, 0.9, 0.2, 0.8]), labels == 1) == 0.0
    assert calibration_error(np.array([0.5, 0.5, 0.5, 0.5]), labels) == pytest.approx(0.0)

"""Directions, baselines, notes and the JSON of a calibration."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from answerkey.calibrate.calibration import (
    CalibrationOptions,
    LabelColumns,
    calibrate_metric,
    calibration_json,
    direction_of,
)
from answerkey.errors import InputError
from answerkey.types import Better, Score


@pytest.mark.parametrize(
    ("better", "raw", "positive", "sign", "means", "guessed"),
    [
        ("higher", 0.8, None, 1, "good", True),
        ("higher", 0.2, None, -1, "bad", True),
        ("lower", 0.8, None, 1, "bad", True),
        ("lower", 0.2, None, -1, "good", True),
        ("higher", 0.2, "good", 1, "good", False),
        ("lower", 0.8, "good", -1, "good", False),
        ("lower", 0.2, "bad", 1, "bad", False),
        ("neither", 0.2, None, -1, None, True),
    ],
)
def test_the_direction_rule(
    better: Better, raw: float, positive: str, sign: int, means: str, guessed: bool
):
    found = direction_of(better, raw, positive)  # type: ignore[arg-type]
    assert (found.sign, found.label_means, found.guessed) == (sign, means, guessed)


def scores_of(values: np.ndarray) -> list[Score]:
    return [Score(float(value)) for value in values]


def toy(n: int = 120, seed: int = 8) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = (random.random(n) < 0.3).astype(float)
    return np.clip(random.normal(0.3 + 0.3 * labels, 0.15), 0, 1), labels


def test_a_pinned_direction_shows_a_metric_that_points_the_wrong_way():
    values, labels = toy()
    rows = LabelColumns(labels.tolist(), [10] * len(labels))
    pinned = calibrate_metric(
        "m", "higher", [scores_of(values)], rows, CalibrationOptions(positive="bad")
    )
    guessed = calibrate_metric("m", "higher", [scores_of(values)], rows)
    assert pinned.auroc is not None
    assert guessed.auroc == pytest.approx(1 - pinned.auroc)
    assert pinned.auroc < 0.2
    assert any("wrong way" in note for note in pinned.notes)
    assert any("pin it" in note for note in guessed.notes)


def test_a_metric_that_only_measures_length_is_unmasked():
    random = np.random.default_rng(9)
    labels = (random.random(300) < 0.4).astype(float)
    lengths = (100 + 100 * labels + random.normal(0, 60, 300)).astype(int)
    values = lengths / 500 + random.normal(0, 0.05, 300)
    found = calibrate_metric(
        "m", "lower", [scores_of(values)], LabelColumns(labels.tolist(), lengths.tolist())
    )
    assert found.length_auroc is not None
    assert found.length_auroc > 0.8
    assert any("answer length alone" in note for note in found.notes)


def test_the_json_keeps_its_keys_and_its_numbers_can_be_checked():
    values, labels = toy()
    scores = [*scores_of(values), Score.failed("boom"), Score.not_applicable("no")]
    rows = LabelColumns([*labels.tolist(), 1.0, 0.0], [5] * (len(labels) + 2))
    found = calibrate_metric("m", "higher", [scores], rows, CalibrationOptions(positive="good"))
    data = json.loads(json.dumps(calibration_json(found), allow_nan=False))
    assert {
        "n",
        "auroc",
        "auroc_ci95",
        "kappa",
        "spearman",
        "best_threshold",
        "accuracy_at_best",
    } <= data.keys()
    assert (data["n"], data["labelled"], data["broken"]) == (120, 122, 1)
    assert data["auroc"] == pytest.approx(roc_auc_score(labels, values))
    assert data["accuracy_at_best"] == pytest.approx(
        np.mean((values > data["best_threshold"]) == labels)
    )
    assert data["auroc_ci95"][0] < data["auroc"] < data["auroc_ci95"][1]
    assert data["baselines"]["always_positive"]["accuracy"] == pytest.approx(labels.mean())
    assert data["baselines"]["length_only"]["auroc"] == 0.5
    assert sum(row["n"] for row in data["reliability"]) == 120


def test_labels_that_are_grades_are_cut_in_the_middle_unless_told():
    values = np.linspace(0, 1, 50)
    grades = np.round(values * 4) + 1
    rows = LabelColumns(grades.tolist(), [5] * 50)
    found = calibrate_metric("m", "higher", [scores_of(values)], rows)
    assert (found.label_cut, found.auroc) == (3.0, 1.0)
    assert found.spearman == pytest.approx(stats.spearmanr(values, grades)[0])
    assert calibrate_metric(
        "m", "higher", [scores_of(values)], rows, CalibrationOptions(label_cut=4.5)
    ).positives == np.sum(grades == 5)


def test_one_sided_labels_and_no_values_are_said():
    found = calibrate_metric(
        "m", "higher", [scores_of(np.linspace(0, 1, 9))], LabelColumns([1.0] * 9, [5] * 9)
    )
    assert found.auroc is None
    assert "one side" in found.notes[0]
    json.dumps(calibration_json(found), allow_nan=False)
    with pytest.raises(InputError, match="needs passages"):
        calibrate_metric(
            "m", "higher", [[Score.not_applicable("needs passages")]], LabelColumns([1.0], [5])
        )


def test_a_judges_noise_over_repeats():
    values, labels = toy()
    random = np.random.default_rng(10)
    repeats = [scores_of(values + random.normal(0, 0.05, len(values))) for _ in range(5)]
    found = calibrate_metric(
        "m", "higher", repeats, LabelColumns(labels.tolist(), [5] * len(labels))
    )
    assert found.noise is not None
    assert found.noise.sd == pytest.approx(0.05, rel=0.15)
    assert found.noise.flips is not None
    assert 0 < found.noise.flips < 0.6
    same = calibrate_metric(
        "m", "higher", repeats[:1] * 3, LabelColumns(labels.tolist(), [5] * len(labels))
    )
    assert same.noise is not None
    assert (same.noise.sd, same.noise.flips) == (0.0, 0.0)

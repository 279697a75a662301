"""Agreement figures against scikit-learn and scipy; intervals, folds and directions by their laws."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, recall_score, roc_auc_score

from answerkey.calibrate.agreement import (
    agreement,
    auroc,
    best_threshold,
    cross_validated,
    reliability,
    spearman,
)
from answerkey.calibrate.calibration import CalibrationOptions, LabelColumns, calibrate_metric, direction_of
from answerkey.calibrate.calibration_report import calibration_json
from answerkey.calibrate.resampling import auroc_draws, interval95
from answerkey.errors import InputError
from answerkey.types import Better, Score

labelled_values = st.lists(
    st.tuples(st.integers(0, 12).map(lambda n: n / 12), st.booleans()), min_size=4, max_size=60
).filter(lambda rows: len({label for _, label in rows}) == 2)


def columns(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([value for value, _ in rows]), np.array([label for _, label in rows])


@settings(deadline=None)
@given(labelled_values)
def test_auroc_spearman_and_agreement_equal_the_references(rows: list[tuple[float, bool]]):
    values, positive = columns(rows)
    assert auroc(values, positive) == pytest.approx(roc_auc_score(positive, values), abs=1e-12)
    if np.ptp(values) > 0:
        assert spearman(values, positive.astype(float)) == pytest.approx(
            stats.spearmanr(values, positive)[0], abs=1e-9
        )
    decided = values > 0.5
    ours = agreement(decided, positive)
    assert ours.accuracy == pytest.approx(np.mean(decided == positive))
    assert ours.tpr == pytest.approx(recall_score(positive, decided))
    assert ours.tnr == pytest.approx(recall_score(~positive, ~decided))
    assert ours.kappa == pytest.approx(cohen_kappa_score(positive, decided), abs=1e-9)


@settings(deadline=None)
@given(labelled_values, st.sampled_from(["balanced", "accuracy", "kappa"]))
def test_the_best_threshold_is_the_best(rows: list[tuple[float, bool]], aim: str):
    values, positive = columns(rows)
    cut = best_threshold(values, positive, aim)  # type: ignore[arg-type]
    distinct = np.unique(values)
    if len(distinct) == 1:
        assert cut is None
        return

    def worth(at: float) -> float:
        a = agreement(values > at, positive)
        return {"balanced": (a.tpr or 0) + (a.tnr or 0), "accuracy": a.accuracy, "kappa": a.kappa or 0.0}[aim]

    assert cut is not None
    assert worth(cut) == pytest.approx(max(worth(at) for at in (distinct[1:] + distinct[:-1]) / 2))


def test_one_class_or_one_value_has_no_figure():
    values = np.array([0.1, 0.2, 0.3])
    assert auroc(values, np.array([True, True, True])) is None
    assert spearman(np.ones(5), np.arange(5.0)) is None
    assert best_threshold(np.ones(3), np.array([True, False, True])) is None


def test_resampled_auroc_equals_sklearns_on_the_drawn_rows():
    random = np.random.default_rng(5)
    values, positive = np.round(random.random(30), 1), random.random(30) < 0.4
    draws = auroc_draws([values, -values], positive, None)
    assert np.nanmean(draws[0]) == pytest.approx(roc_auc_score(positive, values), abs=0.01)
    assert draws[0] + draws[1] == pytest.approx(np.ones(len(draws[0])))
    again = auroc_draws([values], positive, None)[0]
    assert np.array_equal(draws[0], again)


def test_rows_of_one_source_do_not_pass_for_many():
    random = np.random.default_rng(6)
    values, positive = random.random(40), random.random(40) < 0.5
    copies = np.tile(values, 10), np.tile(positive, 10)
    groups = [str(n) for _ in range(10) for n in range(40)]
    one = interval95(auroc_draws([values], positive, None)[0])
    fooled = interval95(auroc_draws([copies[0]], copies[1], None)[0])
    grouped = interval95(auroc_draws([copies[0]], copies[1], groups)[0])
    assert None not in (one, fooled, grouped)
    assert np.diff(grouped) == pytest.approx(np.diff(one), rel=0.05)
    assert np.diff(fooled) < 0.5 * np.diff(one)


def test_cross_validation_never_splits_a_group_and_is_honest_about_noise():
    random = np.random.default_rng(7)
    values, positive = random.random(200), random.random(200) < 0.5
    fitted = agreement(values > (best_threshold(values, positive) or 0), positive)
    crossed = cross_validated(values, positive, None)
    assert crossed is not None
    assert (fitted.kappa or 0) > 0.05
    assert crossed[0].kappa is not None
    assert crossed[0].kappa < (fitted.kappa or 0)
    # A value that names its group tells nothing of the groups left out.
    groups = [str(n // 10) for n in range(200)]
    side = random.random(20) < 0.5
    names = np.array([n // 10 + 0.0 for n in range(200)])
    by_group = cross_validated(names, side[(names).astype(int)], groups)
    assert by_group is not None
    assert by_group[0].accuracy < 0.8


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
def test_the_direction_rule(better: Better, raw: float, positive: str, sign: int, means: str, guessed: bool):
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
    pinned = calibrate_metric("m", "higher", [scores_of(values)], rows, CalibrationOptions(positive="bad"))
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
    assert data["accuracy_at_best"] == pytest.approx(np.mean((values > data["best_threshold"]) == labels))
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
        calibrate_metric("m", "higher", [[Score.not_applicable("needs passages")]], LabelColumns([1.0], [5]))


def test_a_judges_noise_over_repeats():
    values, labels = toy()
    random = np.random.default_rng(10)
    repeats = [scores_of(values + random.normal(0, 0.05, len(values))) for _ in range(5)]
    found = calibrate_metric("m", "higher", repeats, LabelColumns(labels.tolist(), [5] * len(labels)))
    assert found.noise is not None
    assert found.noise.sd == pytest.approx(0.05, rel=0.15)
    assert found.noise.flips is not None
    assert 0 < found.noise.flips < 0.6
    same = calibrate_metric("m", "higher", repeats[:1] * 3, LabelColumns(labels.tolist(), [5] * len(labels)))
    assert same.noise is not None
    assert (same.noise.sd, same.noise.flips) == (0.0, 0.0)


def test_reliability_of_a_perfect_probability():
    random = np.random.default_rng(11)
    chance = random.random(20_000)
    positive = random.random(20_000) < chance
    right, wrong = reliability(chance, positive, 1), reliability(chance, positive, -1)
    assert right.error is not None
    assert wrong.error is not None
    assert right.error < 0.02 < 0.3 < wrong.error
    assert len(right.bins) == 10
    assert reliability(chance * 100, positive, 1).error is None

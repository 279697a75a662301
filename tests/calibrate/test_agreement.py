"""Agreement figures against scikit-learn and scipy; intervals, folds and directions by their laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score, recall_score, roc_auc_score

from answerkey.calibrate.agreement import (
    agreement,
    auroc,
    auroc_draws,
    best_threshold,
    cross_validate_threshold,
    interval95,
    reliability,
    spearman,
)

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
        return {
            "balanced": (a.tpr or 0) + (a.tnr or 0),
            "accuracy": a.accuracy,
            "kappa": a.kappa or 0.0,
        }[aim]

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
    crossed = cross_validate_threshold(values, positive, None)
    assert crossed is not None
    assert (fitted.kappa or 0) > 0.05
    assert crossed.agreement.kappa is not None
    assert crossed.agreement.kappa < (fitted.kappa or 0)
    # A value that names its group tells nothing of the groups left out.
    groups = [str(n // 10) for n in range(200)]
    side = random.random(20) < 0.5
    names = np.array([n // 10 + 0.0 for n in range(200)])
    by_group = cross_validate_threshold(names, side[(names).astype(int)], groups)
    assert by_group is not None
    assert by_group.agreement.accuracy < 0.8


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

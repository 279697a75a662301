"""Trees as plain numbers give what scikit-learn gives."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tools.local_judge.fit import calibration, exported, fit_trees

from answerkey.metrics.boosted_trees import from_json


def test_exported_trees_equal_the_library() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(600, 4))
    labels = (rows[:, 0] - rows[:, 1] + 0.5 * rng.normal(size=600) > 0).astype(float)
    model = fit_trees(rows, labels, np.ones(600), [1, -1, 0, 0], max_iter=30, max_features=1.0)
    small = from_json(json.loads(json.dumps(exported(model, list("abcd"), (1.0, 0.0), {}))))
    new = rng.normal(size=(500, 4)).astype(np.float32)
    assert small.log_odds(new) == pytest.approx(model.decision_function(new), abs=1e-3)
    higher = new.copy()
    higher[:, 0] += 1.0
    assert (small.log_odds(higher) >= small.log_odds(new) - 1e-9).all()


def test_calibration_finds_the_curve_that_made_the_labels() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=20_000) * 2
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-(0.5 * scores - 1.0)))).astype(float)
    slope, shift = calibration(scores, labels, np.zeros(20_000, dtype=np.int64))
    assert (slope, shift) == pytest.approx((0.5, -1.0), abs=0.1)

from __future__ import annotations

import numpy as np
import pytest

from answerkey.calibrate.agreement import auroc_draws
from answerkey.calibrate.auroc_interval import auroc_interval, score_ends


def test_a_perfect_order_of_few_rows_is_not_certain() -> None:
    positive = np.arange(20) < 10
    values = positive.astype(float)
    draws = auroc_draws([values], positive, None)[0]
    interval = auroc_interval(values, positive, draws)
    assert interval is not None
    assert interval[0] == pytest.approx(0.83, abs=0.04)
    assert interval[1] == 1.0


def test_rows_of_one_source_count_once() -> None:
    positive = np.arange(40) % 2 == 0
    values = np.random.default_rng(1).normal(0, 1, 40) + positive
    groups = [str(row // 4) for row in range(40)]
    alone = auroc_interval(values, positive, auroc_draws([values], positive, None)[0])
    grouped = auroc_interval(values, positive, auroc_draws([values], positive, groups)[0], groups)
    assert alone is not None
    assert grouped is not None
    assert grouped[1] - grouped[0] > alone[1] - alone[0]


def test_the_interval_holds_the_area() -> None:
    for area in (0.0, 0.3, 0.5, 0.9, 1.0):
        low, high = score_ends(area, 12, 8)
        assert 0.0 <= low <= area <= high <= 1.0


def test_one_class_has_no_interval() -> None:
    positive = np.ones(10, dtype=bool)
    values = np.arange(10.0)
    assert auroc_interval(values, positive, np.full(100, np.nan)) is None

"""The small version of benchmarks/coverage.py: intervals cover the truth, and no change raises no alarm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.coverage import TABLES, Cell

from answerkey.comparison.significance import difference
from answerkey.corrected_rate import ppi_rate
from answerkey.intervals import cluster_interval, mean_interval

# Few runs suffice to see a collapse; the benchmark has tables of means and AUROC too, with many runs.
RUNS = {"rates": 1, "labels": 60, "clusters": 12, "mcnemar": 100, "gate": 100}


def is_far_out(cell: Cell) -> bool:
    """Three standard errors: with a hundred cells of few runs, two would fail by chance."""
    expected = cell.least or cell.most
    slack = 3 * math.sqrt(expected * (1 - expected) / cell.runs)
    return not cell.least - slack <= cell.share <= cell.most + slack


@pytest.mark.slow
@pytest.mark.parametrize("table", RUNS)
def test_every_figure_of_a_table_is_within_its_limits(table: str) -> None:
    cells = list(TABLES[table](RUNS[table]))
    assert [cell for cell in cells if is_far_out(cell)] == []


@pytest.mark.parametrize("n", [20, 200])
@pytest.mark.parametrize("changed", [3, 4, 5, 6, 8, 10])
def test_equal_changes_up_and_down_raise_few_false_alarms(n: int, changed: int) -> None:
    """Exact: every number of changes upwards has a known probability."""
    alarms = 0.0
    for ups in range(changed + 1):
        before = np.full(n, 0.5)
        after = before.copy()
        after[:ups] += 0.3
        after[ups:changed] -= 0.3
        alarms += difference(before, after).sure * math.comb(changed, ups) / 2**changed
    assert alarms <= 0.055


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5, 5.0])
@pytest.mark.parametrize("n", [2, 5, 20, 50, 199])
def test_few_equal_values_have_an_interval_with_width(value: float, n: int) -> None:
    interval = mean_interval([value] * n)
    assert interval is not None
    assert interval.high - interval.low > 0.3 / n


def test_equal_clusters_have_an_interval_with_width() -> None:
    interval = cluster_interval([5] * 4, [4] * 4, rate=True)
    assert interval is not None
    assert interval.low < 0.6
    assert interval.high > 0.9


@pytest.mark.parametrize(
    ("labels", "passed", "rest"),
    [
        ([1, 1], [True] * 2, [True] * 90 + [False] * 8),
        ([1, 1, 1, 0], [True] * 4, [True] * 96),
        ([0, 0], [False] * 2, [True] * 98),
    ],
)
def test_a_pass_rate_corrected_by_few_labels_is_uncertain(
    labels: list[float], passed: list[bool], rest: list[bool]
) -> None:
    rate = ppi_rate(labels, passed, rest)
    assert rate is not None
    assert rate.has_too_few_labels
    assert rate.high - rate.low > 0.5
    assert 0.0 <= rate.low <= rate.rate <= rate.high <= 1.0

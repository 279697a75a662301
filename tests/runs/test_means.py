"""Means, rates and quantiles against numpy; the order of the cases changes no digit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.intervals import cluster_interval
from answerkey.runs.means import interval_of_rate, mean_of, plain_mean, quantile_of

VALUES = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0, 0.5]), max_size=60)


@given(VALUES)
def test_figures_equal_numpy(values):
    mean = mean_of(np.array(values), 70)
    assert (mean.n, mean.of) == (len(values), 70)
    if not values:
        assert mean.mean is None
        assert quantile_of(np.array(values), 0.5) is None
        return
    assert mean.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    assert mean.mean == plain_mean(np.array([*values, math.nan]))
    assert (mean.min, mean.max) == (min(values), max(values))
    assert quantile_of(np.array(values), 0.95) == pytest.approx(np.quantile(values, 0.95))
    if len(values) > 1:
        assert mean.sd == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-4)
        assert mean.ci95[0] <= mean.ci95[1]


@given(VALUES, st.randoms())
def test_any_order_gives_the_same_to_the_last_digit(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert mean_of(np.array(values), 9) == mean_of(np.array(shuffled), 9)


@pytest.mark.parametrize(
    ("values", "sd"),
    [
        ([0.1] * 3, 0.0),
        ([1 / 3] * 7, 0.0),
        ([1e9, 1e9 + 1, 1e9 + 2], 1.0),
        ([0.9999999] * 100, 0.0),
    ],
)
def test_the_deviation_loses_nothing_to_a_large_mean(values, sd):
    assert mean_of(np.array(values), 1).sd == pytest.approx(sd, abs=1e-15)


def test_a_number_past_all_sense_does_not_end_a_run():
    mean = mean_of(np.array([1e200, 1.0, -1e300, math.inf]), 4)
    assert (mean.min, mean.max) == (-1e100, 1e100)
    assert all(math.isfinite(getattr(mean, name)) for name in ("mean", "sd"))


def test_values_of_one_cluster_count_as_one():
    random = np.random.default_rng(4)
    values = random.random(300)
    clusters = np.array([f"c{n % 7}" if n % 3 else None for n in range(300)], dtype=object)
    groups = [values[clusters == name] for name in sorted(set(clusters) - {None})]
    alone = np.sort(values[clusters == None])  # noqa: E711  (elementwise)
    expected = cluster_interval(
        [*map(len, groups), *[1] * len(alone)], [*map(math.fsum, groups), *alone]
    )
    mean = mean_of(values, 300, clusters)
    assert mean.ci95 == pytest.approx(expected[:2])
    assert mean.ci95_method == expected.method
    order = random.permutation(300)
    assert mean_of(values[order], 300, clusters[order]) == mean


def test_a_rate_by_cluster_counts_only_the_cases_among():
    clusters = np.array(["a", "a", "b", "b", None, None], dtype=object)
    hits = np.array([True, False, True, True, True, False])
    among = np.array([True, True, True, False, True, True])
    expected = cluster_interval([2, 1, 1, 1], [1, 1, 1, 0], rate=True)
    assert interval_of_rate(hits, among, clusters) == expected

"""Intervals against scipy and statsmodels, and the laws they keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from answerkey.intervals import interval_from_moments, mean_interval, rate_interval


def test_fewer_than_two_values_have_no_interval():
    assert mean_interval([]) is None
    assert mean_interval([0.4]) is None
    assert interval_from_moments(1, 0.4, 0.0) is None
    assert rate_interval(0, 0) is None


def test_the_bootstrap_is_near_scipys_and_the_same_every_time():
    values = np.random.default_rng(1).beta(2, 3, size=200)
    ours = mean_interval(values)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(2))
    assert ours is not None
    assert ours.method == "bootstrap"
    assert ours[:2] == pytest.approx(theirs.confidence_interval, abs=0.002)
    assert mean_interval(iter(values)) == ours


def test_many_values_get_the_t_interval():
    values = np.random.default_rng(3).normal(5, 2, size=2001)
    ours = mean_interval(list(values))
    assert ours is not None
    assert ours.method == "t"
    assert ours[:2] == pytest.approx(stats.t.interval(0.95, 2000, values.mean(), stats.sem(values)), abs=1e-12)


def test_equal_values_have_an_interval_of_no_width():
    assert mean_interval([0.1] * 7) == (0.1, 0.1, "bootstrap")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_the_interval_lies_within_the_values(values: list[float]):
    interval = mean_interval(values)
    assert interval is not None
    slack = 1e-9 * max(map(abs, values), default=0)
    assert min(values) - slack <= interval.low <= interval.high <= max(values) + slack


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_statsmodels(counts: tuple[int, int]):
    ours = rate_interval(*counts)
    assert ours is not None
    assert ours[:2] == pytest.approx(proportion_confint(*counts, method="wilson"), abs=1e-12)
    assert 0 <= ours.low <= counts[0] / counts[1] <= ours.high <= 1

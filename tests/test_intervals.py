"""Intervals against scipy and statsmodels, and the laws they keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from answerkey.corrected_rate import ppi_rate
from answerkey.intervals import interval_from_moments, mean_interval, rate_interval


def test_fewer_than_two_values_have_no_interval():
    assert mean_interval([]) is None
    assert mean_interval([0.4]) is None
    assert interval_from_moments(1, 0.4, 0.0) is None
    assert rate_interval(0, 0) is None


def test_the_bootstrap_is_near_students_t_and_the_same_every_time():
    values = np.random.default_rng(1).normal(0.5, 0.1, size=150)
    ours = mean_interval(values)
    assert ours is not None
    assert ours.method == "studentised bootstrap"
    theirs = stats.t.interval(0.95, 149, values.mean(), stats.sem(values))
    assert ours[:2] == pytest.approx(theirs, abs=0.002)
    assert mean_interval(iter(values)) == ours


def test_zeros_and_ones_are_a_rate():
    assert mean_interval([1.0] * 19 + [0.0]) == rate_interval(19, 20)
    assert mean_interval([1.0] * 20) == rate_interval(20, 20)
    assert mean_interval([0.0] * 5) == rate_interval(0, 5)


def test_many_values_get_the_t_interval():
    values = np.random.default_rng(3).normal(5, 2, size=2001)
    ours = mean_interval(list(values))
    assert ours is not None
    assert ours.method == "t"
    assert ours[:2] == pytest.approx(
        stats.t.interval(0.95, 2000, values.mean(), stats.sem(values)), abs=1e-12
    )


@pytest.mark.parametrize("value", [0.1, 0.5, 5.0, -2.0])
@pytest.mark.parametrize("count", [2, 7, 199])
def test_a_few_equal_values_never_have_an_interval_without_width(value: float, count: int):
    interval = mean_interval([value] * count)
    assert interval is not None
    assert interval.method == "t with both ends of the scale"
    assert interval.low <= value <= interval.high
    assert interval.high - interval.low >= 1 / count / 2


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_the_interval_holds_the_mean_and_stays_on_the_scale(values: list[float]):
    interval = mean_interval(values)
    assert interval is not None
    slack = 1e-9 * max(map(abs, values), default=0)
    assert min(0, *values) - slack <= interval.low <= interval.high <= max(1, *values) + slack
    assert interval.low - slack <= np.mean(values) <= interval.high + slack


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_statsmodels(counts: tuple[int, int]):
    ours = rate_interval(*counts)
    assert ours is not None
    assert ours[:2] == pytest.approx(proportion_confint(*counts, method="wilson"), abs=1e-12)
    assert 0 <= ours.low <= counts[0] / counts[1] <= ours.high <= 1


# labels, verdicts, passed of the rest, size of the rest; estimate and interval of ppi_mean_ci in ppi-python 0.2.3.
PPI_PYTHON = [
    ("11110010100101010111111111001111101110011111101110", "11110010110101011111111111001111101111010111101110", 337, 500, 0.6554120989304812, 0.5727426731864607, 0.7380815246745018),
    ("001011010100101111110110000110", "010001010110101111111010101111", 48, 70, 0.5490215588723052, 0.3808881903867941, 0.7171549273578163),
    ("11111111111111110111111110111111111111111111111111111110111111111111111011110111110111111101111111111111001111111101110111111111110101111111110111111001111111111111101101111101111011111101110111111111", "11111111111111100111111110111111111111111111111111111110111111111111111111100110110111111101111111011111011111111111111111111111110101111111111111111111111111111111111101111101111111111101110111111111", 93, 100, 0.8937679687500001, 0.8538248413414512, 0.933711096158549),
    ("1100100101000000100110100", "0100100100011000100000100", 562, 2000, 0.36048470615500494, 0.19316688328716708, 0.5278025290228427),
    ("0101010101011001001000011110111001101011", "1110010010101001000110101011000100111101", 142, 300, 0.525, 0.37024504907672606, 0.679754950923274),
]  # fmt: skip


@pytest.mark.parametrize(
    "row", PPI_PYTHON, ids=lambda row: f"{len(row[0])} labels of {len(row[0]) + row[3]}"
)
def test_ppi_equals_ppi_python(row):
    labels, passed, rest_passed, rest, estimate, low, high = row
    found = ppi_rate(
        [float(label) for label in labels],
        [verdict == "1" for verdict in passed],
        [True] * rest_passed + [False] * (rest - rest_passed),
    )
    assert found.rate == pytest.approx(estimate, abs=1e-9, rel=0)
    # Near the ends the interval is wider than that of PPI++, never narrower.
    assert 0 <= found.low <= low + 1e-9
    assert high - 1e-9 <= found.high <= 1
    assert found.high - found.low < 1.6 * (high - low)
    assert found.method == "PPI++"


def test_ppi_has_no_interval_from_one_label_and_wilsons_when_all_are_labelled():
    assert ppi_rate([1.0], [True], [True] * 9) is None
    whole = ppi_rate([1.0] * 8 + [0.0] * 2, [True] * 10, [])
    assert (whole.rate, whole.low, whole.high) == (0.8, *rate_interval(8, 10)[:2])


def test_labels_to_halve_the_interval_do_halve_it():
    random = np.random.default_rng(3)
    truth = random.random(4000) < 0.7
    verdicts = np.where(random.random(4000) < 0.85, truth, ~truth)

    def of(n):
        return ppi_rate(
            truth[:n].astype(float).tolist(), verdicts[:n].tolist(), verdicts[n:].tolist()
        )

    few = of(60)
    more = of(60 + few.more_to_halve)
    assert (more.high - more.low) / (few.high - few.low) == pytest.approx(0.5, abs=0.06)
    small = ppi_rate(
        truth[:60].astype(float).tolist(), verdicts[:60].tolist(), verdicts[60:100].tolist()
    )
    assert small.more_to_halve is None

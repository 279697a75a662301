"""Every figure against scipy or statsmodels; degenerate input gives a stated answer and never NaN."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from answerkey.comparison.exact_tests import EXACT_RANK_PAIRS, clear_differences
from answerkey.comparison.significance import (
    difference,
    effect_size,
    holm,
    mcnemar,
    smallest_detectable,
)

seeds = st.integers(0, 2**32 - 1)


def scipy_wilcoxon(a: np.ndarray, b: np.ndarray) -> float:
    """scipy's p of the same rounded differences, by the method that we use for their number."""
    clear = clear_differences(a, b)
    unequal = clear[clear != 0]
    if len(unequal) > EXACT_RANK_PAIRS:
        return min(1.0, stats.wilcoxon(unequal, method="asymptotic").pvalue)
    if len(np.unique(np.abs(unequal))) == len(unequal):
        return min(1.0, stats.wilcoxon(unequal, method="exact").pvalue)
    return exact_wilcoxon_with_ties(unequal)


def exact_wilcoxon_with_ties(unequal: np.ndarray) -> float:
    """scipy has no exact p with ties: count the sums of ranks with whole numbers of any size."""
    ranks = [round(2 * rank) for rank in stats.rankdata(np.abs(unequal))]
    above = sum(rank for rank, value in zip(ranks, unequal, strict=True) if value > 0)
    ways = {0: 1}
    for rank in ranks:
        grown = dict(ways)
        for total, count in ways.items():
            grown[total + rank] = grown.get(total + rank, 0) + count
        ways = grown
    low = sum(count for total, count in ways.items() if total <= above)
    high = sum(count for total, count in ways.items() if total >= above)
    return min(1.0, float(Fraction(2 * min(low, high), 2 ** len(ranks))))


@settings(deadline=None, max_examples=150)
@given(seeds, st.integers(3, 300), st.sampled_from([2, 6, 15]), st.floats(-0.3, 0.3))
@example(seed=271, n=233, decimals=15, shift=0.0)  # one pair is equal up to rounding
def test_t_and_wilcoxon_equal_scipy(seed: int, n: int, decimals: int, shift: float):
    random = np.random.default_rng(seed)
    a = np.round(random.beta(2, 2, n), decimals)
    b = np.round(np.clip(a + random.normal(shift, 0.2, n), 0, 1), decimals)
    assume(np.ptp(b - a) > 1e-6)
    ours = difference(a, b)
    t = stats.ttest_rel(b, a)
    assert ours.t == pytest.approx(t.statistic, abs=1e-9, rel=1e-9)
    assert ours.t_p == pytest.approx(t.pvalue, abs=1e-9)
    assert ours.wilcoxon_p == pytest.approx(scipy_wilcoxon(a, b), abs=1e-9)
    assert ours.d_z == pytest.approx(np.mean(b - a) / np.std(b - a, ddof=1), rel=1e-9)
    pooled = np.sqrt((np.var(a) + np.var(b)) / 2)
    assert ours.d_pooled == pytest.approx(np.mean(b - a) / pooled, rel=1e-9)
    assert ours.wins + ours.losses + ours.ties == n
    assert ours.diff == pytest.approx(b.mean() - a.mean(), abs=1e-12)


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_statsmodels(both: int, only_a: int, only_b: int, neither: int):
    a = np.repeat([1, 1, 0, 0], [both, only_a, only_b, neither])
    b = np.repeat([1, 0, 1, 0], [both, only_a, only_b, neither])
    ours = mcnemar(a, b)
    if both + only_a + only_b + neither == 0:
        assert ours.p is None
        return
    if only_a + only_b == 0:
        assert ours.p == 1.0
        return
    exact = only_a + only_b < 25
    theirs = reference_mcnemar([[both, only_a], [only_b, neither]], exact=exact, correction=True)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-9)
    assert ours.method == ("exact" if exact else "chi2")
    assert (ours.both, ours.only_a, ours.only_b, ours.neither) == (both, only_a, only_b, neither)


@settings(deadline=None, max_examples=25)  # the reference collects garbage at every call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_equals_statsmodels(ps: list[float]):
    assert holm(ps) == pytest.approx(multipletests(ps, method="holm")[1], abs=1e-9)


def test_the_bootstrap_interval_is_the_same_every_time():
    random = np.random.default_rng(4)
    a, b = random.random(80), random.random(80)
    first, second = difference(a, b), difference(a.copy(), b.copy())
    assert first == second
    assert first.interval is not None
    assert first.interval.method == "studentised bootstrap"


@pytest.mark.parametrize("n", [2, 3, 10, 50, 500, 100_000])
def test_the_smallest_detectable_difference_equals_statsmodels(n: int):
    reference = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) if 3 <= n <= 500 else None
    ours = smallest_detectable(n, 1.0)
    assert math.isfinite(ours)
    if reference is not None:
        assert ours == pytest.approx(float(np.squeeze(reference)), rel=1e-3)
    if n == 100_000:
        assert ours == pytest.approx((1.959964 + 0.841621) / math.sqrt(n), rel=1e-3)


@pytest.mark.parametrize("n", [12, 50, 200])
def test_the_smallest_detectable_difference_agrees_with_a_simulation(n: int):
    """The difference at which 80 % of simulated experiments are significant, within 10 %."""
    random = np.random.default_rng(n)
    noise = random.normal(0, 1, size=(4000, n))

    def found(shift: float) -> float:
        t = (noise + shift).mean(axis=1) / (noise.std(axis=1, ddof=1) / math.sqrt(n))
        return float(np.mean(t > stats.t.ppf(0.975, n - 1)))

    grid = np.linspace(0, 2, 401)
    simulated = next(shift for shift in grid if found(shift) >= 0.8)
    assert smallest_detectable(n, 1.0) == pytest.approx(simulated, rel=0.1)


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ([], [], "no case"),
        ([0.5], [0.7], "one case"),
        ([0.5, 0.5, 0.2], [0.5, 0.5, 0.2], "equal in all 3"),
        ([0.1, 0.2, 0.3, 0.9], [0.2, 0.3, 0.4, 1.0], "same amount"),
        ([0.0] * 60, [1.0] * 60, "same amount"),
        ([0.5, 0.5], [0.5, 0.50000001], "equal in all 2"),
    ],
)
def test_degenerate_input_gives_a_stated_answer(a: list[float], b: list[float], note: str):
    ours = difference(np.array(a), np.array(b))
    assert note in ours.note
    json.dumps(dataclasses.asdict(ours), allow_nan=False)
    if note == "same amount":
        assert ours.t is None
        assert ours.p == ours.wilcoxon_p


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 30).flatmap(
        lambda n: st.tuples(
            *[arrays(float, n, elements=st.floats(-1e9, 1e9, width=32)) for _ in "ab"]
        )
    )
)
def test_no_figure_is_ever_nan(pair: tuple[np.ndarray, np.ndarray]):
    figures = dataclasses.asdict(difference(*pair))
    assert json.loads(json.dumps(figures, allow_nan=False)).keys() == figures.keys()


def test_lower_is_better_turns_wins_and_gain_round():
    ours = difference(np.array([3.0, 2.0, 5.0]), np.array([1.0, 2.0, 6.0]), better="lower")
    assert (ours.wins, ours.losses, ours.ties) == (1, 1, 1)
    assert ours.diff == pytest.approx(-1 / 3)
    assert ours.gain == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("d", "reading"),
    [(0.0, "negligible"), (-0.2, "small"), (0.5, "medium"), (-3.0, "large"), (None, "unknown")],
)
def test_the_reading_of_an_effect_size(d: float | None, reading: str):
    assert effect_size(d) == reading


def test_noise_on_unchanged_cases_has_no_rank():
    a = np.linspace(0.3, 0.9, 35)
    b = a + np.repeat([0.1, 0.0], [5, 30])
    noisy = b + np.repeat([0.0, 1e-8], [5, 30])
    assert difference(a, noisy).wilcoxon_p == difference(a, b).wilcoxon_p
    assert difference(a, noisy).ties == 30


def clustered(random: np.random.Generator, clusters: int, shift: float = 0.0):
    """Differences that depend on each other within clusters of 2 to 20 cases."""
    sizes = random.integers(2, 21, clusters)
    group = np.repeat(np.arange(clusters), sizes)
    a = random.uniform(0, 1, sizes.sum())
    d = random.normal(0, 0.2, clusters)[group] + random.normal(0, 0.1, sizes.sum())
    return a, a + d + shift, group


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [20, 60])
def test_dependent_cases_do_not_cry_wolf(clusters):
    random = np.random.default_rng(clusters)
    plain = robust = covered = 0
    for _ in range(300):
        a, b, group = clustered(random, clusters)
        plain += (difference(a, b).p or 1.0) < 0.05
        found = difference(a, b, group)
        assert found.clusters == clusters
        assert found.interval is not None
        robust += (found.p or 1.0) < 0.05
        covered += found.interval.low <= 0 <= found.interval.high
    assert plain > 90, "tests that ignore the clusters call chance a change"
    assert robust <= 27
    assert covered >= 276


def test_clusters_of_one_case_change_nothing():
    random = np.random.default_rng(5)
    a, b = random.uniform(0, 1, 30), random.uniform(0, 1, 30)
    assert difference(a, b, np.arange(30)) == difference(a, b)


def test_mcnemar_by_cluster():
    a = np.array([1] * 10 + [0] * 10 + [1] * 10)
    b = np.array([0] * 10 + [1] * 10 + [1] * 10)
    assert mcnemar(a, b, np.repeat([0, 1, 2], 10)).p == 1.0
    one_way = mcnemar(np.ones(40), np.zeros(40), np.repeat(np.arange(8), 5))
    assert (one_way.method, one_way.p) == ("exact by cluster", 2 / 2**8)
    four = mcnemar(np.ones(20), np.zeros(20), np.repeat(np.arange(4), 5))
    assert four.p == 0.125
    many = mcnemar(np.ones(90), np.repeat([0, 1], 45), np.repeat(np.arange(30), 3))
    assert many.method == "exact by cluster"
    many = mcnemar(np.ones(90), np.zeros(90), np.repeat(np.arange(30), 3))
    assert (many.method, many.p) == ("clustered", pytest.approx(4.3e-8, rel=0.01))

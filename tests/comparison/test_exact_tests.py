"""Tests by sign flips: exact for few changes, and at most 5 % false alarms in every row."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from answerkey.comparison.exact_tests import clear_differences, sign_flip_p, wilcoxon_p
from answerkey.comparison.significance import Test, difference


def counted_p(values: list[float]) -> float:
    """The share of all choices of signs with a sum at least as far from 0."""
    sizes = [abs(value) for value in values]
    sums = [
        abs(sum(s * size for s, size in zip(signs, sizes, strict=True)))
        for signs in product((-1, 1), repeat=len(sizes))
    ]
    limit = abs(sum(values)) - 1e-9
    return sum(total >= limit for total in sums) / len(sums)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_sign_flips_equal_a_count_over_all_signs(n: int):
    values = np.round(np.random.default_rng(n).normal(0.3, 1.0, n), 2)
    assert sign_flip_p(values) == pytest.approx(counted_p(values.tolist()), abs=1e-12)
    padded = np.concatenate([values, np.zeros(30)])
    assert sign_flip_p(padded) == sign_flip_p(values)


def test_drawn_flips_are_near_the_exact_ones():
    values = np.random.default_rng(1).normal(0.3, 1.0, 24)
    more = np.append(values, 1e-9)  # the 25th is drawn, and too small to matter
    assert sign_flip_p(more) == pytest.approx(sign_flip_p(values), abs=0.015)
    assert sign_flip_p(more) == sign_flip_p(more.copy())


def test_no_change_has_p_1():
    assert sign_flip_p(np.zeros(5)) == 1.0
    assert sign_flip_p(np.array([1.0, -1.0])) == 1.0
    assert wilcoxon_p(np.zeros(5)) == 1.0


def test_differences_equal_up_to_rounding_are_ties():
    a = np.array([0.1, 0.2, 0.3, 0.7])
    b = np.array([0.2, 0.3, 0.4, 0.6])
    assert len(np.unique(np.abs(b - a))) > 1
    assert len(np.unique(np.abs(clear_differences(a, b)))) == 1
    noise = clear_differences(np.array([0.5, 0.25]), np.array([0.5 + 1e-8, 0.5]))
    assert noise.tolist() == [0.0, 0.25]


@pytest.mark.parametrize("cases", [14, 50, 200])
def test_four_equal_gains_are_not_significant(cases: int):
    a = np.linspace(0.2, 0.7, cases)
    b = a + np.repeat([0.1, 0.0], [4, cases - 4])
    figures = difference(a, b)
    assert (figures.test, figures.p, figures.wilcoxon_p) == (Test.SIGN_FLIPS, 0.125, 0.125)
    assert not figures.sure


def is_alarm(random: np.random.Generator, cases: int, changed: int, kind: str) -> bool:
    """Whether runs that do not differ on average are called different."""
    signs = random.choice([-1.0, 1.0], changed)
    sizes = np.full(changed, 0.2)
    if kind == "varying":
        sizes = random.uniform(0.05, 0.5, changed)
    a = random.uniform(0.5, 1.5, cases)
    change = np.zeros(cases)
    clusters = None
    if kind == "clustered":
        # Clusters of 1 to 5 cases, of which all change together.
        clusters = np.sort(random.integers(0, max(changed + 1, cases // 3), cases))
        names = random.permutation(np.unique(clusters))[:changed]
        for name, sign in zip(names, signs, strict=False):
            change[clusters == name] = 0.2 * sign
    else:
        change[random.permutation(cases)[:changed]] = signs * sizes
    return difference(a, a + change, clusters).sure


@pytest.mark.parametrize("kind", ["equal", "varying", "clustered"])
@pytest.mark.parametrize("changed", range(3, 11))
@pytest.mark.parametrize("cases", [20, 50, 200])
def test_few_changes_are_called_a_difference_at_most_5_percent_of_the_time(
    cases: int, changed: int, kind: str
):
    """The limit is 5 % and 2.4 standard deviations; benchmarks/coverage.py prints the rates."""
    random = np.random.default_rng(cases * 100 + changed)
    runs = 40 if kind == "clustered" else 200
    alarms = sum(is_alarm(random, cases, changed, kind) for _ in range(runs))
    assert alarms <= 0.05 * runs + 2.4 * (0.05 * 0.95 * runs) ** 0.5

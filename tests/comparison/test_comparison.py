"""The promise of the verdict: chance is rarely called a change, and a real change is rarely missed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.compare_building import PRINT

from answerkey.comparison.comparison import compare_sides
from answerkey.comparison.pair import Side
from answerkey.comparison.significance import difference

CASES = 50


def run_of(scores: np.ndarray, name: str) -> Side:
    """The columns themselves: what `read_side` makes of outcomes, without making them a million times."""
    from array import array

    n = len(scores)
    made = Side(name, PRINT)
    made.ids = [f"q{i}" for i in range(n)]
    made.clusters = made.ids
    made.questions = made.statuses = made.answer_texts = [""] * n
    made.cases = made.evidence = [b""] * n
    made.answers = made.wordings = [f"{name}{i}".encode() for i in range(n)]
    made.score = made.quality = array("d", scores)
    made.passed = array("b", (scores >= 0.6).astype(int).tolist())
    return made


def noisy(random: np.random.Generator, ability: np.ndarray, shift: float = 0.0) -> np.ndarray:
    """Skewed and bounded, as scores are: some cases are right or wrong outright, the others vary."""
    scores = np.clip(ability + shift + random.normal(0, 0.15, CASES), 0, 1)
    return np.where(random.random(CASES) < 0.1, np.round(scores), scores)


@pytest.mark.slow
def test_no_real_difference_is_called_one_at_most_six_times_in_a_hundred():
    random = np.random.default_rng(7)
    called = 0
    for _ in range(1000):
        ability = random.beta(4, 2, CASES)
        a = run_of(noisy(random, ability), "a")
        b = run_of(noisy(random, ability), "b")
        called += compare_sides(a, b).verdict in {"better", "worse"}
    assert 10 <= called <= 60  # too few would mean a test that never speaks


@pytest.mark.slow
def test_twice_the_smallest_detectable_difference_is_found():
    random = np.random.default_rng(8)
    found = 0
    for _ in range(200):
        ability = random.beta(3, 3, CASES) * 0.5 + 0.1
        before = noisy(random, ability)
        smallest = difference(before, noisy(random, ability)).smallest_detectable
        assert smallest is not None
        after = noisy(random, ability, 2 * smallest)
        found += compare_sides(run_of(before, "a"), run_of(after, "b")).verdict == "better"
    assert found >= 190

"""`compare --gate` passes only with evidence: rare losses, unscored answers and few cases."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.compare_building import outcome, side, simple

from answerkey.comparison.comparison import compare_sides
from answerkey.comparison.gate import CompareGate, gate_failures
from answerkey.comparison.pair import Side
from answerkey.types import Case, Outcome, Response, Verdict


def run_of(name: str, scores: list[float], answer: str) -> Side:
    run = simple(name, scores, answer)
    run.scale = 1.0
    return run


def test_ten_equal_cases_are_no_evidence():
    found = compare_sides(run_of("a", [1.0] * 10, "x"), run_of("b", [1.0] * 10, "y"))
    [reason] = gate_failures(found)
    assert reason.startswith("too few cases to tell: the score changed by +0 ")
    assert "could go unseen in 10 cases; about 60 cases would be enough" in reason
    assert found.overall.interval is not None
    assert found.overall.interval.low < -0.2
    enough = compare_sides(run_of("a", [1.0] * 60, "x"), run_of("b", [1.0] * 60, "y"))
    assert gate_failures(enough) == []


@pytest.mark.parametrize("n", [10, 15, 20, 30, 60, 100])
def test_a_bot_that_loses_6_percent_of_the_cases_hardly_ever_passes(n: int):
    """Margin 5 %, so that at most 2.5 % of these runs may pass; 150 runs leave room for chance."""
    random = np.random.default_rng(n)
    passed = 0
    for _ in range(150):
        after = np.where(random.random(n) < 0.06, 0.0, 1.0).tolist()
        found = compare_sides(run_of("a", [1.0] * n, "x"), run_of("b", after, "y"))
        passed += gate_failures(found, CompareGate(margin=0.05)) == []
    assert passed <= 7


def refusal(case_id: str) -> Outcome:
    """An answer that no metric could score."""
    return Outcome(
        Case(case_id, f"What is {case_id}?"), Response("I cannot say."), {}, Verdict("UNSCORED")
    )


def test_a_bot_does_not_win_by_refusing():
    before = [outcome(f"q{n}", 1.0 if n < 20 else 0.0, "x") for n in range(40)]
    after = [refusal(f"q{n}") if n < 20 else outcome(f"q{n}", 1.0, "y") for n in range(40)]
    found = compare_sides(side("a", before), side("b", after))
    assert found.verdict == "no detectable difference"
    assert (found.overall.n, found.overall.diff) == (40, 0.0)
    assert "20 cases that could be scored in A alone count as 0 in B" in found.sentence
    assert [case.id for case in found.newly_failing] == [f"q{n}" for n in range(20)]
    assert gate_failures(found)


def test_refusing_more_is_worse():
    before = [outcome(f"q{n}", 0.9, "x") for n in range(40)]
    after = [refusal(f"q{n}") if n < 20 else outcome(f"q{n}", 0.95, "y") for n in range(40)]
    found = compare_sides(side("a", before), side("b", after))
    assert found.verdict == "worse"
    assert found.mcnemar.only_a == 20

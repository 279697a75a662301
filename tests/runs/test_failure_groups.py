"""Failures grouped by kind and cause."""

from __future__ import annotations

from answerkey.runs.failure_groups import count_groups, group_failures, group_lines
from answerkey.runs.summary import Summary, summarise
from answerkey.runs.table import table_of_run
from answerkey.types import Case, Outcome, Response, Verdict


def _failed(n: int, kind: str, cause: str = "") -> Outcome:
    verdict = Verdict("FAILED", 0.1, 0.1, why="Says 28, expected 25.", kind=kind, cause=cause)
    return Outcome(Case(f"f{n}", "q?", ("a",)), Response("b"), {}, verdict)


def _passed(n: int) -> Outcome:
    verdict = Verdict("PASSED", 0.9, 0.9, passed=True)
    return Outcome(Case(f"p{n}", "q?", ("a",)), Response("a"), {}, verdict)


OUTCOMES = [
    *(_failed(n, "wrong figure", "not retrieved") for n in range(3)),
    _failed(3, "refused", "not used"),
    *map(_passed, range(4)),
]


def test_groups_are_counted_with_what_fixing_them_brings() -> None:
    groups = group_failures(table_of_run(OUTCOMES), 0.5)
    assert [(g.kind, g.cause, g.count, g.reachable) for g in groups] == [
        ("wrong figure", "not retrieved", 3, 0.875),
        ("refused", "not used", 1, 0.625),
    ]
    assert group_lines(groups) == [
        "3 of 4 failures: wrong figure, not retrieved; fixing them would bring at most 88 % passed",
        "1 of 4 failures: refused, not used; fixing it would bring at most 62 % passed",
    ]


def test_cases_without_a_verdict_are_no_failures() -> None:
    undecided = [
        Outcome(Case("s", "q?"), Response("a"), {}, Verdict("SCORED")),
        Outcome(Case("u", "q?"), Response("a"), {}, Verdict("UNSCORED")),
    ]
    assert group_failures(table_of_run(undecided), None) == []


def test_without_a_pass_rate_no_gain_is_promised() -> None:
    (group,) = count_groups([("refused", "")], passed=0, pass_rate=None)
    assert group.reachable is None
    assert group.title == "refused"
    assert group_lines([group]) == ["1 of 1 failure: refused"]


def test_the_summary_keeps_its_groups_in_json() -> None:
    from answerkey.profiles import load_profile

    summary = summarise(OUTCOMES, load_profile("rag"))
    assert [group.count for group in summary.failures] == [3, 1]
    assert Summary.of_json(summary.to_json()).failures == summary.failures

"""report.md: metric names as everywhere, and text that mentions nobody."""

from __future__ import annotations

from answerkey.reports.markdown import cell, markdown_report
from answerkey.runs.summary import RunInfo, summarise
from answerkey.types import Case, Outcome, Response, Score, Verdict


def outcome(n: int, route: str, **scores: Score) -> Outcome:
    case = Case(f"c{n}", "q?", ("a",), expected_route="sales")
    verdict = Verdict("PASSED", score=0.8, route_score=0.7, band="good", passed=True)
    return Outcome(case, Response("a", route=route), {"recall@5": Score(n / 4), **scores}, verdict)


def markdown_of(outcomes: list[Outcome]) -> str:
    return markdown_report(summarise(outcomes, run=RunInfo(name="n")))


def test_a_metric_is_spelled_as_everywhere_and_text_mentions_nobody():
    text = markdown_of([outcome(1, "docs"), outcome(2, "@team|x")])
    assert "| `recall@5` | 0.375 |" in text
    assert "@team" not in text
    assert cell("recall@5 fell, ndcg@10.") == "recall@5 fell, ndcg@10."
    for mention in ("@5", "a @b", "you@example.com", "x@5.com", "x@5-b"):
        assert "@\u200b" in cell(mention)


def test_means_stand_route_beside_route_with_the_confusion_of_routes():
    text = markdown_of([outcome(1, "docs"), outcome(2, "sales"), outcome(4, "sales")])
    assert "| mean of | docs | sales |\n|---|---:|---:|\n| `recall@5` | 0.250 | 0.750 |" in text
    assert "| expected route, taken → | docs | sales |\n|---|---:|---:|\n| `sales` | 1 | 2 |" in text

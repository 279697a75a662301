"""Result files of an earlier script: their scores, ids, unanswered follow-ups, and parts of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.metrics.recorded_scores import read_recorded_scores

Write = Callable[[str, object], Path]
Cli = Callable[..., Any]

# The shape of a route-aware script's results, with invented content; the criteria are not in it.
RESULTS = {
    "timestamp": "2026-01-18T03:08:04",
    "total_tests": 4,
    "results": [
        {
            "id": f"S{n}",
            "query": f"What were the sales in month {n}?",
            "expected_route": "sales_kpi",
            "preferred_route": "sales_kpi",
            "acceptable_routes": ["sales_kpi"],
            "actual_route": route,
            "route_score": float(route == "sales_kpi"),
            "quality_score": 0.7,
            "quality_breakdown": {"information_completeness": 0.9, "factual_accuracy": 0.75},
            "overall_score": 0.79,
            "status": status,
            "response_time": 0.5,
            "answer": f"Sales were RM {n}00, above the average of the previous month.",
        }
        for n, (route, status) in enumerate(
            [("sales_kpi", "PERFECT"), ("sales_kpi", "ACCEPTABLE"), ("rag_docs", "FAILED"), ("sales_kpi", "FAILED")]
        )
    ],
}  # fmt: skip
CRITERIA = [{"id": f"S{n}", "answer_criteria": {"must_contain": ["RM"]}} for n in range(4)]


def score(cli: Cli, tmp_path: Path, *arguments: object) -> tuple[Any, dict[str, Any]]:
    ended = cli("score", *arguments, "--out", tmp_path / "out", "--no-charts")
    assert ended.code == 0, ended.err
    (run,) = (tmp_path / "out").iterdir()
    return ended, json.loads((run / "summary.json").read_text())


def test_recorded_scores_are_kept_and_the_difference_is_explained(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    ended, summary = score(cli, tmp_path, write("r.json", RESULTS), "--profile", "route-aware")
    averages = summary["average_scores"]
    assert averages["recorded.quality_score"]["mean"] == pytest.approx(0.7)
    assert averages["recorded.passed"]["mean"] == 0.5
    assert averages["recorded.information_completeness"]["mean"] == pytest.approx(0.9)
    assert "recorded in the file: 50 % of 4 passed" in ended.out
    assert "the file lacks expected answers and criteria" in ended.out
    assert "information_completeness 0.500, recorded 0.900" in ended.out


def test_with_the_criteria_in_a_second_file_both_pass_rates_are_shown(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    files = (write("r.json", RESULTS), write("criteria.json", CRITERIA))
    ended, summary = score(cli, tmp_path, *files, "--profile", "route-aware")
    ours = summary["performance"]["pass_rate"]
    assert ours is not None
    assert "recorded in the file: 50 % of 4 passed, here " in ended.out


def test_recorded_scores_are_compared(cli: Cli, write: Write, tmp_path: Path) -> None:
    runs: list[Path] = []
    for name in ("a", "b"):
        cases = write("r.json", RESULTS)
        out = tmp_path / name
        ended = cli("score", cases, "--metrics", "route_score", "--out", out, "--no-charts", "-q")
        assert ended.code == 0
        runs.append(next(out.iterdir()))
    assert "recorded.quality_score" in cli("compare", *runs).out


@pytest.mark.parametrize(
    ("extra", "scores"),
    [
        ({"status": "PASS"}, {"recorded.passed": 1.0}),
        ({"status": "ANSWER_FAIL"}, {"recorded.passed": 0.0}),
        ({"status": "open"}, {}),
        ({"scores": {"accuracy": 4, "note": "x"}}, {"recorded.accuracy": 4.0}),
        ({"scores": {"accuracy": {"score": "4.5", "reason": "r"}}}, {"recorded.accuracy": 4.5}),
        ({"quality_score": float("nan"), "overall_score": True}, {}),
        ({"scores": {"f1": {"value": 1}}, "verdict": {"status": "PASSED"}}, {}),
    ],
)
def test_recorded_scores_are_recognised(extra: dict[str, object], scores: dict[str, float]) -> None:
    assert read_recorded_scores(extra) == scores


def test_executive_format_has_no_dummies_from_other_routes(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    _, summary = score(cli, tmp_path, write("r.json", RESULTS), "--profile", "route-aware")
    figures = summary["average_scores"]["executive_format"]
    assert figures["n"] == 3
    assert figures["mean"] < 1.0


def test_a_route_needs_no_answer(cli: Cli, write: Write, tmp_path: Path) -> None:
    text = "test_id,question,expected_route,actual_route,status\nU1,q,sales_kpi,sales_kpi,PASS\nU2,r,sales_kpi,rag_docs,FAIL\n"
    _, summary = score(cli, tmp_path, write("r.csv", text), "--metrics", "route_score")
    assert summary["average_scores"]["route_score"]["mean"] == 0.5
    assert summary["totals"]["errors"] == 0


def test_old_results_pair_with_their_markdown_file(write: Write) -> None:
    write("faq.md", "### Q1: Where?\n**A1:** In Paris.\n\n### Q2: When?\n**A2:** In May.\n")
    rows = [{"source_file": "qa/faq.md", "question_num": 2, "question": "When?", "answer": "May"}]
    old = ak.load_cases(write("old.json", rows))
    new = ak.load_cases(
        write("faq.md", "### Q1: Where?\n**A1:** In Paris.\n\n### Q2: When?\n**A2:** In May.\n")
    )
    assert old[0].id == new[1].id == "faq#Q2"


def test_manual_cases_and_unanswered_follow_ups_are_left_out_and_counted(
    cli: Cli, write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        {"id": "1", "question": "q", "expected": "a", "answer": "a"},
        {"id": "2", "question": "r", "expected": "a", "answer": "a", "manual": True},
        {"id": "3", "question": "s", "expected": "a", "answer": "b",
         "sequence": [{"question": "and then?"}, {"question": "and now?"}]},
    ]  # fmt: skip
    _, summary = score(cli, tmp_path, write("r.json", rows), "--metrics", "exact_match")
    assert summary["totals"]["cases"] == 2
    notices = [record.getMessage() for record in caplog.records]
    assert "left out: 1 case marked `manual`, to be checked by hand" in notices
    assert "left out: 2 follow-ups without an answer" in notices


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--limit", "2"], ["a1", "a2"]),
        (["--per-type", "1"], ["a1", "b1"]),
        (["--only", "b*"], ["b1", "b2"]),
        (["--tag", "new"], ["b2"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_score_takes_some_of_the_cases(
    cli: Cli, write: Write, tmp_path: Path, options: list[str], ids: list[str]
) -> None:
    rows = [
        {"id": f"{kind}{n}", "type": kind, "question": "q", "expected": "x", "answer": "x",
         "tags": ["new"] if f"{kind}{n}" == "b2" else []}
        for kind in "ab" for n in (1, 2)
    ]  # fmt: skip
    score(cli, tmp_path, "--dataset", write("r.json", rows), "--metrics", "exact_match", *options)
    (path,) = tmp_path.glob("out/*/results.jsonl")
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ids


def test_score_without_a_file_says_what_to_do(cli: Cli) -> None:
    ended = cli("score", "--metrics", "exact_match")
    assert ended.code == 2
    assert "name at least one case file" in ended.err


def test_page_labels_over_several_documents_are_never_a_silent_zero(
    cli: Cli, write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    passages = [
        {"text": "t", "source": "a.pdf", "page": 34},
        {"text": "u", "source": "b.pdf", "page": 2},
        {"text": "v", "page": "N/A"},
    ]
    rows = [{"id": "1", "question": "q", "relevant": ["34"], "answer": "a", "contexts": passages}]
    write("pages.json", rows)
    suite = 'cases = ["pages.json"]\nmetrics = ["recall@5"]\n[target]\nkind = "recorded"\n'
    assert cli("run", write("s.toml", suite), "-q", "--no-charts").code == 0
    assert any('[settings."recall@5"] ids = "page"' in each.getMessage() for each in caplog.records)
    fixed = write("t.toml", suite + '[settings."recall@5"]\nids = "page"\n[run]\nout = "fixed"\n')
    assert cli("run", fixed, "-q", "--no-charts").code == 0
    (path,) = tmp_path.glob("fixed/*/summary.json")
    assert json.loads(path.read_text())["average_scores"]["recall@5"]["mean"] == 1.0

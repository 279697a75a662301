"""A verdict claims only what was measured: the same through Python and the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.errors import InputError
from answerkey.profiles import load_profile
from answerkey.types import Status

Cli = Callable[..., Any]
Write = Callable[[str, object], Path]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

WITHOUT_EVIDENCE = [
    {"id": "a", "question": "Capital of France?", "answer": "The capital of France is Berlin."},
    {"id": "b", "question": "Capital of Italy?", "answer": "Rome."},
]
NOT_SCORED = "Not scored: no expected answer and no passages."
LEAVE = {
    "id": "leave",
    "question": "How much leave do I get?",
    "expected": "25 days",
    "answer": "You get 28 days.",
    "contexts": ["We are hiring.", "Lunch is at noon.", "You have 25 days of leave."],
}
LEAVE_WHY = "Says 28 days, expected 25 days; passage 3 says 25 days."
LUNCH = {
    "id": "lunch",
    "question": "When is lunch?",
    "expected": "At noon",
    "answer": "Lunch is at noon.",
    "contexts": ["Lunch is at noon."],
}


def test_answers_without_evidence_are_not_scored(cli: Cli, write: Write, tmp_path: Path) -> None:
    run = ak.evaluate(WITHOUT_EVIDENCE, profile="rag", progress=False)
    assert [outcome.verdict.status for outcome in run] == [Status.UNSCORED] * 2
    assert run[0].verdict.why == NOT_SCORED
    assert run.summary.pass_rate is None
    shown = cli("score", write("a.json", WITHOUT_EVIDENCE), "--profile", "rag", "--out", tmp_path)
    assert f"a: {NOT_SCORED}" in shown.out
    assert "Failed cases" not in shown.out
    assert "no case was scored: 2 cases UNSCORED" in shown.last_line
    assert "failing" not in shown.last_line


def test_the_pass_rate_is_over_the_scored_cases(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [LEAVE, LUNCH, WITHOUT_EVIDENCE[0]]
    assert ak.evaluate(rows, profile="rag", progress=False).summary.pass_rate == 0.5
    shown = cli("score", write("a.json", rows), "--profile", "rag", "--out", tmp_path)
    assert "a: 3 cases, 2 scored, 1 unscored" in shown.out.replace("score:", "a:")
    assert "pass rate 50 %, 95 % interval 9–91 %, 1/2" in shown.out
    failures = next(tmp_path.glob("*/failures.txt")).read_text(encoding="utf-8")
    assert failures.startswith("1 failed, worst first; 1 unscored at the end\n")


def test_a_failure_says_what_was_wrong(cli: Cli, write: Write, tmp_path: Path) -> None:
    (failure,) = ak.evaluate([LEAVE, LUNCH], profile="rag", progress=False).failures()
    assert failure.verdict.why == LEAVE_WHY
    shown = cli("score", write("a.json", [LEAVE, LUNCH]), "--profile", "rag", "--out", tmp_path)
    assert f"  leave: {LEAVE_WHY}\n" in shown.out


def test_a_case_that_passed_has_no_complaint(cli: Cli, write: Write, tmp_path: Path) -> None:
    (outcome,) = ak.evaluate([LUNCH], profile="rag", progress=False)
    assert outcome.verdict.passed
    assert (outcome.verdict.why, outcome.verdict.kind, outcome.verdict.cause) == ("", "", "")
    shown = cli("score", write("a.json", [LUNCH]), "--profile", "rag", "--out", tmp_path)
    readings = [line.reading for line in load_profile("rag").lines if line.reading]
    assert readings
    assert not any(reading in shown.out for reading in readings)


def test_a_perfect_run_of_the_example_has_no_reading(cli: Cli, tmp_path: Path) -> None:
    shown = cli("run", EXAMPLES / "rag-docs" / "suite.toml", "--out", tmp_path)
    for reading in ("off-topic retrieval", "too little evidence", "unsupported claims"):
        assert reading not in shown.out


def test_rag_does_not_use_the_cosine_that_calls_right_answers_hallucinated() -> None:
    assert "answer_hallucination" not in load_profile("rag").metrics


def test_a_missing_answer_is_named_as_such(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [{**LUNCH, "id": "nan", "answer": math.nan}, LUNCH]
    outcome = ak.evaluate(rows, profile="rag", progress=False)["nan"]
    assert outcome.verdict.passed is False
    assert outcome.verdict.why == 'Gives no answer, expected "At noon"; passage 1 has it.'
    assert outcome.verdict.kind == "no answer"
    table = "id,question,expected,answer\nnan,When is lunch?,At noon,\nb,Who?,Me,Me\n"
    shown = cli("score", write("a.csv", table), "--profile", "rag", "--out", tmp_path)
    assert "no answer" in shown.out
    assert "applicable" not in shown.last_line


@pytest.mark.parametrize("missing", [None, math.nan, ""])
def test_a_missing_answer_is_the_same_in_rows_and_in_a_data_frame(missing: object) -> None:
    pandas = pytest.importorskip("pandas")
    rows = [{"question": "When?", "expected": "At noon", "answer": missing}, LUNCH]
    for data in (rows, pandas.DataFrame(rows)):
        verdict = ak.evaluate(data, profile="rag", progress=False)[0].verdict
        assert (verdict.status, verdict.kind) == (Status.FAILED, "no answer")


def test_data_without_answers_is_refused_at_once() -> None:
    with pytest.raises(InputError, match='no column "answer"'):
        ak.evaluate([{"question": "q", "expected": "a"}], profile="rag", progress=False)

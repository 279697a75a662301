"""A verdict claims only what was measured: the same through Python and the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.errors import InputError, SettingsError
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
    suite = EXAMPLES / "rag-docs" / "suite.toml"
    shown = cli("run", suite, "--out", tmp_path)
    run = ak.run_suite(suite, out=tmp_path, progress=False)
    texts = [shown.out, repr(run), *(outcome.verdict.justification for outcome in run)]
    assert all(outcome.verdict.passed for outcome in run)
    for reading in ("off-topic retrieval", "too little evidence", "unsupported claims"):
        assert not any(reading in text for text in texts)


def test_rag_does_not_use_the_cosine_that_calls_right_answers_hallucinated(
    cli: Cli, write: Write, tmp_path: Path
) -> None:
    assert "answer_hallucination" not in load_profile("rag").metrics
    contexts = ["Ana Silva has been the CFO of the group since 2021."]
    row = {"question": "Who is the CFO?", "expected": "Ana Silva", "contexts": contexts}
    rows = [
        {**row, "id": "right", "answer": "The CFO is Ana Silva."},
        {**row, "id": "wrong", "answer": "The CFO is Bo Lind."},
    ]
    run = ak.evaluate(rows, profile="rag", progress=False)
    assert [outcome.verdict.passed for outcome in run] == [True, False]
    assert run["wrong"].verdict.why == "Says Bo Lind, expected Ana Silva; passage 1 says Ana Silva."
    shown = cli("score", write("a.json", rows), "--profile", "rag", "--out", tmp_path)
    assert f"  wrong: {run['wrong'].verdict.why}\n" in shown.out
    assert "hallucination" not in shown.out


def test_metrics_without_a_profile_pass_nothing(cli: Cli, write: Write, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "Capital of France?", "expected": "Paris", "answer": "Berlin"},
        {"id": "b", "question": "Capital of Italy?", "expected": "Rome", "answer": "Rome"},
    ]
    run = ak.evaluate(rows, metrics=["answer_agreement"], progress=False)
    assert run.passed is None
    assert [outcome.case.id for outcome in run.worst()] == ["a", "b"]
    with pytest.raises(SettingsError, match="no profile"):
        run.failures()
    cases = write("a.json", rows)
    shown = cli("score", cases, "--metrics", "answer_agreement", "--out", tmp_path)
    assert shown.code == 0
    assert "pass rate" not in shown.out
    assert "passed" not in shown.last_line


@pytest.mark.parametrize("judge", ["gpt4", "opnai"])
def test_an_unknown_judge_is_refused(cli: Cli, write: Write, judge: str) -> None:
    for metrics in ({"profile": "rag"}, {"metrics": ["token_f1"]}):
        with pytest.raises(SettingsError, match=judge):
            ak.evaluate([LUNCH], judge=judge, progress=False, **metrics)
    for options in (("--profile", "rag"), ("--metrics", "token_f1")):
        shown = cli("score", write("a.json", [LUNCH]), *options, "--judge", judge)
        assert (shown.code, judge in shown.last_line) == (2, True), shown.err


def test_a_judge_that_is_given_is_used(cli: Cli, write: Write, tmp_path: Path) -> None:
    run = ak.evaluate([LUNCH], profile="rag", judge=_strict, progress=False)
    assert run[0].verdict.passed is False
    assert run[0].scores["rubric.accuracy"].value == 0
    (tmp_path / "strict.py").write_text(
        f"def judge(prompt):\n    return {_strict('')!r}\n", encoding="utf-8"
    )
    write("a.json", [LUNCH])
    settings = 'cases = ["a.json"]\nprofile = "rag"\njudge = {call = "strict:judge"}\n'
    suite = write("suite.toml", settings + '[target]\nkind = "recorded"\n')
    shown = cli("run", suite, "--no-charts")
    assert "rubric.accuracy" in shown.out, shown.err
    assert "pass rate 0 %" in shown.out


def _strict(prompt: str) -> str:
    return (
        '{"accuracy": 0, "completeness": 0, "citation_quality": 0, "coherence": 0, '
        '"score": 0, "reason": "wrong", "reasoning": "wrong"}'
    )


def test_a_judge_that_raises_is_an_error_of_the_case() -> None:
    run = ak.evaluate([LUNCH], profile="rag", judge=lambda prompt: 1 / 0, progress=False)
    assert (run.passed, run[0].verdict.status) == (False, Status.ERROR)
    assert "ZeroDivisionError" in run[0].verdict.why


def test_the_local_judge_says_when_it_is_not_needed(
    cli: Cli, write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ak.evaluate([LUNCH], profile="rag", judge="local", progress=False)
    assert "judge local: not needed" in caplog.text
    caplog.clear()
    cases = write("a.json", [LUNCH])
    shown = cli("score", cases, "--profile", "rag", "--judge", "local", "--out", tmp_path)
    assert "judge local: not needed" in shown.err + caplog.text


def test_results_beside_documents_are_never_read_as_documents(
    cli: Cli, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = tmp_path / "docs"
    write("docs/manual.txt", "Refunds\n\nRefunds take 5 business days.\n")
    rows = [{"question": "How long do refunds take?", "expected": "5 business days"}]
    target = {"kind": "rag", "documents": str(documents)}
    for _ in range(2):
        run = ak.evaluate(
            rows, profile="rag", target=target, out=documents / "results", progress=False
        )
        assert set(run[0].response.sources) == {"manual.txt"}
    table = write("q.csv", "question,expected\nHow long do refunds take?,5 business days\n")
    monkeypatch.chdir(tmp_path)
    shown = cli("run", documents / "manual.txt", "--dataset", table, "--no-charts")
    assert shown.code == 0, shown.err
    assert str(tmp_path / "results") in shown.last_line


@pytest.mark.slow
def test_no_wrong_answer_of_the_demo_is_perfect(cli: Cli, tmp_path: Path) -> None:
    """S04 asks for last year's sales; the first version of the bot gives those of one month."""
    suite = Path(ak.__file__).parent / "demo" / "world" / "kpi-v1.toml"
    run = ak.run_suite(suite, out=tmp_path / "python", progress=False)
    case = run["S04"]
    assert "103,456,560" not in (case.response.answer or "")
    assert (case.verdict.status, case.verdict.kind) == (Status.FAILED, "wrong figure")
    shown = cli("run", suite, "--out", tmp_path / "shell", "--no-charts", "--only", "S04")
    assert f"S04: {case.verdict.why}" in shown.out


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


def test_data_without_answers_is_refused_at_once(cli: Cli, write: Write) -> None:
    rows = [{"question": "q", "expected": "a"}]
    with pytest.raises(InputError, match='no column "answer"'):
        ak.evaluate(rows, profile="rag", progress=False)
    shown = cli("score", write("a.json", rows), "--profile", "rag")
    assert (shown.code, 'no column "answer"' in shown.last_line) == (2, True), shown.err


def test_without_gates_a_run_neither_passes_nor_fails() -> None:
    """`assert run.passed` must not hold because there was nothing to check."""
    assert ak.evaluate(WITHOUT_EVIDENCE, progress=False).passed is None
    assert ak.evaluate([LEAVE], progress=False).passed is None
    gated = ak.evaluate([LEAVE], gates=["pass_rate >= 0.5"], progress=False)
    assert gated.passed is False


def test_a_case_that_no_metric_measured_says_so() -> None:
    shown = str(ak.evaluate([LUNCH], metrics=["contains"], progress=False))
    assert "lunch: nothing measured: the case has no must_contain" in shown


def test_an_answer_without_a_statement_is_not_passed_by_its_passages() -> None:
    rows = [
        {
            "question": "How many days of leave do I have?",
            "answer": answer,
            "contexts": ["Employees have 25 days of annual leave."],
        }
        for answer in ("ok", "Hello! How can I help you today?", "You have 25 days of leave.")
    ]
    run = ak.evaluate(rows, progress=False)
    statuses = [outcome.verdict.status for outcome in run]
    assert statuses == [Status.UNSCORED, Status.UNSCORED, Status.PASSED]

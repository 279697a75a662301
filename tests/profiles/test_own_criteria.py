"""What a case brings decides its verdict: its criteria, and whether there is an answer at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import answerkey as ak
from answerkey.types import Kind, Status

Cli = Callable[..., Any]
Write = Callable[[str, object], Path]

QUESTION = "How long is leave?"
ANSWER = "You get 30 days of leave."
PASSAGE = "Leave is 25 days per year. Parking is free on weekends."
UNMET: list[tuple[dict[str, object], str, Kind]] = [
    ({"must_contain": ["25"]}, 'expected "25".', Kind.INCOMPLETE),
    ({"must_contain_any": ["25", "26"]}, 'expected "25" or "26".', Kind.INCOMPLETE),
    ({"must_not_contain": ["30"]}, 'must not contain "30".', Kind.OTHER),
    ({"numerical_range": [20, 26]}, "expected a number from 20 to 26.", Kind.WRONG_FIGURE),
    ({"expected_value": 25}, "expected 25.", Kind.WRONG_FIGURE),
    ({"regex": "2[5-9]"}, "expected the pattern 2[5-9].", Kind.BAD_FORMAT),
    ({"clarification_expected": True}, "expected a question that clarifies.", Kind.OTHER),
]
MET: list[dict[str, object]] = [
    {"must_contain": ["30", "DAYS"]},
    {"must_contain_any": ["25", "30"]},
    {"must_not_contain": ["25"]},
    {"numerical_range": [20, 30]},
    {"expected_value": 30},
    {"regex": "3[0-9]"},
]


def _row(**columns: object) -> dict[str, object]:
    return {"question": QUESTION, "answer": ANSWER, **columns}


@pytest.mark.parametrize("reference", [{}, {"expected": ANSWER}, {"contexts": [ANSWER]}])
@pytest.mark.parametrize(("criteria", "ending", "kind"), UNMET)
def test_a_criterion_of_the_case_that_is_not_met_fails_it(
    reference: dict[str, object], criteria: dict[str, object], ending: str, kind: Kind
) -> None:
    row = _row(answer_criteria=criteria, **reference)
    for profile in (None, "rag", {"base": "rag", "pass": 0.5}):
        verdict = ak.evaluate([row], profile=profile, progress=False)[0].verdict
        assert verdict.status == Status.FAILED
        assert verdict.why is not None
        assert verdict.why.endswith(ending)
        assert verdict.kind == kind.value


@pytest.mark.parametrize("criteria", MET)
def test_an_answer_that_meets_the_criteria_of_its_case_passes(criteria: dict[str, object]) -> None:
    run = ak.evaluate([_row(answer_criteria=criteria)], progress=False)
    assert run[0].verdict.passed
    assert run[0].scores["answer_criteria"].value == 1


def test_requirements_count_beside_expected_answers() -> None:
    checked = {"type": "contains", "value": "25"}
    rows = [
        _row(id="a", expected="30 days"),
        _row(id="b", expected="30 days", question="And leave for parents?"),
        _row(id="c", criteria=[checked], question="And for part-time staff?"),
    ]
    run = ak.evaluate(rows, progress=False)
    assert [outcome.verdict.status for outcome in run] == ["PASSED", "PASSED", "FAILED"]


def test_cases_without_criteria_get_no_column_for_them() -> None:
    run = ak.evaluate([_row(expected="30 days")], progress=False)
    assert "answer_criteria" not in run[0].scores


def test_criteria_that_nothing_checks_are_no_evidence() -> None:
    row = _row(answer_criteria={"min_semantic_similarity": 0.5})
    assert ak.evaluate([row], progress=False)[0].verdict.status == Status.UNSCORED


def test_the_notice_names_the_criteria(caplog: pytest.LogCaptureFixture) -> None:
    ak.evaluate([_row(answer_criteria={"must_contain": ["30"]})], progress=False)
    assert "because the cases have answer_criteria" in caplog.text
    assert "no case has" not in caplog.text


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_same_on_the_command_line(cli: Cli, write: Write, tmp_path: Path, jobs: int) -> None:
    rows = [
        _row(id=f"q{n}", question=f"{QUESTION} {n}", answer_criteria={"must_contain": ["25"]})
        for n in range(4)
    ] + [_row(id=f"e{n}", question=f"Days of leave {n}?", expected="30 days") for n in range(4)]
    shown = cli("score", write("a.json", rows), "--jobs", str(jobs), "--out", tmp_path / str(jobs))
    assert "4 of 8 cases passed" in shown.last_line


def test_assert_verdict_uses_the_criteria() -> None:
    criteria = {"must_contain": ("25",)}
    with pytest.raises(AssertionError, match="FAILED"):
        ak.assert_verdict(QUESTION, answer=ANSWER, criteria=criteria, profile="rag")


@pytest.mark.parametrize("answer", ["", " ", "...", "-", "?", "null", "None", "undefined", "{}"])
@pytest.mark.parametrize("reference", [{}, {"contexts": [PASSAGE]}])
def test_no_answer_never_passes(answer: str, reference: dict[str, object]) -> None:
    row = _row(**reference) | {"answer": answer}
    verdict = ak.evaluate([row], profile="rag", progress=False)[0].verdict
    assert verdict.status == Status.FAILED
    assert verdict.why == "Gives no answer."
    assert verdict.kind == Kind.NO_ANSWER.value


@pytest.mark.parametrize(
    "answer", ["Error: request timed out", "<html>502 Bad Gateway</html>", "429 Too Many Requests"]
)
def test_an_error_message_is_no_supported_answer(answer: str) -> None:
    for reference in ({"contexts": [PASSAGE]}, {"expected": "25 days"}):
        row = _row(**reference) | {"answer": answer}
        verdict = ak.evaluate([row], progress=False)[0].verdict
        assert verdict.status == Status.FAILED
        assert verdict.why is not None
        assert verdict.why.startswith(f'Gives an error message: "{answer}"')
        assert verdict.kind == Kind.NO_ANSWER.value


def test_an_answer_about_errors_is_an_answer() -> None:
    text = "Error: 404 means that the page was not found."
    row = {"question": "What does error 404 mean?", "answer": text, "contexts": [text]}
    assert ak.evaluate([row], progress=False)[0].verdict.passed


@pytest.mark.parametrize("cell", ["nan", "None", "N/A", "null", ""])
def test_a_cell_that_says_that_there_are_no_passages(cell: str) -> None:
    row = _row(expected="30 days", contexts=cell)
    outcome = ak.evaluate([row], progress=False)[0]
    assert outcome.scores["groundedness"].value is None
    assert outcome.verdict.passed

"""Runs of different cases, and runs without a profile: the sentence claims only what was compared."""

from __future__ import annotations

import answerkey as ak
from answerkey.comparison.verdict import ComparisonVerdict

LEAVE = {"id": "a", "question": "How long is leave?", "expected": "25 days", "answer": "25 days"}
TRAVEL = {"id": "b", "question": "Who approves travel?", "expected": "Ana", "answer": "Ana Silva"}


def _run(*rows: dict[str, str], **options: object) -> ak.Run:
    return ak.evaluate(list(rows), progress=False, **options)  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_cases_that_cannot_be_compared_are_counted() -> None:
    before = _run(LEAVE, TRAVEL)
    for other in ({**TRAVEL, "id": "z"}, {**TRAVEL, "question": "Who books travel?"}):
        comparison = ak.compare(before, _run(LEAVE, other))
        assert "the bot did not change" not in comparison.sentence
        assert comparison.sentence.startswith("1 of 1 answers are identical; ")
        assert "cannot be compared" in comparison.sentence
    assert ak.compare(before, _run(LEAVE)).sentence.startswith(
        "1 of 1 answers are identical; 1 case "
    )
    assert "the bot did not change" in ak.compare(before, _run(LEAVE, TRAVEL)).sentence


def test_a_run_without_a_profile_fails_no_case() -> None:
    scored = _run(LEAVE, TRAVEL)
    measured = _run(LEAVE, TRAVEL, metrics=["answer_agreement"])
    for a, b in ((scored, measured), (measured, scored)):
        comparison = ak.compare(a, b)
        assert comparison.verdict is ComparisonVerdict.NOT_COMPARABLE
        assert comparison.newly_failing == ()
        assert comparison.newly_passing == ()
        assert comparison.lost == ()
        assert "change in score" not in comparison.sentence

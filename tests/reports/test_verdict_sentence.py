"""The arithmetic of a verdict in words."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.profiles import decide_verdict, load_profile
from answerkey.reports.verdict_sentence import verdict_sentence
from answerkey.types import Case, Outcome, Response, Score, Verdict

_BANDS = [
    {"name": "good", "at": 0.4, "status": "PASSED"},
    {"name": "poor", "at": 0.0, "status": "FAILED"},
]
_PROFILE: dict[str, Any] = {
    "name": "p",
    "version": 1,
    "pass": 0.4,
    "bands": _BANDS,
    "criteria": [
        {"metric": "agreement", "weight": 1.0},
        {"metric": "support", "weight": 1.0, "floor": 0.7, "required": True},
    ],
}


def _sentence(agreement: float, support: float | None, minimum: float | None = None) -> str:
    profile = load_profile(_PROFILE)
    case = Case("c", "q?", ("a",), min_score=minimum)
    response = Response("a")
    scores = {"agreement": Score(agreement), "support": Score(support)}
    verdict = decide_verdict(profile, case, response, scores)
    return verdict_sentence(Outcome(case, response, scores, verdict), profile)


@pytest.mark.parametrize(
    ("agreement", "support", "minimum", "sentence"),
    [
        (0.9, 0.9, None, "Passed: the score 0.9 reaches the pass mark 0.4."),
        (0.1, 0.1, None, "Failed: the score 0.1 is below the pass mark 0.4."),
        (
            0.9,
            0.3,
            None,
            "Failed although the score 0.6 reaches the pass mark 0.4, because support is "
            "required: it is 0.3, at least 0.7 is needed.",
        ),
        (
            0.5,
            0.9,
            0.8,
            "Failed although the score 0.7 reaches the pass mark 0.4, because this case needs "
            "a score of 0.8 and has 0.7.",
        ),
    ],
)
def test_a_verdict_has_its_sentence(
    agreement: float, support: float, minimum: float | None, sentence: str
) -> None:
    assert _sentence(agreement, support, minimum) == sentence


def test_without_numbers_there_is_no_sentence() -> None:
    undecided = Outcome(Case("c", "q?"), Response("a"), {}, Verdict("SCORED"))
    assert verdict_sentence(undecided, None) == ""
    assert verdict_sentence(undecided, load_profile(_PROFILE)) == ""

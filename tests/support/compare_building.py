"""Runs made by hand: outcomes with a score, a verdict and an answer, without a target or a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerkey.comparison.pair import Side, read_side
from answerkey.types import Case, Outcome, Response, Score, Verdict

PRINT = {"profile": "p1", "metrics": "m1", "judge": "j1", "embedding": "e1", "settings": "s1"}


def outcome(
    case_id: str,
    score: float | None,
    answer: str | None = "yes",
    scores: Mapping[str, float | Score | None] | None = None,
    **fields: object,
) -> Outcome:
    """`fields` go to the case where it has them, else to the response."""
    for_case = {k: v for k, v in fields.items() if k in Case.__dataclass_fields__}
    for_response = {k: v for k, v in fields.items() if k not in for_case}
    given = {k: v if isinstance(v, Score) else Score(v) for k, v in (scores or {}).items()}
    passed = score is not None and score >= 0.5
    status = "ERROR" if score is None else "PASSED" if passed else "FAILED"
    return Outcome(
        Case(**({"id": case_id, "question": f"What is {case_id}?"} | for_case)),  # type: ignore[arg-type]
        Response(answer=answer, **for_response),  # type: ignore[arg-type]
        given,
        Verdict(status, score=score, passed=passed),
    )


def side(name: str, outcomes: Sequence[Outcome], **fingerprint: str) -> Side:
    return read_side(name, PRINT | fingerprint, outcomes)


def simple(
    name: str, scores: Sequence[float | None], answer: str = "yes", **fingerprint: str
) -> Side:
    """A run with these overall scores, and the same numbers as its one metric."""
    rows = [
        outcome(
            f"q{n}",
            value,
            answer,
            {"keyword_recall": Score.failed("boom") if value is None else Score(value)},
        )
        for n, value in enumerate(scores)
    ]
    return side(name, rows, **fingerprint)

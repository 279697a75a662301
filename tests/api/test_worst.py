"""The order of outcomes from the worst to the best."""

from __future__ import annotations

from answerkey.api.worst import order_worst_first
from answerkey.types import Case, Outcome, Response, Score, Status, Verdict


def _outcome(name: str, verdict: Verdict, **scores: float) -> Outcome:
    values = {metric: Score(value) for metric, value in scores.items()}
    return Outcome(Case(name, "?"), Response("a"), values, verdict)


def _order(*outcomes: Outcome) -> list[str]:
    return [outcome.case.id for outcome in order_worst_first(outcomes)]


def test_with_a_profile_errors_come_first_then_failures() -> None:
    passed = _outcome("passed", Verdict(Status.PASSED, 0.6, passed=True))
    # A required floor failed it, although its mean is higher.
    failed = _outcome("failed", Verdict(Status.FAILED, 0.9))
    worse = _outcome("worse", Verdict(Status.FAILED, 0.1))
    error = _outcome("error", Verdict(Status.ERROR))
    assert _order(passed, failed, error, worse) == ["error", "worse", "failed", "passed"]


def test_without_a_profile_the_mean_of_the_metrics_decides() -> None:
    scored = Verdict(Status.SCORED)
    low = _outcome("low", scored, token_f1=0.2)
    high = _outcome("high", scored, token_f1=0.9)
    # Lower is better for this metric.
    invented = _outcome("invented", scored, hallucination=1.0)
    # A length is no quality, so that nothing is known about this case.
    described = _outcome("described", scored, answer_length=3.0)
    assert _order(described, high, low, invented) == ["invented", "low", "high", "described"]

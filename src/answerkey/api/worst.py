"""The order of outcomes from the worst to the best, with and without a profile."""

from __future__ import annotations

from collections.abc import Iterable

from answerkey.metrics.registry import find
from answerkey.types import Outcome, Status

_ERROR = float("-inf")
_FAILED = 1e6  # more than the largest score of any profile
_NOT_MEASURED = 2.0  # after everything that was measured: shares end at 1


def order_worst_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Errors first, then the lowest scores; cases that nothing measured come last."""
    return sorted(outcomes, key=_goodness)


def _goodness(outcome: Outcome) -> float:
    verdict = outcome.verdict
    if verdict.status == Status.ERROR:
        return _ERROR
    if verdict.score is not None:
        # A failed case may have a higher mean than one that passed: a required floor decides.
        if verdict.passed:
            return verdict.score
        return verdict.score - _FAILED
    shares = [share for name in outcome.scores if (share := _share(outcome, name)) is not None]
    if shares:
        return sum(shares) / len(shares)
    return _NOT_MEASURED


def _share(outcome: Outcome, name: str) -> float | None:
    """The value on a scale from 0 (bad) to 1; None for a description, such as a length."""
    value = outcome.scores[name].value
    if value is None:
        return None
    if _is_known(name):
        facts = find(name).facts
    else:
        facts = None
    if facts is None or facts.high is None:
        return value if facts is None else None
    low = facts.low or 0.0
    share = (value - low) / (facts.high - low)
    if facts.better == "lower":
        return 1 - share
    return share


def _is_known(name: str) -> bool:
    from answerkey.metrics.registry import is_metric

    return is_metric(name)

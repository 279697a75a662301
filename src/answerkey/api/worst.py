"""The order of outcomes from the worst to the best, with and without a profile."""

from __future__ import annotations

from collections.abc import Iterable

from answerkey.metrics.registry import find
from answerkey.types import Outcome, Status

_ERROR = -1.0
_NOT_MEASURED = 2.0  # after everything that was measured


def order_worst_first(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Errors first, then the lowest scores; cases that nothing measured come last."""
    return sorted(outcomes, key=_goodness)


def _goodness(outcome: Outcome) -> float:
    verdict = outcome.verdict
    if verdict.status == Status.ERROR:
        return _ERROR
    if verdict.score is not None:
        # A failed case may have a higher mean than one that passed: a required floor decides.
        return verdict.score if verdict.passed else verdict.score - 1e6
    shares = [share for name in outcome.scores if (share := _share(outcome, name)) is not None]
    return sum(shares) / len(shares) if shares else _NOT_MEASURED


def _share(outcome: Outcome, name: str) -> float | None:
    """The value on a scale from 0 (bad) to 1; None for a description, such as a length."""
    value = outcome.scores[name].value
    if value is None:
        return None
    facts = find(name).facts if _is_known(name) else None
    if facts is None or facts.high is None:
        return value if facts is None else None
    low = facts.low or 0.0
    share = (value - low) / (facts.high - low)
    return 1 - share if facts.better == "lower" else share


def _is_known(name: str) -> bool:
    from answerkey.metrics.registry import is_metric

    return is_metric(name)

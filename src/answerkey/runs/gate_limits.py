"""Gates that can never hold, such as `pass_rate >= 90` where a rate is at most 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from answerkey.metrics.registry import find, is_metric

if TYPE_CHECKING:
    from answerkey.runs.gates import Condition
    from answerkey.types import Profile

Ends = tuple[float | None, float | None]
_SHARES = (
    "user_satisfaction", "user_satisfaction_rate", "success", "pass_rate", "route_accuracy",
    "scored_share", "pass^k", "pass@k",
)  # fmt: skip
_FROM_ZERO = ("cases", "scored", "passed", "failed", "errors", "unscored", "flaky")


def refuse_impossible(condition: Condition, profile: Profile | None) -> None:
    """Raise an error if no value that the figure can have fulfils the condition."""
    low, high = _ends_of(condition, profile)
    limit = condition.limit
    too_high = high is not None and (limit > high or (condition.sign == ">" and limit == high))
    too_low = low is not None and (limit < low or (condition.sign == "<" and limit == low))
    if condition.sign in (">=", ">", "==") and too_high:
        hint = ""
        # "pass_rate >= 90" is meant in per cent.
        if high == 1.0 and 1.0 < limit <= 100.0:
            hint = f"; write {limit:g}% or {limit / 100:g}"
        raise condition.error(f"this can never hold: the figure is at most {high:g}{hint}")
    if condition.sign in ("<=", "<", "==") and too_low:
        raise condition.error(f"this can never hold: the figure is at least {low:g}")


def _ends_of(condition: Condition, profile: Profile | None) -> Ends:
    """The smallest and the largest value of the figure; None where there is no limit."""
    if condition.figure in _SHARES:
        return 0.0, 1.0
    # Times and counts have no upper end.
    if condition.figure in _FROM_ZERO or condition.figure.startswith("response_time."):
        return 0.0, None
    if condition.figure != "mean":
        return None, None
    if condition.metric in ("score", "quality"):
        return 0.0, None if profile is None else profile.scale
    if is_metric(condition.metric):
        facts = find(condition.metric).facts
        return facts.low, facts.high
    return None, None

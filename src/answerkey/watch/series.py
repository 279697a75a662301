"""The series that are watched, and their values in the outcomes of a run or of a sample.

Every value is between 0 and 1, and lower is worse: a share of refusals counts as 1 - share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec
import numpy as np

from answerkey.language.refusal import refusal
from answerkey.metrics.registry import find
from answerkey.types import Outcome, Status

# The share of the error budget for the verdict, which counts most; the rest is shared evenly. A
# series with a hundredth still finds a large change: it needs some ten answers more than the
# verdict would.
MAIN_SHARE = 0.85
_LONG = 0.9  # an answer or a latency well above this quantile of the baseline is long
_SHORT = 0.1
_MARGIN = 1.25  # "well above": a few characters more or less are no change
_FEWEST = 20  # values of the baseline below which a series says nothing


class SeriesKind(StrEnum):
    """The source of a series' values; only those of a SHARE do not depend on a judge."""

    VERDICT = "verdict"
    METRIC = "metric"
    SHARE = "share"
    TOPIC = "topic"


class Series(msgspec.Struct, frozen=True):
    """One watched figure. `cut` is the limit beyond which an answer counts as long or short."""

    name: str
    kind: SeriesKind
    about: str
    weight: float = 0.0
    cut: float | None = None
    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False
    topic: int | None = None


class SeriesBaseline(msgspec.Struct, frozen=True):
    """A series with the sum and the number of its values in the baseline."""

    series: Series
    total: float
    count: int


def plan_series(
    outcomes: Sequence[Outcome],
    topics: Sequence[int],
    names: Mapping[int, str],
) -> list[SeriesBaseline]:
    """The series that the baseline has enough values for, with their shares of the error budget.

    `topics` are those of the outcomes.
    """
    candidates = [*_verdict_series(outcomes), *_metric_series(outcomes), *_share_series(outcomes)]
    candidates += [
        Series(f"topic: {names[topic]}", SeriesKind.TOPIC, "passed, in this topic", topic=topic)
        for topic in names
    ]
    baselines: list[SeriesBaseline] = []
    for series in candidates:
        values = values_of(series, outcomes, topics)
        if len(values) >= _FEWEST:
            baselines.append(SeriesBaseline(series, sum(values), len(values)))
    return _share_budget(baselines)


def _share_budget(baselines: list[SeriesBaseline]) -> list[SeriesBaseline]:
    rest = (1 - MAIN_SHARE) / max(len(baselines) - 1, 1)
    weights = [MAIN_SHARE, *[rest] * (len(baselines) - 1)][: len(baselines)]
    return [
        msgspec.structs.replace(
            baseline, series=msgspec.structs.replace(baseline.series, weight=weight)
        )
        for baseline, weight in zip(baselines, weights, strict=True)
    ]


def _verdict_series(outcomes: Sequence[Outcome]) -> Iterable[Series]:
    if any(_pass_value(outcome) is not None for outcome in outcomes):
        yield Series("passed", SeriesKind.VERDICT, "answers that pass the profile")


def _metric_series(outcomes: Sequence[Outcome]) -> Iterable[Series]:
    names = dict.fromkeys(name for outcome in outcomes for name in outcome.scores)
    for name in names:
        facts = find(name).facts
        if facts.low is None or facts.high is None or facts.better == "neither":
            continue
        is_reversed = facts.better == "lower"
        about = facts.summary
        yield Series(
            name,
            SeriesKind.METRIC,
            about,
            low=facts.low,
            high=facts.high,
            lower_is_better=is_reversed,
        )


def _share_series(outcomes: Sequence[Outcome]) -> Iterable[Series]:
    yield Series("answered", SeriesKind.SHARE, "answers that are no refusal")
    yield Series("no error", SeriesKind.SHARE, "answers without an error of the bot")
    if any(outcome.response.passages for outcome in outcomes):
        yield Series("passages", SeriesKind.SHARE, "answers with at least one passage")
    lengths = [
        float(len(outcome.response.answer)) for outcome in outcomes if outcome.response.answer
    ]
    if lengths:
        long = float(np.quantile(lengths, _LONG)) * _MARGIN
        short = float(np.quantile(lengths, _SHORT)) / _MARGIN
        yield Series(
            "not too long", SeriesKind.SHARE, f"answers of at most {long:.0f} characters", cut=long
        )
        yield Series(
            "not too short",
            SeriesKind.SHARE,
            f"answers of at least {short:.0f} characters",
            cut=short,
        )
    times = [
        outcome.response.seconds for outcome in outcomes if outcome.response.seconds is not None
    ]
    if times:
        slow = float(np.quantile(times, _LONG)) * _MARGIN
        yield Series("in time", SeriesKind.SHARE, f"answers within {slow:.3g} seconds", cut=slow)


def values_of(series: Series, outcomes: Sequence[Outcome], topics: Sequence[int]) -> list[float]:
    """The values of a series, in the order of the outcomes; those without one are left out."""
    values = values_by_outcome(series, outcomes, topics)
    return [value for value in values if value is not None]


def values_by_outcome(
    series: Series, outcomes: Sequence[Outcome], topics: Sequence[int]
) -> list[float | None]:
    """The value of each outcome in a series; None where it is not applicable."""
    values: list[float | None] = []
    for outcome, topic in zip(outcomes, topics, strict=True):
        if series.topic is not None and topic != series.topic:
            values.append(None)
        else:
            values.append(_value_of(series, outcome))
    return values


def _value_of(series: Series, outcome: Outcome) -> float | None:
    if series.kind in (SeriesKind.VERDICT, SeriesKind.TOPIC):
        return _pass_value(outcome)
    if series.kind is SeriesKind.METRIC:
        return _scale_score(series, outcome)
    return _share_value(series, outcome)


def _pass_value(outcome: Outcome) -> float | None:
    """1 for a pass, 0 for a failure or an error of the bot; None where nothing was decided."""
    status = outcome.verdict.status
    if status in (Status.SCORED, Status.UNSCORED):
        return None
    if status == Status.ERROR and outcome.response.answer is not None:
        return None  # an error of a metric or judge says nothing about the bot
    return float(outcome.verdict.passed)


def _scale_score(series: Series, outcome: Outcome) -> float | None:
    score = outcome.scores.get(series.name)
    if score is None or score.value is None:
        return None
    value = (score.value - series.low) / ((series.high - series.low) or 1.0)
    if series.lower_is_better:
        return 1 - value
    return value


def _share_value(series: Series, outcome: Outcome) -> float | None:
    answer = outcome.response.answer
    if series.name == "no error":
        return float(answer is not None)
    if series.name == "in time":
        seconds = outcome.response.seconds
        if seconds is None or series.cut is None:
            return None
        return float(seconds <= series.cut)
    if answer is None:
        return None
    if series.name == "answered":
        return float(refusal(answer) != "full")
    if series.name == "passages":
        return float(bool(outcome.response.passages))
    if series.cut is None:
        return None
    if series.name == "not too long":
        return float(len(answer) <= series.cut)
    return float(len(answer) >= series.cut)

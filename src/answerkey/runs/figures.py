"""The figures of some cases: all of a run, one type or one route. Every mean has its denominator and interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from answerkey.metrics.semantic import READINGS
from answerkey.runs.number_tally import Mean, NumberTally
from answerkey.runs.repeats import Repeats
from answerkey.runs.tally import SATISFYING, OutcomeTally
from answerkey.types import Profile, ProfileLine

Range = tuple[float, float] | None
Rate = tuple[float | None, Range]
_DEFAULT_READINGS = {
    name: ProfileLine(
        name, floor=mark, reading=text, better="lower" if "hallucination" in name else "higher"
    )
    for name, (mark, text) in READINGS.items()
}
_OF_PASSAGES = ("context_relevance", "context_sufficiency", "answer_hallucination")


@dataclass(frozen=True, slots=True)
class Totals:
    """How many cases, by result. `failed` are scored and did not pass; `unscored` have neither score nor error."""

    cases: int
    scored: int
    passed: int
    failed: int
    errors: int
    unscored: int
    statuses: dict[str, int]


@dataclass(frozen=True, slots=True)
class MetricMean(Mean):
    """The mean of a metric, and for how many cases it is not applicable or failed with an error. `reading` is what a
    poor mean means in words; only the figures of all cases have it."""

    not_applicable: int = 0
    errors: int = 0
    reading: str | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds per answer, over the `n` answers whose time is known."""

    average: float | None
    mean: float | None
    min: float | None
    max: float | None
    p50: float | None
    p95: float | None
    n: int


@dataclass(frozen=True, slots=True)
class RepeatFigures:
    """Cases that are asked several times: `pass_all` (pass^k) is the share that passed every time, `pass_any` (pass@k)
    the share that passed at least once; `flaky` cases both passed and failed."""

    k: int
    require: str
    answers: int
    answers_passed: int
    answer_pass_rate: float | None
    pass_all: float | None
    pass_all_ci95: Range
    pass_any: float | None
    pass_any_ci95: Range
    flaky: int

    def to_json(self) -> dict[str, object]:
        names = {"pass^k": self.pass_all, "pass@k": self.pass_any}
        return {
            **asdict(self),
            **names,
            "pass^k_ci95": self.pass_all_ci95,
            "pass@k_ci95": self.pass_any_ci95,
        }


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of some cases: all of a run, one type or one route. Rates are shares of all these cases. `clusters`
    is the number of clusters of dependent cases, by which the intervals are computed; None without clusters."""

    totals: Totals
    user_satisfaction_rate: float | None
    user_satisfaction_ci95: Range
    pass_rate: float | None
    pass_rate_ci95: Range
    route_accuracy: float | None
    route_accuracy_ci95: Range
    route_accuracy_n: int
    average_scores: dict[str, MetricMean]
    score: Mean
    quality: Mean
    response_time: Times
    clusters: int | None = None
    repeats: RepeatFigures | None = None

    def to_json(self) -> dict[str, object]:
        means = {name: asdict(mean) for name, mean in self.average_scores.items()}
        for mean in means.values():
            if mean["reading"] is None:
                del mean["reading"]
        return {
            **asdict(self),
            "average_scores": means,
            "repeats": self.repeats and self.repeats.to_json(),
        }


def figures_of(
    tally: OutcomeTally, repeats: Repeats, readings: Mapping[str, ProfileLine] | None = None
) -> Figures:
    """Rates are shares of all cases: a case with an error satisfied nobody."""
    count, judged = tally.count, tally.judged
    satisfied = sum(tally.statuses[status] for status in SATISFYING)
    # A bot that never reports a route has no route accuracy; for one that does, a missing route is a wrong one.
    routed = tally.routed + tally.unrouted if tally.routed else 0
    times = tally.seconds
    fastest, slowest = (times.low, times.high) if times.count else (None, None)
    metrics = {*tally.scores, *tally.errors, *tally.skipped}
    unscored, statuses = count - judged - tally.error_count, dict(sorted(tally.statuses.items()))
    satisfaction, satisfaction_ci95 = _rate(tally, "satisfied", satisfied)
    pass_rate, pass_rate_ci95 = _rate(tally, "passed", tally.passed)
    accuracy, accuracy_ci95 = (
        _rate(tally, "on_route", tally.on_route, "compared", routed) if routed else (None, None)
    )
    return Figures(
        totals=Totals(
            count, judged, tally.passed, tally.failed, tally.error_count, unscored, statuses
        ),
        user_satisfaction_rate=satisfaction,
        user_satisfaction_ci95=satisfaction_ci95,
        pass_rate=pass_rate,
        pass_rate_ci95=pass_rate_ci95,
        route_accuracy=accuracy,
        route_accuracy_ci95=accuracy_ci95,
        route_accuracy_n=routed,
        average_scores={name: _metric_mean(tally, name, readings) for name in sorted(metrics)},
        score=tally.overall.figure(count),
        quality=tally.quality.figure(count),
        response_time=Times(
            times.mean,
            times.mean,
            fastest,
            slowest,
            times.quantile(0.5),
            times.quantile(0.95),
            times.count,
        ),
        clusters=tally.cluster_count,
        repeats=_repeat_figures(tally, repeats) if repeats.times > 1 else None,
    )


def _rate(
    tally: OutcomeTally, name: str, hits: int, of: str = "count", total: int | None = None
) -> Rate:
    """A share with its interval, of all cases or of `total`; None where no case is judged."""
    if total is None and not tally.judged:
        return None, None
    cases = tally.count if total is None else total
    interval = tally.rate_interval(name, of, (hits, cases))
    return hits / cases, (interval.low, interval.high) if interval else None


def _repeat_figures(tally: OutcomeTally, repeats: Repeats) -> RepeatFigures:
    pass_all, pass_all_ci95 = _rate(tally, "always", tally.always)
    pass_any, pass_any_ci95 = _rate(tally, "ever", tally.ever)
    return RepeatFigures(
        k=repeats.times,
        require=repeats.text,
        answers=tally.answers,
        answers_passed=tally.answers_passed,
        answer_pass_rate=tally.answers_passed / tally.answers if tally.judged else None,
        pass_all=pass_all,
        pass_all_ci95=pass_all_ci95,
        pass_any=pass_any,
        pass_any_ci95=pass_any_ci95,
        flaky=tally.ever - tally.always,
    )


def _metric_mean(
    tally: OutcomeTally, name: str, readings: Mapping[str, ProfileLine] | None
) -> MetricMean:
    mean = tally.scores.get(name, NumberTally()).figure(tally.count)
    reading, criterion = None if readings is None else "", readings.get(name) if readings else None
    if criterion and criterion.floor is not None and mean.mean is not None:
        poor = (
            mean.mean > criterion.floor
            if criterion.better == "lower"
            else mean.mean < criterion.floor
        )
        reading = criterion.reading if poor else ""
    if reading and name in _OF_PASSAGES and not tally.with_passages:
        reading = "no passages were given"
    return MetricMean(
        **asdict(mean),
        not_applicable=tally.skipped[name],
        errors=tally.errors[name],
        reading=reading,
    )


def readings_of(profile: Profile | None) -> Mapping[str, ProfileLine]:
    """The profile's thresholds and words take precedence over the metric's own."""
    criteria = profile.rules.lines if profile else ()
    return _DEFAULT_READINGS | {c.metric: c for c in criteria if c.reading and c.floor is not None}

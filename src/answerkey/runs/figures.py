"""The figures of some cases: all of a run, one type or one route. Every mean has its denominator and interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from answerkey.runs.means import Mean, interval_of_rate, mean_of, quantile_of
from answerkey.runs.repeats import Repeats
from answerkey.runs.table import Flags, MetricColumn, Numbers, RunTable
from answerkey.types import Profile, ProfileLine, Status

Range = tuple[float, float] | None
Rate = tuple[float | None, Range]
SATISFYING = (Status.PERFECT, Status.ACCEPTABLE, Status.PASSED)


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

    # Both names: the specification of summary.json says `average`, gates say `mean`.
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
    """The figures of some cases: all of a run, one type or one route. Rates are shares of the scored cases. `clusters`
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

    @property
    def scored_share(self) -> float | None:
        """The share of the cases that were scored, or ended in an error."""
        if not self.totals.cases:
            return None
        return 1 - self.totals.unscored / self.totals.cases

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
    table: RunTable, repeats: Repeats, readings: Mapping[str, ProfileLine] | None = None
) -> Figures:
    """Rates are shares of the scored cases and those with an error."""
    rates = _Rates(table)
    satisfied = np.isin(table.status.astype(str), SATISFYING)
    passed = table.passed & table.judged
    compared = table.answered & (table.expected_route != None)  # noqa: E711  (elementwise)
    on_route = compared & (table.route == table.expected_route)
    # A bot that never reports a route has no route accuracy; for one that does, a missing route is
    # a wrong one.
    has_route = compared & (table.route != None)  # noqa: E711
    if has_route.any():
        routed = compared
    else:
        routed = np.zeros(len(table), dtype=np.bool_)
    satisfaction, satisfaction_ci95 = rates.of_all(satisfied)
    pass_rate, pass_rate_ci95 = rates.of_all(passed)
    accuracy, accuracy_ci95 = rates.among(on_route, routed)
    return Figures(
        totals=_totals(table, passed),
        user_satisfaction_rate=satisfaction,
        user_satisfaction_ci95=satisfaction_ci95,
        pass_rate=pass_rate,
        pass_rate_ci95=pass_rate_ci95,
        route_accuracy=accuracy,
        route_accuracy_ci95=accuracy_ci95,
        route_accuracy_n=int(routed.sum()),
        average_scores={
            name: _metric_mean(table, name, readings)
            for name in sorted(table.metrics)
            if _is_measured(table.metrics[name])
        },
        score=_mean(table, table.score),
        quality=_mean(table, table.quality),
        response_time=_times(table),
        clusters=_cluster_count(table),
        repeats=_repeat_figures(table, rates, repeats) if repeats.times > 1 else None,
    )


class _Rates:
    """Shares of cases with their intervals, by cluster where cases are dependent."""

    def __init__(self, table: RunTable) -> None:
        self._clusters = table.clusters
        # A case with an error satisfied nobody; one that was not scored says nothing.
        self._counted = table.judged | (table.status.astype(str) == Status.ERROR)
        self._any_judged = bool(table.judged.any())

    def of_all(self, hits: Flags) -> Rate:
        """The share of the cases that were scored or failed; None where no case is judged."""
        if not self._any_judged:
            return None, None
        return self.among(hits, self._counted)

    def among(self, hits: Flags, among: Flags) -> Rate:
        """The share of the cases `among`; None where there are none."""
        total = int(among.sum())
        if total == 0:
            return None, None
        interval = interval_of_rate(hits, among, self._clusters)
        if interval:
            ends = (interval.low, interval.high)
        else:
            ends = None
        return int((hits & among).sum()) / total, ends


def _totals(table: RunTable, passed: Flags) -> Totals:
    statuses = Counter(map(str, table.status))
    scored = int(table.judged.sum())
    errors = statuses[Status.ERROR]
    return Totals(
        cases=len(table),
        scored=scored,
        passed=int(passed.sum()),
        failed=scored - int(passed.sum()),
        errors=errors,
        unscored=len(table) - scored - errors,
        statuses=dict(sorted(statuses.items())),
    )


def _mean(table: RunTable, column: Numbers) -> Mean:
    """The mean of a column over the cases that have a value, out of all cases."""
    present = ~np.isnan(column)
    clusters = table.clusters
    # Cases without a value leave the clusters too, so that both have one length.
    return mean_of(column[present], len(table), None if clusters is None else clusters[present])


def _times(table: RunTable) -> Times:
    times = table.times
    mean = mean_of(times, len(times)).mean
    return Times(
        average=mean,
        mean=mean,
        min=float(times.min()) if len(times) else None,
        max=float(times.max()) if len(times) else None,
        p50=quantile_of(times, 0.5),
        p95=quantile_of(times, 0.95),
        n=len(times),
    )


def _cluster_count(table: RunTable) -> int | None:
    """The number of independent units: clusters, and cases that stand alone."""
    if table.clusters is None:
        return None
    names = {name for name in table.cluster if name is not None}
    alone = sum(name is None for name in table.cluster)
    return len(names) + alone


def _repeat_figures(table: RunTable, rates: _Rates, repeats: Repeats) -> RepeatFigures:
    always = (table.attempts > 0) & (table.attempts_passed == table.attempts)
    ever = table.attempts_passed > 0
    answers = int(table.attempts.sum())
    answers_passed = int(table.attempts_passed.sum())
    pass_all, pass_all_ci95 = rates.of_all(always)
    pass_any, pass_any_ci95 = rates.of_all(ever)
    return RepeatFigures(
        k=repeats.times,
        require=repeats.text,
        answers=answers,
        answers_passed=answers_passed,
        answer_pass_rate=answers_passed / answers if table.judged.any() else None,
        pass_all=pass_all,
        pass_all_ci95=pass_all_ci95,
        pass_any=pass_any,
        pass_any_ci95=pass_any_ci95,
        flaky=int(ever.sum()) - int(always.sum()),
    )


def _is_measured(column: MetricColumn) -> bool:
    """Whether some case of the table has this metric at all."""
    present = ~np.isnan(column.values) | column.failed | column.not_applicable
    return bool(present.any())


def _metric_mean(
    table: RunTable, name: str, readings: Mapping[str, ProfileLine] | None
) -> MetricMean:
    column = table.metrics[name]
    mean = _mean(table, column.values)
    reading = None
    if readings is not None:
        reading = _reading(mean, readings.get(name))
    return MetricMean(
        **asdict(mean),
        not_applicable=int(column.not_applicable.sum()),
        errors=int(column.failed.sum()),
        reading=reading,
    )


def _reading(mean: Mean, line: ProfileLine | None) -> str:
    """What a poor mean means, in words; empty for a good one."""
    if line is None or line.floor is None or mean.mean is None:
        return ""
    lower_is_better = line.better == "lower"
    if lower_is_better:
        is_poor = mean.mean > line.floor
    else:
        is_poor = mean.mean < line.floor
    return line.reading if is_poor else ""


def readings_of(profile: Profile | None) -> Mapping[str, ProfileLine]:
    """The lines of the profile that have words for a value below their floor.

    Only a metric that decides has a reading: without a profile there is none.
    """
    lines = profile.rules.lines if profile else ()
    return {line.metric: line for line in lines if line.reading and line.floor is not None}

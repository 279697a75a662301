"""The summary of a run: every mean with its denominator and interval, overall, by type and by route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime

import msgspec

from answerkey.intervals import CorrectedRate, Interval
from answerkey.metrics.judge.card import JudgeCard, judge_card
from answerkey.metrics.semantic import READINGS
from answerkey.runs.number_tally import Mean, NumberTally
from answerkey.runs.repeats import Repeats
from answerkey.runs.tally import MOST_LISTED, SATISFYING, Disagreement, OutcomeTally, RunTally
from answerkey.types import Criterion, Json, Outcome, Profile, Status

Range = tuple[float, float] | None
_DEFAULT_READINGS = {
    name: Criterion(name, floor=mark, reading=text, better="lower" if "hallucination" in name else "higher")
    for name, (mark, text) in READINGS.items()
}


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
    """The mean of a metric, and for how many cases it is not applicable or failed with an error.

    `reading` is what a poor mean means in words; only the figures of all cases have it.
    """

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

    def to_json(self) -> Json:
        names = {"pass^k": self.pass_all, "pass@k": self.pass_any}
        return (
            asdict(self) | names | {f"{name}_ci95": getattr(self, f"{field}_ci95") for name, field in _PASS_K.items()}
        )


_PASS_K = {"pass^k": "pass_all", "pass@k": "pass_any"}


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of some cases: all of a run, one type or one route. Rates are shares of all these cases.

    `clusters` is the number of clusters of dependent cases, by which the intervals are computed; None without clusters.
    """

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

    def to_json(self) -> Json:
        record: Json = asdict(self) | {"repeats": self.repeats.to_json() if self.repeats else None}
        for metric in record["average_scores"].values():
            if metric["reading"] is None:
                del metric["reading"]
        return record


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate: its figure, the figure's interval, and whether it holds. A gate on a missing figure fails."""

    condition: str
    value: float | None
    ci95: Range
    passed: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    """The profile of a run by name; without one, the name is None."""

    name: str | None = None
    version: int | None = None
    digest: str | None = None
    scale: float = 1
    satisfaction: bool = False  # whether the profile has the statuses PERFECT or ACCEPTABLE


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is known about a run besides its outcomes, from run.json."""

    name: str = ""
    created: str = ""
    partial: str = ""
    selected: int | None = None
    profile: ProfileInfo = ProfileInfo()
    notes: tuple[str, ...] = ()
    changes: tuple[Json, ...] = ()
    settings: Json = field(default_factory=Json)
    fingerprint: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def cluster(self) -> str:
        """The column of clusters that the suite names; empty for the default."""
        return self.settings.get("statistics", {}).get("cluster", "")

    @staticmethod
    def of_manifest(manifest: Json) -> RunInfo:
        profile = manifest.get("profile") or {}
        return RunInfo(
            name=manifest["name"],
            created=manifest.get("created", ""),
            partial=manifest.get("partial", ""),
            selected=manifest.get("count"),
            profile=ProfileInfo(
                profile.get("name"),
                manifest.get("profile_version"),
                manifest.get("profile_digest"),
                profile.get("scale", 1),
            ),
            notes=tuple(manifest.get("notes", [])),
            changes=tuple(manifest.get("changes", [])),
            settings=manifest.get("settings", {}),
            fingerprint=manifest.get("fingerprint", {}),
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """summary.json, typed. `mean` and `pass_rate` are short ways to the figures of all cases.

    >>> summarise([]).figures.totals.cases
    0
    """

    run: RunInfo
    timestamp: str
    figures: Figures
    bands: dict[str, int]
    by_type: dict[str, Figures]
    by_route: dict[str, Figures]
    route_confusion: dict[str, dict[str, int]]
    errors: dict[str, int]
    disagreements: tuple[Disagreement, ...]
    gates: tuple[GateResult, ...] = ()
    failing: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    judge: JudgeCard | None = None
    corrected: CorrectedRate | None = None  # by human labels

    @property
    def mean(self) -> dict[str, float | None]:
        """The mean of each metric."""
        return {name: figure.mean for name, figure in self.figures.average_scores.items()}

    @property
    def pass_rate(self) -> float | None:
        return self.figures.pass_rate

    @staticmethod
    def of_json(record: Json) -> Summary:
        """The opposite of `to_json`; msgspec.ValidationError for a file of an earlier version that lacks something."""
        bands = {name: band["count"] for name, band in record["performance"]["bands"].items()}
        return msgspec.convert({**record, "run": record, "figures": record, "bands": bands}, Summary)

    def to_json(self) -> Json:
        count = self.figures.totals.cases
        bands = {name: {"count": n, "share": n / count if count else None} for name, n in self.bands.items()}
        return {
            "timestamp": self.timestamp,
            **asdict(self.run),
            **self.figures.to_json(),
            "performance": {"bands": bands, "pass_rate": self.figures.pass_rate},
            "by_type": {name: _group_json(part) for name, part in self.by_type.items()},
            "by_route": {name: _group_json(part) for name, part in self.by_route.items()},
            "route_confusion": self.route_confusion,
            "errors": self.errors,
            "disagreements": [asdict(each) for each in self.disagreements],
            "gates": [asdict(gate) for gate in self.gates],
            "failing": list(self.failing),
            "flaky": list(self.flaky),
            "judge": self.judge.to_json() if self.judge else None,
            "corrected": asdict(self.corrected) if self.corrected else None,
        }


def summarise(outcomes: Iterable[Outcome], profile: Profile | None = None, run: RunInfo | None = None) -> Summary:
    """The summary of some outcomes."""
    run = run or RunInfo()
    tally = RunTally(cluster=run.cluster)
    for outcome in outcomes:
        tally.add(outcome)
    return summary_of(tally, profile, run)


def summary_of(tally: RunTally, profile: Profile | None, run: RunInfo) -> Summary:
    """The summary of a tally; the fingerprint gains the hash of the answers."""
    known = [band.name for band in profile.rules.bands] if profile else []
    bands = {name: tally.all.bands[name] for name in dict.fromkeys([*known, *tally.all.bands])}
    fingerprint = {**run.fingerprint, "answers": tally.answers.text()}
    rules = (profile.rules, *profile.group_rules.values()) if profile else ()
    statuses = {band.status for each in rules for band in each.bands}
    about = replace(run.profile, satisfaction=bool(statuses & {Status.PERFECT, Status.ACCEPTABLE}))
    repeats = Repeats.of_settings(run.settings.get("run", {}))
    return Summary(
        run=replace(run, fingerprint=fingerprint, profile=about),
        timestamp=datetime.now(UTC).isoformat(timespec="seconds"),
        figures=_figures(tally.all, repeats, _readings(profile)),
        bands=bands,
        by_type={name: _figures(part, repeats) for name, part in sorted(tally.by_type.items())},
        by_route={name: _figures(part, repeats) for name, part in sorted(tally.by_route.items())},
        route_confusion=_confusion(tally.confusion) if tally.by_route else {},
        errors=tally.errors.listed(MOST_LISTED),
        disagreements=tuple(tally.disagreements[:MOST_LISTED]),
        flaky=tuple(tally.flaky),
        judge=judge_card(tally.judge, run.fingerprint.get("judge", "")),
    )


def _figures(tally: OutcomeTally, repeats: Repeats, readings: Mapping[str, Criterion] | None = None) -> Figures:
    """Rates are shares of all cases: a case with an error satisfied nobody."""
    count, judged = tally.count, tally.judged
    satisfied = sum(tally.statuses[status] for status in SATISFYING)
    # A bot that never reports a route has no route accuracy; for one that does, a missing route is a wrong one.
    routed = tally.routed + tally.unrouted if tally.routed else 0
    return Figures(
        totals=Totals(
            cases=count,
            scored=judged,
            passed=tally.passed,
            failed=tally.failed,
            errors=tally.error_count,
            unscored=count - judged - tally.error_count,
            statuses=dict(sorted(tally.statuses.items())),
        ),
        user_satisfaction_rate=satisfied / count if judged else None,
        user_satisfaction_ci95=_ends(tally.rate_interval("satisfied", "count", (satisfied, count))) if judged else None,
        pass_rate=tally.passed / count if judged else None,
        pass_rate_ci95=_ends(tally.rate_interval("passed", "count", (tally.passed, count))) if judged else None,
        route_accuracy=tally.on_route / routed if routed else None,
        route_accuracy_ci95=_ends(tally.rate_interval("on_route", "compared", (tally.on_route, routed)))
        if routed
        else None,
        route_accuracy_n=routed,
        average_scores={
            name: _metric_mean(tally, name, readings) for name in sorted({*tally.scores, *tally.errors, *tally.skipped})
        },
        score=tally.overall.figure(count),
        quality=tally.quality.figure(count),
        response_time=_times(tally.seconds),
        clusters=tally.cluster_count,
        repeats=_repeat_figures(tally, repeats) if repeats.times > 1 else None,
    )


def _repeat_figures(tally: OutcomeTally, repeats: Repeats) -> RepeatFigures:
    count, judged = tally.count, tally.judged
    return RepeatFigures(
        k=repeats.times,
        require=repeats.text,
        answers=tally.answers,
        answers_passed=tally.answers_passed,
        answer_pass_rate=tally.answers_passed / tally.answers if judged else None,
        pass_all=tally.always / count if judged else None,
        pass_all_ci95=_ends(tally.rate_interval("always", "count", (tally.always, count))) if judged else None,
        pass_any=tally.ever / count if judged else None,
        pass_any_ci95=_ends(tally.rate_interval("ever", "count", (tally.ever, count))) if judged else None,
        flaky=tally.ever - tally.always,
    )


def _metric_mean(tally: OutcomeTally, name: str, readings: Mapping[str, Criterion] | None) -> MetricMean:
    mean = tally.scores.get(name, NumberTally()).figure(tally.count)
    reading = None if readings is None else _reading(mean.mean, readings.get(name))
    return MetricMean(**asdict(mean), not_applicable=tally.skipped[name], errors=tally.errors[name], reading=reading)


def _readings(profile: Profile | None) -> Mapping[str, Criterion]:
    """The profile's thresholds and words take precedence over the metric's own."""
    criteria = profile.rules.criteria if profile else ()
    return _DEFAULT_READINGS | {c.metric: c for c in criteria if c.reading and c.floor is not None}


def _reading(mean: float | None, criterion: Criterion | None) -> str:
    if mean is None or criterion is None or criterion.floor is None:
        return ""
    poor = mean > criterion.floor if criterion.better == "lower" else mean < criterion.floor
    return criterion.reading if poor else ""


def _times(tally: NumberTally) -> Times:
    low, high = (tally.low, tally.high) if tally.count else (None, None)
    return Times(tally.mean, tally.mean, low, high, tally.quantile(0.5), tally.quantile(0.95), tally.count)


def _confusion(pairs: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """expected → actual → count."""
    table: dict[str, dict[str, int]] = {}
    for (expected, actual), count in sorted(pairs.items()):
        table.setdefault(expected, {})[actual] = count
    return table


def _ends(interval: Interval | None) -> Range:
    return (interval.low, interval.high) if interval else None


def _group_json(part: Figures) -> Json:
    """A type or route; its counts stand at the top level too."""
    totals = part.totals
    counts = {"count": totals.cases, "scored": totals.scored, "passed": totals.passed, "errors": totals.errors}
    return {**part.to_json(), **counts}

"""One look at the logs: new answers, a sample of them scored, the evidence updated, alarms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from answerkey.cases.select import sample_cases
from answerkey.errors import SettingsError
from answerkey.types import Case, Outcome
from answerkey.watch.anchor import AnchorResult, compare_anchor
from answerkey.watch.evidence import ALPHA, LIMIT, ChangeEvidence
from answerkey.watch.series import (
    Series,
    SeriesBaseline,
    SeriesKind,
    plan_series,
    values_by_outcome,
)
from answerkey.watch.state import WatchState, new_cases
from answerkey.watch.topics import (
    NewQuestion,
    TextEmbedder,
    Topics,
    find_topics,
    new_questions,
)

Score = Callable[[Sequence[Case]], list[Outcome]]
FAMILIAR = "familiar"
_MOST_NEW_QUESTIONS = 20
_MIXTURE = 12.0  # makes the confidence sequence narrowest after some 50 answers


class AlarmKind(StrEnum):
    """The part that changed: the bot, or the judge that scores it."""

    BOT = "bot"
    JUDGE = "judge"


class Alarm(msgspec.Struct, frozen=True):
    """One alarm, with a sentence for people."""

    kind: AlarmKind
    series: str
    sentence: str


class SeriesPoint(msgspec.Struct, frozen=True):
    """A series at one look: this look's mean, and all answers since the watch began.

    `low` and `high` are a 95 % confidence sequence of the mean, valid at every look together.
    """

    name: str
    kind: SeriesKind
    about: str
    baseline: float
    mean: float | None
    count: int
    mean_so_far: float | None
    count_so_far: int
    low: float
    high: float
    evidence: float


class Look(msgspec.Struct, frozen=True):
    """The result of one look. From `limit` upwards the evidence is an alarm.

    `evidence` is the largest after any answer of this look, `points` are as they were at its end.
    """

    number: int
    time: str
    read: int
    sampled: int
    evidence: float
    points: list[SeriesPoint]
    alarms: list[Alarm]
    new_questions: list[NewQuestion] = []
    anchor: AnchorResult | None = None
    baseline: str = ""

    @property
    def limit(self) -> float:
        return LIMIT


class WatchBaseline(msgspec.Struct):
    """The figures of the baseline that the state keeps."""

    run: str
    series: list[SeriesBaseline]
    topics: Topics


@dataclass(frozen=True, slots=True)
class Watcher:
    """The parts of a look that stay the same: how to score, how to embed, what to compare with."""

    score: Score
    embedder: TextEmbedder
    baseline_run: str
    read_baseline: Callable[[], list[Outcome]]
    sample: int
    seed: int = 0


def look_at(
    state: WatchState, cases: Iterable[Case], anchor: Sequence[Case], watcher: Watcher
) -> Look:
    """Count the new answers of `cases`, and say whether something changed."""
    baseline = _baseline_of(state, watcher)
    number = state.count_looks() + 1
    counter = _Counter()
    new = new_cases(state, cases)
    sampled = sample_cases(counter.count(new), watcher.sample, watcher.seed + number)
    if sampled:
        outcomes = watcher.score(_with_unique_ids(sampled))
    else:
        outcomes = []
    anchor_result = _judge_anchor(state, anchor, watcher, number)
    questions = [outcome.case.question for outcome in outcomes]
    if questions:
        vectors = watcher.embedder.embed(questions)
    else:
        vectors = None
    topics = [0] * len(outcomes)
    unfamiliar: list[NewQuestion] = []
    if vectors is not None:
        topics = baseline.topics.of_vectors(vectors)
        unfamiliar = new_questions(baseline.topics, questions, vectors, watcher.embedder)
    is_judge_changed = anchor_result is not None and anchor_result.is_changed
    values = _values_of_look(baseline, outcomes, topics, unfamiliar, is_judge_changed)
    evidence, peak = _add_values(state, baseline, values)
    points = [_point(each, evidence[each.series.name], values) for each in baseline.series]
    look = Look(
        number=number,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        read=counter.number,
        sampled=len(sampled),
        evidence=sum(peak.values()),
        points=points,
        alarms=_alarms(points, peak, anchor_result),
        new_questions=unfamiliar[:_MOST_NEW_QUESTIONS],
        anchor=anchor_result,
        baseline=watcher.baseline_run,
    )
    state.add_look(look)
    return look


class _Counter:
    """Counts what passes through."""

    def __init__(self) -> None:
        self.number = 0

    def count(self, cases: Iterable[Case]) -> Iterable[Case]:
        for case in cases:
            self.number += 1
            yield case


def _baseline_of(state: WatchState, watcher: Watcher) -> WatchBaseline:
    """The baseline as the first look stored it."""
    stored = state.read("baseline", WatchBaseline)
    if stored is not None:
        if stored.run != watcher.baseline_run:
            raise SettingsError(
                f"this state watches against {stored.run}; give another --state for another baseline"
            )
        return stored
    outcomes = watcher.read_baseline()
    questions = [outcome.case.question for outcome in outcomes]
    topics, numbers = find_topics(questions, watcher.embedder)
    if len(topics.names) > 1:
        names = dict(enumerate(topics.names))
    else:
        names = {}
    familiar = Series(FAMILIAR, SeriesKind.SHARE, "questions near one of the baseline")
    count = len(outcomes)
    series = plan_series(outcomes, numbers, names)
    if not series:
        raise SettingsError(f"{watcher.baseline_run}: too few scored answers for a baseline")
    # What users ask is not the bot's fault: the share is shown, and without a weight it never alarms.
    series.append(SeriesBaseline(familiar, count * topics.familiar_share, count))
    baseline = WatchBaseline(watcher.baseline_run, series, topics)
    state.write("baseline", baseline)
    return baseline


def _with_unique_ids(cases: Sequence[Case]) -> list[Case]:
    """Answers of several logs may share an id."""
    used: set[str] = set()
    unique: list[Case] = []
    for number, case in enumerate(cases, start=1):
        if case.id not in used:
            name = case.id
        else:
            name = f"{case.id}@{number}"
        used.add(name)
        unique.append(replace(case, id=name))
    return unique


def _judge_anchor(
    state: WatchState, anchor: Sequence[Case], watcher: Watcher, number: int
) -> AnchorResult | None:
    if not anchor:
        return None
    outcomes = watcher.score(anchor)
    first = state.read("anchor", dict[str, bool])
    if first is None:
        first = {outcome.case.id: outcome.verdict.passed for outcome in outcomes}
        state.write("anchor", first)
    return compare_anchor(outcomes, first, number)


def _values_of_look(
    baseline: WatchBaseline,
    outcomes: Sequence[Outcome],
    topics: Sequence[int],
    unfamiliar: Sequence[NewQuestion],
    is_judge_changed: bool,
) -> dict[str, list[float | None]]:
    """The value of each outcome in each series. After a change of the judge its scores are None."""
    far = {new.question for new in unfamiliar}
    values: dict[str, list[float | None]] = {}
    for each in baseline.series:
        series = each.series
        if series.name == FAMILIAR:
            values[FAMILIAR] = [float(outcome.case.question not in far) for outcome in outcomes]
        elif is_judge_changed and series.kind is not SeriesKind.SHARE:
            values[series.name] = [None] * len(outcomes)
        else:
            values[series.name] = values_by_outcome(series, outcomes, topics)
    return values


def _add_values(
    state: WatchState, baseline: WatchBaseline, values: Mapping[str, Sequence[float | None]]
) -> tuple[dict[str, ChangeEvidence], dict[str, float]]:
    """Add the values of a look; the evidence of each series, and its part of the largest sum.

    The sum is taken after every answer, not only at the end of the look: the bound on false alarms
    covers every answer, and at the end some of the evidence may be gone again.
    """
    evidence = state.read("evidence", dict[str, ChangeEvidence]) or {}
    for each in baseline.series:
        if each.series.name not in evidence:
            evidence[each.series.name] = ChangeEvidence.against(each.total, each.count)
    weights = {each.series.name: each.series.weight for each in baseline.series}
    peak = add_in_step(evidence, weights, values)
    state.write("evidence", evidence)
    return evidence, peak


def add_in_step(
    evidence: Mapping[str, ChangeEvidence],
    weights: Mapping[str, float],
    values: Mapping[str, Sequence[float | None]],
) -> dict[str, float]:
    """Add the values of all series answer by answer; the weighted evidence when its sum was largest."""
    parts = {name: weight * evidence[name].value for name, weight in weights.items()}
    peak = dict(parts)
    most = sum(parts.values())
    for row in zip(*(values[name] for name in weights), strict=True):
        for name, value in zip(weights, row, strict=True):
            if value is not None:
                evidence[name].add_one(value)
                parts[name] = weights[name] * evidence[name].value
        total = sum(parts.values())
        if total > most:
            peak = dict(parts)
            most = total
    return peak


def _point(
    baseline: SeriesBaseline,
    evidence: ChangeEvidence,
    values: Mapping[str, Sequence[float | None]],
) -> SeriesPoint:
    series = baseline.series
    own = [value for value in values[series.name] if value is not None]
    low, high = confidence_sequence(evidence.total, evidence.count)
    return SeriesPoint(
        name=series.name,
        kind=series.kind,
        about=series.about,
        baseline=baseline.total / baseline.count,
        mean=sum(own) / len(own) if own else None,
        count=len(own),
        mean_so_far=evidence.mean,
        count_so_far=evidence.count,
        low=low,
        high=high,
        evidence=series.weight * evidence.value,
    )


def confidence_sequence(total: float, count: int) -> tuple[float, float]:
    """The ends of a 95 % interval of a mean of values from 0 to 1, valid at every count at once.

    Robbins' normal mixture (1970), with the variance of a fair coin, the largest there is.

    >>> [round(end, 2) for end in confidence_sequence(80.0, 100)]
    [0.64, 0.96]
    """
    if not count:
        return 0.0, 1.0
    spread = count / 4 + _MIXTURE
    radius = math.sqrt(spread * math.log(spread / (_MIXTURE * ALPHA**2))) / count
    mean = total / count
    return max(mean - radius, 0.0), min(mean + radius, 1.0)


def _alarms(
    points: Sequence[SeriesPoint], peak: Mapping[str, float], anchor: AnchorResult | None
) -> list[Alarm]:
    """The alarms of a look; the series that contribute most are named."""
    alarms: list[Alarm] = []
    if anchor is not None and anchor.is_changed:
        sentence = f"the judge changed: {anchor.sentence()}"
        alarms.append(Alarm(AlarmKind.JUDGE, "anchor", sentence))
    total = sum(peak.values())
    if total < LIMIT:
        return alarms
    # The sum of all series is at the limit; those with a tenth of it are named.
    least = min(max(peak.values()), total / 10)
    named = [point for point in points if peak[point.name] >= least]
    named.sort(key=lambda point: -peak[point.name])
    return alarms + [_alarm_of(point) for point in named]


def _alarm_of(point: SeriesPoint) -> Alarm:
    if point.mean is not None:
        mean = point.mean
    else:
        mean = point.mean_so_far
    now = "unknown" if mean is None else f"{mean:.1%}"
    change = f"{now} of the last {point.count} answers, {point.baseline:.1%} in the baseline"
    return Alarm(AlarmKind.BOT, point.name, f"{point.name} dropped: {change} ({point.about})")

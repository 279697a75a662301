"""The summary of a run: every mean with its denominator and interval, overall, by type and by route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from answerkey.intervals import rate_interval
from answerkey.profiles.decide import ERROR
from answerkey.runs.disagree import disagreements
from answerkey.runs.error_kinds import ErrorKinds
from answerkey.runs.fingerprint import SetDigest, add_answer
from answerkey.runs.readings import with_readings
from answerkey.runs.tally import Tally
from answerkey.types import Json, Outcome, Profile

SATISFYING = ("PERFECT", "ACCEPTABLE", "PASSED")
_MOST_LISTED = 20
_NUMBERS = ("count", "passed", "judged", "routed", "unrouted", "on_route")
NO_ROUTE = "(none)"
_COUNTERS = ("statuses", "bands", "broken", "skipped")
_TALLIES = ("overall", "quality", "seconds")


@dataclass(slots=True)
class Group:
    """The figures of some of the outcomes: all, one type or one route."""

    count: int = 0
    passed: int = 0
    judged: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    bands: Counter[str] = field(default_factory=Counter[str])
    scores: dict[str, Tally] = field(default_factory=dict[str, Tally])
    broken: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    overall: Tally = field(default_factory=Tally)
    quality: Tally = field(default_factory=Tally)
    seconds: Tally = field(default_factory=Tally)
    routed: int = 0
    unrouted: int = 0
    on_route: int = 0

    def add(self, outcome: Outcome) -> None:
        verdict = outcome.verdict
        self.count += 1
        self.statuses[verdict.status] += 1
        if verdict.score is not None:
            self.judged += 1
            self.passed += verdict.passed
            self.bands[verdict.band] += 1
            self.overall.add(verdict.score)
        if verdict.quality is not None:
            self.quality.add(verdict.quality)
        if outcome.response.seconds is not None:
            self.seconds.add(outcome.response.seconds)
        if outcome.case.expected_route is not None and outcome.response.error is None:
            self.routed += outcome.response.route is not None
            self.unrouted += outcome.response.route is None
            self.on_route += outcome.response.route == outcome.case.expected_route
        for name, score in outcome.scores.items():
            if score.error is not None:
                self.broken[name] += 1
            elif score.value is None:
                self.skipped[name] += 1
            else:
                tally = self.scores.get(name)
                if tally is None:
                    tally = self.scores[name] = Tally()
                tally.add(score.value)

    def merge(self, other: Group) -> None:
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        for name in _TALLIES:
            getattr(self, name).merge(getattr(other, name))
        for name, tally in other.scores.items():
            self.scores.setdefault(name, Tally()).merge(tally)

    def to_json(self) -> Json:
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            **{name: dict(getattr(self, name)) for name in _COUNTERS},
            **{name: getattr(self, name).to_json() for name in _TALLIES},
            "scores": {name: tally.to_json() for name, tally in self.scores.items()},
        }

    @staticmethod
    def from_json(record: Json) -> Group:
        group = Group(**{name: record[name] for name in _NUMBERS})
        for name in _COUNTERS:
            getattr(group, name).update(record[name])
        for name in _TALLIES:
            setattr(group, name, Tally.from_json(record[name]))
        group.scores = {name: Tally.from_json(tally) for name, tally in record["scores"].items()}
        return group


class Summary:
    """Collects outcomes one at a time, or whole summaries of parts; `figures` gives summary.json."""

    def __init__(self, profile: Profile | None) -> None:
        self.profile = profile
        self.all = Group()
        self.by_type: dict[str, Group] = {}
        self.by_route: dict[str, Group] = {}
        self.confusion: Counter[tuple[str, str]] = Counter()
        self.errors = ErrorKinds()
        self.disagreements: list[Json] = []
        self.answers = SetDigest()

    def add(self, outcome: Outcome) -> None:
        self.all.add(outcome)
        add_answer(self.answers, outcome.case, outcome.response)
        kind, route = outcome.case.type, outcome.response.route
        if kind is not None:
            self.by_type.setdefault(kind, Group()).add(outcome)
        if route is not None:
            self.by_route.setdefault(route, Group()).add(outcome)
        if outcome.case.expected_route is not None and outcome.response.error is None:
            self.confusion[outcome.case.expected_route, route or NO_ROUTE] += 1
        if outcome.verdict.status == ERROR:
            self.errors.add(outcome)
        if len(self.disagreements) < _MOST_LISTED:
            self.disagreements.extend(disagreements(outcome))

    def merge(self, other: Summary) -> None:
        self.all.merge(other.all)
        for mine, theirs in ((self.by_type, other.by_type), (self.by_route, other.by_route)):
            for name, group in theirs.items():
                mine.setdefault(name, Group()).merge(group)
        self.confusion.update(other.confusion)
        self.errors.merge(other.errors)
        self.answers.merge(other.answers)
        self.disagreements = (self.disagreements + other.disagreements)[:_MOST_LISTED]

    def to_json(self) -> Json:
        """A sketch: all that is needed to merge this part with others, in any order, to the same figures."""
        return {
            "all": self.all.to_json(),
            "by_type": {name: group.to_json() for name, group in self.by_type.items()},
            "by_route": {name: group.to_json() for name, group in self.by_route.items()},
            "confusion": [[*routes, count] for routes, count in self.confusion.items()],
            "errors": self.errors.to_json(),
            "disagreements": self.disagreements,
            "answers": f"{self.answers.total:x}",
        }

    @staticmethod
    def from_json(record: Json, profile: Profile | None = None) -> Summary:
        summary = Summary(profile)
        summary.all = Group.from_json(record["all"])
        summary.by_type = {name: Group.from_json(part) for name, part in record["by_type"].items()}
        summary.by_route = {name: Group.from_json(part) for name, part in record["by_route"].items()}
        summary.confusion.update({(taken, route): count for taken, route, count in record["confusion"]})
        summary.errors = ErrorKinds.from_json(record["errors"])
        summary.disagreements = list(record["disagreements"])
        summary.answers = SetDigest(int(record["answers"], 16))
        return summary

    def figures(self) -> Json:
        group = self.all
        return {
            "totals": _totals(group),
            **_rates(group),
            "average_scores": with_readings(_averages(group), self.profile),
            "score": group.overall.summary(group.count),
            "quality": group.quality.summary(group.count),
            "performance": _bands(group, self.profile),
            "response_time": _times(group.seconds),
            "by_type": {name: _part(part) for name, part in sorted(self.by_type.items())},
            "by_route": {name: _part(part) for name, part in sorted(self.by_route.items())},
            "route_confusion": _confusion(self.confusion) if self.by_route else {},
            "errors": self.errors.listed(_MOST_LISTED),
            "disagreements": self.disagreements[:_MOST_LISTED],
        }


def summarise(
    outcomes: Iterable[Outcome], profile: Profile | None = None, about: Mapping[str, Any] | None = None
) -> Json:
    """summary.json: the figures of the outcomes, headed by what is known about the run."""
    summary = Summary(profile)
    for outcome in outcomes:
        summary.add(outcome)
    return headed(summary, about or {})


def headed(summary: Summary, about: Mapping[str, Any]) -> Json:
    """The figures under what made the run; the fingerprint gains the hash of the answers."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    fingerprint = {**about.get("fingerprint", {}), "answers": summary.answers.text()}
    return {"timestamp": now, **about, "fingerprint": fingerprint, **summary.figures()}


def _totals(group: Group) -> Json:
    return {
        "cases": group.count,
        "scored": group.judged,
        "passed": group.passed,
        "failed": group.judged - group.passed,
        "errors": group.statuses[ERROR],
        "unscored": group.count - group.judged - group.statuses[ERROR],
        "statuses": dict(sorted(group.statuses.items())),
    }


def _rates(group: Group) -> Json:
    """Shares of all cases: one that broke did not satisfy anybody."""
    satisfied = sum(group.statuses[status] for status in SATISFYING)
    # Of a bot that never says its route nothing is known; of one that does, a route left out is a wrong one.
    routed = group.routed + group.unrouted if group.routed else 0
    return {
        "user_satisfaction_rate": satisfied / group.count if group.judged else None,
        "user_satisfaction_ci95": _wilson(satisfied, group.count) if group.judged else None,
        "pass_rate": group.passed / group.count if group.judged else None,
        "pass_rate_ci95": _wilson(group.passed, group.count) if group.judged else None,
        "route_accuracy": group.on_route / routed if routed else None,
        "route_accuracy_ci95": _wilson(group.on_route, routed),
        "route_accuracy_n": routed,
    }


def _averages(group: Group) -> Json:
    names = sorted({*group.scores, *group.broken, *group.skipped})
    return {
        name: {
            **group.scores.get(name, Tally()).summary(group.count),
            "not_applicable": group.skipped[name],
            "broken": group.broken[name],
        }
        for name in names
    }


def _part(group: Group) -> Json:
    totals = _totals(group)
    return {
        "totals": totals,
        "count": group.count,
        "scored": totals["scored"],
        "passed": group.passed,
        "errors": totals["errors"],
        **_rates(group),
        "score": group.overall.summary(group.count),
        "quality": group.quality.summary(group.count),
        "average_scores": _averages(group),
        "response_time": _times(group.seconds),
    }


def _bands(group: Group, profile: Profile | None) -> Json:
    known = [band.name for band in profile.rules.bands] if profile else []
    names = list(dict.fromkeys([*known, *group.bands]))
    bands = {
        name: {"count": group.bands[name], "share": group.bands[name] / group.count if group.count else None}
        for name in names
    }
    return {"bands": bands, "pass_rate": group.passed / group.count if group.judged else None}


def _times(tally: Tally) -> Json:
    return {
        "average": tally.mean,
        "mean": tally.mean,
        "min": tally.low if tally.count else None,
        "max": tally.high if tally.count else None,
        "p50": tally.quantile(0.5),
        "p95": tally.quantile(0.95),
        "n": tally.count,
    }


def _confusion(pairs: Counter[tuple[str, str]]) -> Json:
    """expected → actual → count."""
    table: dict[str, dict[str, int]] = {}
    for (expected, actual), count in sorted(pairs.items()):
        table.setdefault(expected, {})[actual] = count
    return table


def _wilson(successes: int, n: int) -> list[float] | None:
    interval = rate_interval(successes, n)
    return [interval.low, interval.high] if interval else None

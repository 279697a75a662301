"""The summary of a run: every mean with its denominator and interval, overall, by type and by route."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from answerkey.intervals import rate_interval
from answerkey.metrics.semantic import READINGS
from answerkey.profiles.decide import ERROR
from answerkey.runs.records import SetDigest, add_answer
from answerkey.runs.tally import ErrorKinds, NumberTally
from answerkey.types import Criterion, Json, Outcome, Profile

SATISFYING = ("PERFECT", "ACCEPTABLE", "PASSED")
_MOST_LISTED = 20
_NUMBERS = ("count", "passed", "judged", "routed", "unrouted", "on_route")
NO_ROUTE = "(none)"
_COUNTERS = ("statuses", "bands", "broken", "skipped")
_TALLIES = ("overall", "quality", "seconds")


@dataclass(slots=True)
class OutcomeTally:
    """The figures of some of the outcomes: all, one type or one route."""

    count: int = 0
    passed: int = 0
    judged: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    bands: Counter[str] = field(default_factory=Counter[str])
    scores: dict[str, NumberTally] = field(default_factory=dict[str, NumberTally])
    broken: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    overall: NumberTally = field(default_factory=NumberTally)
    quality: NumberTally = field(default_factory=NumberTally)
    seconds: NumberTally = field(default_factory=NumberTally)
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
                    tally = self.scores[name] = NumberTally()
                tally.add(score.value)

    def merge(self, other: OutcomeTally) -> None:
        for name in _NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        for name in _TALLIES:
            getattr(self, name).merge(getattr(other, name))
        for name, tally in other.scores.items():
            self.scores.setdefault(name, NumberTally()).merge(tally)

    def to_json(self) -> Json:
        return {
            **{name: getattr(self, name) for name in _NUMBERS},
            **{name: dict(getattr(self, name)) for name in _COUNTERS},
            **{name: getattr(self, name).to_json() for name in _TALLIES},
            "scores": {name: tally.to_json() for name, tally in self.scores.items()},
        }

    @staticmethod
    def from_json(record: Json) -> OutcomeTally:
        group = OutcomeTally(**{name: record[name] for name in _NUMBERS})
        for name in _COUNTERS:
            getattr(group, name).update(record[name])
        for name in _TALLIES:
            setattr(group, name, NumberTally.from_json(record[name]))
        group.scores = {name: NumberTally.from_json(tally) for name, tally in record["scores"].items()}
        return group


class Summary:
    """Collects outcomes one at a time, or whole summaries of parts; `figures` gives summary.json."""

    def __init__(self, profile: Profile | None) -> None:
        self.profile = profile
        self.all = OutcomeTally()
        self.by_type: dict[str, OutcomeTally] = {}
        self.by_route: dict[str, OutcomeTally] = {}
        self.confusion: Counter[tuple[str, str]] = Counter()
        self.errors = ErrorKinds()
        self.disagreements: list[Json] = []
        self.answers = SetDigest()

    def add(self, outcome: Outcome) -> None:
        self.all.add(outcome)
        add_answer(self.answers, outcome.case, outcome.response)
        kind, route = outcome.case.type, outcome.response.route
        if kind is not None:
            self.by_type.setdefault(kind, OutcomeTally()).add(outcome)
        if route is not None:
            self.by_route.setdefault(route, OutcomeTally()).add(outcome)
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
                mine.setdefault(name, OutcomeTally()).merge(group)
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
        summary.all = OutcomeTally.from_json(record["all"])
        summary.by_type = {name: OutcomeTally.from_json(part) for name, part in record["by_type"].items()}
        summary.by_route = {name: OutcomeTally.from_json(part) for name, part in record["by_route"].items()}
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


def _totals(group: OutcomeTally) -> Json:
    return {
        "cases": group.count,
        "scored": group.judged,
        "passed": group.passed,
        "failed": group.judged - group.passed,
        "errors": group.statuses[ERROR],
        "unscored": group.count - group.judged - group.statuses[ERROR],
        "statuses": dict(sorted(group.statuses.items())),
    }


def _rates(group: OutcomeTally) -> Json:
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


def _averages(group: OutcomeTally) -> Json:
    names = sorted({*group.scores, *group.broken, *group.skipped})
    return {
        name: {
            **group.scores.get(name, NumberTally()).summary(group.count),
            "not_applicable": group.skipped[name],
            "broken": group.broken[name],
        }
        for name in names
    }


def _part(group: OutcomeTally) -> Json:
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


def _bands(group: OutcomeTally, profile: Profile | None) -> Json:
    known = [band.name for band in profile.rules.bands] if profile else []
    names = list(dict.fromkeys([*known, *group.bands]))
    bands = {
        name: {"count": group.bands[name], "share": group.bands[name] / group.count if group.count else None}
        for name in names
    }
    return {"bands": bands, "pass_rate": group.passed / group.count if group.judged else None}


def _times(tally: NumberTally) -> Json:
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


_PLAIN = {
    name: Criterion(name, floor=mark, reading=text, better="lower" if "hallucination" in name else "higher")
    for name, (mark, text) in READINGS.items()
}


def with_readings(averages: Mapping[str, Json], profile: Profile | None) -> Json:
    """The averages, each with its reading or none; the profile's marks and words go before the metric's own."""
    criteria = profile.rules.criteria if profile else ()
    known = _PLAIN | {c.metric: c for c in criteria if c.reading and c.floor is not None}
    return {
        name: {**entry, "reading": _reading(entry["mean"], known.get(name))}
        for name, entry in averages.items()
    }


def _reading(mean: float | None, criterion: Criterion | None) -> str:
    if mean is None or criterion is None or criterion.floor is None:
        return ""
    poor = mean > criterion.floor if criterion.better == "lower" else mean < criterion.floor
    return criterion.reading if poor else ""


Values = Mapping[str, float]

_RULES: tuple[tuple[str, tuple[str, ...], Callable[[Values], bool]], ...] = (
    ("the words differ but the judge is content", ("exact_match", "rubric.accuracy"),
     lambda v: v["exact_match"] == 0 and v["rubric.accuracy"] >= 4.5),
    ("the words match but the judge is not content", ("token_f1", "rubric.accuracy"),
     lambda v: v["token_f1"] >= 0.8 and v["rubric.accuracy"] <= 2),
    ("the meaning is near but a number is wrong", ("answer_correctness", "number_close"),
     lambda v: v["answer_correctness"] >= 0.7 and v["number_close"] == 0),
    ("near to the question but the number is wrong", ("semantic_relevance", "factual_accuracy"),
     lambda v: v["semantic_relevance"] >= 0.7 and v["factual_accuracy"] < 0.5),
    ("the meaning is near but hardly a word is shared", ("answer_correctness", "token_f1"),
     lambda v: v["answer_correctness"] >= 0.75 and v["token_f1"] <= 0.2),
    ("the words are shared but the answer does not agree", ("keyword_recall", "answer_agreement"),
     lambda v: v["keyword_recall"] >= 0.8 and v["answer_agreement"] <= 0.3),
    ("near to the passages by cosine but not supported by them", ("answer_hallucination", "groundedness"),
     lambda v: v["answer_hallucination"] <= 0.1 and v["groundedness"] <= 0.3),
    ("all expected words are there, in an answer the judge rejects", ("keyword_recall", "judge.relevance"),
     lambda v: v["keyword_recall"] >= 0.9 and v["judge.relevance"] <= 0.3),
)  # fmt: skip


def disagreements(outcome: Outcome) -> list[Json]:
    """Each rule that holds for this outcome, with the two values that disagree."""
    values = {name: score.value for name, score in outcome.scores.items() if score.value is not None}
    return [
        {"id": outcome.case.id, "what": what, "values": {name: values[name] for name in names}}
        for what, names, holds in _RULES
        if all(name in values for name in names) and holds(values)
    ]

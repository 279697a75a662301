"""Counts over the outcomes of a run: one tally serves progress, gates, reports, the viewer and clusters.

Tallies of parts can be merged in any order to the same result, and stored as JSON.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast, get_args

import msgspec

from answerkey.coerce.values import is_list
from answerkey.intervals import Interval, cluster_interval, rate_interval
from answerkey.metrics.judge.card import JudgeTally
from answerkey.runs.number_tally import NumberTally
from answerkey.runs.records import SetDigest, add_answer, cluster_of
from answerkey.runs.repeats import is_flaky
from answerkey.types import Json, Outcome, Status

NO_ROUTE = "(none)"
MOST_LISTED = 20
_LONGEST = 200
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_CLUSTERED = (
    "count",
    "passed",
    "satisfied",
    "compared",
    "on_route",
    "always",
    "ever",
)  # in parts of earlier versions
SATISFYING = (Status.PERFECT, Status.ACCEPTABLE, Status.PASSED)


@dataclass(slots=True)
class OutcomeTally:
    """The counts and figures of some outcomes: all of a run, one type or one route. Tallies can be merged.

    With repeats `answers` counts the attempts, `always` the cases that passed each time and `ever` those that passed at
    all. `clusters` has such counts per cluster of dependent cases.
    """

    count: int = 0
    passed: int = 0
    judged: int = 0
    routed: int = 0
    unrouted: int = 0
    on_route: int = 0
    answers: int = 0
    answers_passed: int = 0
    always: int = 0
    ever: int = 0
    with_passages: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    bands: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    overall: NumberTally = field(default_factory=NumberTally)
    quality: NumberTally = field(default_factory=NumberTally)
    seconds: NumberTally = field(default_factory=NumberTally)
    scores: dict[str, NumberTally] = field(default_factory=dict[str, NumberTally])
    clusters: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    def add(self, outcomes: Iterable[tuple[Outcome, str | None]]) -> None:
        """Add outcomes, each with its cluster, if any."""
        values: dict[str, list[float]] = {}
        seconds: list[float] = []
        for outcome, cluster in outcomes:
            self.add_verdict(outcome, cluster)
            responses = [attempt.response for attempt in outcome.attempts or (outcome,)]
            seconds += [
                each.seconds
                for each in responses
                if each.seconds is not None and each.error is None
            ]
            for name, score in outcome.scores.items():
                if score.error is not None:
                    self.errors[name] += 1
                elif score.value is None:
                    self.skipped[name] += 1
                elif cluster is not None:
                    self.scores.setdefault(name, NumberTally()).add(score.value, cluster)
                elif name in values:
                    values[name].append(score.value)
                else:
                    values[name] = [score.value]
        self.seconds.extend(seconds)
        for name, numbers in values.items():
            self.scores.setdefault(name, NumberTally()).extend(numbers)

    def add_verdict(self, outcome: Outcome, cluster: str | None = None) -> None:
        """Add all but the times and the scores."""
        verdict, case, response = outcome.verdict, outcome.case, outcome.response
        passed = verdict.passed and verdict.score is not None
        compared = case.expected_route is not None and response.error is None
        on_route = compared and response.route == case.expected_route
        always = ever = False
        if outcome.attempts:
            passes = [attempt.verdict.passed for attempt in outcome.attempts]
            always, ever = all(passes), any(passes)
            self.answers += len(passes)
            self.answers_passed += sum(passes)
            self.always += always
            self.ever += ever
        self.count += 1
        self.passed += passed
        self.routed += compared and response.route is not None
        self.unrouted += compared and response.route is None
        self.on_route += on_route
        self.statuses[verdict.status] += 1
        self.with_passages += bool(response.passages)
        if cluster is not None:
            found = {
                "count": True,
                "passed": passed,
                "satisfied": verdict.status in SATISFYING,
                "compared": compared,
            }
            counts = self.clusters.setdefault(cluster, Counter())
            for name, hit in {
                **found,
                "on_route": on_route,
                "always": always,
                "ever": ever,
            }.items():
                counts[name] += hit
        if verdict.score is not None:
            self.judged += 1
            self.bands[verdict.band] += 1
            self.overall.add(verdict.score, cluster)
        if verdict.quality is not None:
            self.quality.add(verdict.quality, cluster)

    def rate_interval(self, hits: str, of: str, total: tuple[int, int]) -> Interval | None:
        """The interval of a rate, by cluster where cases are dependent; `total` has the hits and cases of all."""
        if not self.clusters:
            return rate_interval(*total)
        pairs = [
            (counts[hits], counts[of]) for _, counts in sorted(self.clusters.items()) if counts[of]
        ]
        hits_alone, alone = (
            total[0] - sum(pair[0] for pair in pairs),
            total[1] - sum(pair[1] for pair in pairs),
        )
        sizes = [size for _, size in pairs] + [1] * alone
        return cluster_interval(
            sizes, [n for n, _ in pairs] + [1] * hits_alone + [0] * (alone - hits_alone), rate=True
        )

    @property
    def cluster_count(self) -> int | None:
        """The number of independent units, where some cases are dependent: clusters, and cases that stand alone."""
        return (
            len(self.clusters) + self.count - sum(c["count"] for c in self.clusters.values())
            if self.clusters
            else None
        )

    @property
    def error_count(self) -> int:
        return self.statuses[Status.ERROR]

    @property
    def failed(self) -> int:
        return self.judged - self.passed

    def merge(self, other: OutcomeTally) -> None:
        _merge_fields(self, other)


class ErrorMessages(NamedTuple):
    """How many errors of a kind, and the alphabetically first and last message: the same however parts are merged."""

    times: int
    first: str
    last: str


def _merge_fields(mine: Any, theirs: Any) -> None:
    for each in fields(mine):
        setattr(mine, each.name, _sum(getattr(mine, each.name), getattr(theirs, each.name)))


def _sum(mine: Any, theirs: Any) -> Any:
    """Two counts, lists, messages, tallies, or dicts of these, as one."""
    if isinstance(mine, dict):
        known = cast("dict[str, Any]", mine)
        for key, other in theirs.items():
            known[key] = _sum(known[key], other) if key in known else deepcopy(other)
        return known
    if isinstance(mine, ErrorMessages):
        return ErrorMessages(
            mine.times + theirs.times, min(mine.first, theirs.first), max(mine.last, theirs.last)
        )
    if isinstance(mine, int | list):
        return mine + theirs
    if not isinstance(mine, str):  # the column of clusters is the same in all parts
        mine.merge(theirs)
    return mine


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A case on which two metrics contradict each other: worth reading."""

    id: str
    what: str
    values: dict[str, float]


_JUDGED = ("judge.", "rubric.accuracy", "rubric.completeness", "criterion.")
_CONTRADICTIONS: tuple[tuple[str, tuple[str, str], Callable[[Mapping[str, float]], bool]], ...] = (
    (
        "the words match but the judge is not satisfied",
        ("token_f1", "rubric.accuracy"),
        lambda v: v["token_f1"] >= 0.8 and v["rubric.accuracy"] <= 2,
    ),
    (
        "the meaning is near but a number is wrong",
        ("answer_correctness", "number_close"),
        lambda v: v["answer_correctness"] >= 0.7 and v["number_close"] == 0,
    ),
    (
        "near to the question but the number is wrong",
        ("semantic_relevance", "factual_accuracy"),
        lambda v: v["semantic_relevance"] >= 0.7 and v["factual_accuracy"] < 0.5,
    ),
    (
        "the meaning is near but hardly a word is shared",
        ("answer_correctness", "token_f1"),
        lambda v: v["answer_correctness"] >= 0.75 and v["token_f1"] <= 0.2,
    ),
    (
        "the words are shared but the answer does not agree",
        ("keyword_recall", "answer_agreement"),
        lambda v: v["keyword_recall"] >= 0.8 and v["answer_agreement"] <= 0.3,
    ),
    (
        "near to the passages by cosine but not supported by them",
        ("answer_hallucination", "groundedness"),
        lambda v: v["answer_hallucination"] <= 0.1 and v["groundedness"] <= 0.3,
    ),
)


def disagreements(outcome: Outcome) -> list[Disagreement]:
    """Each contradiction in the scores of this outcome, with the two values."""
    if not _can_contradict(tuple(outcome.scores)):
        return []
    values = {
        name: score.value for name, score in outcome.scores.items() if score.value is not None
    }
    found = [
        Disagreement(outcome.case.id, what, {name: values[name] for name in names})
        for what, names, contradict in _CONTRADICTIONS
        if names[0] in values and names[1] in values and contradict(values)
    ]
    return found + _words_against_judge(outcome.case.id, values)


@cache
def _can_contradict(names: tuple[str, ...]) -> bool:
    return any(name.startswith(_JUDGED) for name in names) or any(
        first in names and second in names for _, (first, second), _ in _CONTRADICTIONS
    )


def _words_against_judge(case_id: str, values: Mapping[str, float]) -> list[Disagreement]:
    """Where exact match or keyword recall contradicts any judge: the judge that contradicts most."""
    tops = {
        name: 5.0 if name.startswith("rubric.") or value > 1 else 1.0
        for name, value in values.items()
    }
    judged = {name: values[name] / top for name, top in tops.items() if name.startswith(_JUDGED)}
    found: list[Disagreement] = []
    for words, few, many in (("exact_match", 0.0, 1.0), ("keyword_recall", 0.2, 0.9)):
        if not judged or words not in values:
            continue
        high, low = max(judged, key=judged.__getitem__), min(judged, key=judged.__getitem__)
        if values[words] <= few and judged[high] >= 0.9:
            both = {words: values[words], high: values[high]}
            found.append(Disagreement(case_id, "the words differ but the judge is satisfied", both))
        elif values[words] >= many and judged[low] <= 0.4:
            both = {words: values[words], low: values[low]}
            found.append(
                Disagreement(case_id, "the words match but the judge is not satisfied", both)
            )
    return found


@dataclass(slots=True)
class RunTally:
    """Everything that the summary of a run is made from: add outcomes one at a time, or merge the tallies of parts."""

    all: OutcomeTally = field(default_factory=OutcomeTally)
    by_type: dict[str, OutcomeTally] = field(default_factory=dict[str, OutcomeTally])
    by_route: dict[str, OutcomeTally] = field(default_factory=dict[str, OutcomeTally])
    confusion: dict[str, Counter[str]] = field(
        default_factory=dict[str, Counter[str]]
    )  # expected → actual route
    errors: dict[str, ErrorMessages] = field(default_factory=dict[str, ErrorMessages])
    disagreements: list[Disagreement] = field(default_factory=list[Disagreement])
    answers: SetDigest = field(default_factory=SetDigest)
    judge: JudgeTally = field(default_factory=JudgeTally)
    flaky: list[str] = field(default_factory=list[str])
    cluster: str = ""  # the column of clusters, where the suite names one

    def add(self, *outcomes: Outcome) -> None:
        clustered = [
            (outcome, cluster_of(outcome.case, self.cluster or None)) for outcome in outcomes
        ]
        self.all.add(clustered)
        for groups, name_of in ((self.by_type, _type_of), (self.by_route, _route_of)):
            members: dict[str, list[tuple[Outcome, str | None]]] = {}
            for each in clustered:
                if (name := name_of(each[0])) is not None:
                    members.setdefault(name, []).append(each)
            for name, some in members.items():
                groups.setdefault(name, OutcomeTally()).add(some)
        for outcome in outcomes:
            self._add_details(outcome)

    def _add_details(self, outcome: Outcome) -> None:
        case, response = outcome.case, outcome.response
        for attempt in outcome.attempts or (outcome,):
            self.judge.add(attempt)
            add_answer(self.answers, attempt.case, attempt.response)
        if is_flaky(attempt.verdict for attempt in outcome.attempts):
            self.flaky.append(case.id)
        if case.expected_route is not None and response.error is None:
            self.confusion.setdefault(case.expected_route, Counter())[
                response.route or NO_ROUTE
            ] += 1
        if outcome.verdict.status == Status.ERROR:
            text = outcome.verdict.justification.split("\n")[0][:_LONGEST]
            # The target's name of the error, otherwise the message without what is specific to the case.
            kind = _QUOTED.sub("…", text.replace(case.id, "…") if case.id else text)
            if response.error is not None and response.error_name:
                kind = f"No response: {response.error_name}"
            self.errors = _sum(self.errors, {kind: ErrorMessages(1, text, text)})
        if len(self.disagreements) < MOST_LISTED:
            self.disagreements.extend(disagreements(outcome))

    def merge(self, other: RunTally) -> None:
        _merge_fields(self, other)
        del self.disagreements[MOST_LISTED:]

    def frequent_errors(self) -> dict[str, int]:
        """The most frequent kinds with their counts, each named by one of its messages."""
        often = sorted(self.errors.values(), key=lambda kind: (-kind.times, kind.first))[
            :MOST_LISTED
        ]
        return {
            f"{kind.first}{'' if kind.first == kind.last else ', and similar'}": kind.times
            for kind in often
        }


def _type_of(outcome: Outcome) -> str | None:
    return outcome.case.type


def _route_of(outcome: Outcome) -> str | None:
    return outcome.response.route


T = TypeVar("T")


def tally_to_json(value: object) -> Any:
    """A tally, or something that contains one, as JSON."""
    return msgspec.to_builtins(value, enc_hook=SetDigest.hex, str_keys=True)


def tally_from_json(kind: type[T], record: object) -> T:
    return msgspec.convert(record, kind, dec_hook=_restored, str_keys=True)


def _restored(kind: Any, value: Any) -> object:
    if kind is SetDigest:
        return SetDigest(int(value, 16))
    return Counter(msgspec.convert(value, dict[get_args(kind)[0], int], str_keys=True))


def tally_of_part(record: Json) -> RunTally:
    """The stored tally of a part; in parts of earlier versions some figures have another form."""
    for part in (record["all"], *record["by_type"].values(), *record["by_route"].values()):
        part.setdefault("errors", part.get("broken", {}))
        for cluster, counts in part.get("clusters", {}).items():
            if is_list(counts):
                part["clusters"][cluster] = dict(zip(_CLUSTERED, counts, strict=True))
    kinds = {
        kind: (n, kind, kind) if isinstance(n, int) else n for kind, n in record["errors"].items()
    }
    confusion: dict[str, dict[str, int]] = {}
    if is_list(record["confusion"]):
        for wanted, taken, count in msgspec.convert(
            record["confusion"], list[tuple[str, str, int]]
        ):
            confusion.setdefault(wanted, {})[taken] = count
    return tally_from_json(
        RunTally, {**record, "errors": kinds, "confusion": confusion or record["confusion"] or {}}
    )

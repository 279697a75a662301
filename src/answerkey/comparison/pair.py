"""Two runs, case by case: the columns of each run, the cases in both, and how much a bot differs from itself.

Outcomes are read once and not kept: 100,000 cases with 10 metrics take some 40 MB.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import nan
from typing import TYPE_CHECKING, Any

from answerkey.errors import InputError
from answerkey.runs.records import SCORING, cluster_of
from answerkey.runs.repeats import is_flaky
from answerkey.text import words
from answerkey.types import Outcome, Status

if TYPE_CHECKING:
    from answerkey.intervals import NumberArray

_SHOWN = 200


@dataclass(slots=True)
class Side:
    """One run as columns in case order. A missing number is NaN, only inside here; `passed` is 0 or 1.
    `cluster` is the column of clusters that the suite names, `flaky` are the cases whose repeats both passed and
    failed; `partial` says how much of an unfinished run is here, and why; `scale` is the highest score of its profile;
    `errors` counts the errors of each metric."""

    name: str
    fingerprint: Mapping[str, str]
    partial: str = ""
    scale: float | None = None
    settings: dict[str, object] = field(default_factory=dict[str, object])
    cluster: str = ""
    repeats: int = 1
    flaky: set[str] = field(default_factory=set[str])
    ids: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])
    clusters: list[str] = field(default_factory=list[str])
    cases: list[bytes] = field(default_factory=list[bytes])
    answers: list[bytes] = field(default_factory=list[bytes])
    wordings: list[bytes] = field(default_factory=list[bytes])
    evidence: list[bytes] = field(default_factory=list[bytes])
    statuses: list[str] = field(default_factory=list[str])
    score: array[float] = field(default_factory=lambda: array("d"))
    quality: array[float] = field(default_factory=lambda: array("d"))
    passed: array[float] = field(default_factory=lambda: array("d"))
    metrics: dict[str, array[float]] = field(default_factory=dict[str, "array[float]"])
    errors: dict[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self.ids)


def read_side(
    name: str, fingerprint: Mapping[str, str], outcomes: Iterable[Outcome], cluster: str = ""
) -> Side:
    """Stream the outcomes of a run into columns; `cluster` is the column of clusters, by default `cluster`."""
    side = Side(name, fingerprint, cluster=cluster)
    for row, outcome in enumerate(outcomes):
        case, response, verdict = outcome.case, outcome.response, outcome.verdict
        side.ids.append(case.id)
        side.questions.append(case.question[:_SHOWN])
        side.clusters.append(cluster_of(case, side.cluster or None) or case.id)
        if is_flaky(attempt.verdict for attempt in outcome.attempts):
            side.flaky.add(case.id)
        relevant = sorted(case.relevant.items()) if case.relevant else ()
        known = (
            case.question,
            case.expected,
            case.expected_route,
            case.acceptable_routes,
            relevant,
        )
        side.cases.append(_hash(repr((known, case.criteria, case.history))))
        replies = [attempt.response for attempt in outcome.attempts] or [response]
        texts = [reply.answer or "" for reply in replies]
        given = [
            f"{reply.answer is None} {reply.error is None} {reply.answer or ''}"
            for reply in replies
        ]
        side.answers.append(_hash("\x1f".join(given)))
        wording = "\x1f".join(" ".join(words(text)) for text in texts)
        side.wordings.append(_hash(wording) if any(texts) else side.answers[-1])
        evidence = ""
        for reply in replies:
            passages = [(each.id, each.page, each.text) for each in reply.passages]
            evidence += repr((reply.route, reply.sources, reply.retrieved, passages))
        side.evidence.append(_hash(evidence))
        side.statuses.append(verdict.status)
        side.score.append(nan if verdict.score is None else verdict.score)
        side.quality.append(nan if verdict.quality is None else verdict.quality)
        side.passed.append(nan if verdict.score is None else verdict.passed)
        for metric, score in outcome.scores.items():
            if score.error is not None:
                side.errors[metric] = side.errors.get(metric, 0) + 1
            column = side.metrics.setdefault(metric, array("d"))
            column.extend([nan] * (row - len(column)))
            column.append(nan if score.value is None else score.value)
    for column in side.metrics.values():
        column.extend([nan] * (len(side) - len(column)))
    return side


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


Columns = tuple["NumberArray", "NumberArray", "NumberArray | None"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the cases in both runs, in A's order. An edited case has its id in both runs but is left out. `clusters`
    has a number per pair where some pairs are dependent; None where each case stands alone."""

    a: Side
    b: Side
    rows_a: NumberArray
    rows_b: NumberArray
    clusters: NumberArray | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    edited: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows_a)

    def rows(self) -> Iterable[tuple[int, int]]:
        """Of each case its row in A and its row in B."""
        return zip(self.rows_a.tolist(), self.rows_b.tolist(), strict=True)

    def metrics(self) -> list[str]:
        """Names measured in both runs, in A's order."""
        return [name for name in self.a.metrics if name in self.b.metrics]

    def both(self, a: Any, b: Any) -> Columns:
        """Of two columns the values of the cases that have one in both runs, and their clusters."""
        import numpy as np

        left, right = np.asarray(a)[self.rows_a], np.asarray(b)[self.rows_b]
        present = ~(np.isnan(left) | np.isnan(right))
        return (
            left[present],
            right[present],
            None if self.clusters is None else self.clusters[present],
        )

    def score_with_errors(self) -> Columns:
        """The overall scores; a case that has a score in A and an error in B scores 0 in B."""
        import numpy as np

        lost = [status == Status.ERROR for status in self.b.statuses]
        return self.both(self.a.score, np.where(lost, 0.0, self.b.score))

    def lost(self) -> list[str]:
        """Ids with a verdict in A and none in B."""
        return [
            self.a.ids[i]
            for i, j in self.rows()
            if self.a.passed[i] >= 0 and not self.b.passed[j] >= 0
        ]


def pair(a: Side, b: Side) -> Pairs:
    """Match the cases by id."""
    import numpy as np

    where = {case_id: row for row, case_id in enumerate(b.ids)}
    rows: list[tuple[int, int]] = []
    removed: list[str] = []
    edited: list[str] = []
    for row, case_id in enumerate(a.ids):
        other = where.pop(case_id, None)
        if other is None:
            removed.append(case_id)
        elif a.cases[row] != b.cases[other]:
            edited.append(case_id)
        else:
            rows.append((row, other))
    matched = np.array(rows, dtype=np.intp).reshape(-1, 2)
    names = [a.clusters[row] for row, _ in rows] if a.clusters else []
    numbers = (
        np.unique(np.array(names), return_inverse=True)[1] if len(set(names)) < len(names) else None
    )
    return Pairs(
        a, b, matched[:, 0], matched[:, 1], numbers, tuple(where), tuple(removed), tuple(edited)
    )


@dataclass(frozen=True, slots=True)
class Noise:
    """How much a bot differs from itself, from A and its repeats. Two runs differ by less than `floor` 19 times in 20.
    `low` and `high` are the range of scores of each pair; `flaky` are the cases that both passed and failed."""

    runs: int
    sd: float
    floor: float
    low: NumberArray
    high: NumberArray
    flaky: tuple[str, ...]

    def covers(self, row: int, score: float) -> bool:
        """Whether the score lies in the range that this case takes without any change."""
        return bool(self.low[row] <= score <= self.high[row])


def estimate_noise(pairs: Pairs, repeats: Sequence[Side]) -> Noise | None:
    """None if no case was scored at least twice."""
    import numpy as np

    a = pairs.a
    columns = [np.asarray(a.score)[pairs.rows_a]]
    passes = [np.asarray(a.passed)[pairs.rows_a]]
    for repeat in repeats:
        for part in SCORING:
            if a.fingerprint.get(part, "") != repeat.fingerprint.get(part, ""):
                raise InputError(
                    f"{repeat.name} is not a repeat of {a.name}: its {part} differs; "
                    "score it with the same profile and judge first (`answerkey rescore`)"
                )
        where = {case_id: row for row, case_id in enumerate(repeat.ids)}
        rows = [
            where.get(a.ids[i], -1) for i, _ in pairs.rows()
        ]  # a case that it lacks has the last value
        columns.append(np.append(np.asarray(repeat.score), np.nan)[rows])
        passes.append(np.append(np.asarray(repeat.passed), np.nan)[rows])
    scores, passed = np.stack(columns), np.stack(passes)
    seen = (~np.isnan(scores)).sum(axis=0) >= 2
    if not seen.any():
        return None
    variance = float(np.nanvar(scores[:, seen], axis=0, ddof=1).mean())
    floor = 1.959963984540054 * math.sqrt(2 * variance / int(seen.sum()))
    low = np.where(np.isnan(scores), np.inf, scores).min(axis=0)
    high = np.where(np.isnan(scores), -np.inf, scores).max(axis=0)
    flips = (passed == 1).any(axis=0) & (passed == 0).any(axis=0)
    flaky = tuple(
        a.ids[i] for (i, _), flips_here in zip(pairs.rows(), flips, strict=True) if flips_here
    )
    return Noise(len(columns), math.sqrt(variance), floor, low, high, flaky)

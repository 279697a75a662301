"""One of the two runs, reduced to what a comparison needs: numbers, and hashes of texts.

Outcomes are read once and let go: 100,000 cases with 10 metrics are some 40 MB.
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
from answerkey.runs.records import SCORING
from answerkey.text import words
from answerkey.types import Case, Outcome, Response

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SHOWN = 200


@dataclass(slots=True)
class Side:
    """Columns in case order. A missing number is NaN here, inside, and only here; `passed` is -1 where unscored.

    `partial` says how much of an unfinished run is here, and why; `scale` is the highest score of its profile.
    """

    name: str
    fingerprint: Mapping[str, str]
    partial: str = ""
    scale: float | None = None
    ids: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])
    cases: list[bytes] = field(default_factory=list[bytes])
    answers: list[bytes] = field(default_factory=list[bytes])
    wordings: list[bytes] = field(default_factory=list[bytes])
    evidence: list[bytes] = field(default_factory=list[bytes])
    statuses: list[str] = field(default_factory=list[str])
    score: array[float] = field(default_factory=lambda: array("d"))
    passed: array[int] = field(default_factory=lambda: array("b"))
    metrics: dict[str, array[float]] = field(default_factory=dict[str, "array[float]"])
    broken: dict[str, int] = field(default_factory=dict[str, int])

    def __len__(self) -> int:
        return len(self.ids)


def read_side(name: str, fingerprint: Mapping[str, str], outcomes: Iterable[Outcome]) -> Side:
    """Stream the outcomes of a run into columns."""
    side = Side(name, fingerprint)
    for outcome in outcomes:
        _add(side, outcome)
    for column in side.metrics.values():
        _pad(column, len(side))
    return side


def _add(side: Side, outcome: Outcome) -> None:
    case, response, verdict = outcome.case, outcome.response, outcome.verdict
    row = len(side.ids)
    side.ids.append(case.id)
    side.questions.append(case.question[:_SHOWN])
    side.cases.append(_case_hash(case))
    answer = response.answer or ""
    side.answers.append(_hash(f"{response.answer is None} {response.error is None} {answer}"))
    side.wordings.append(_hash(" ".join(words(answer))) if answer else side.answers[-1])
    side.evidence.append(_evidence_hash(response))
    side.statuses.append(verdict.status)
    side.score.append(nan if verdict.score is None else verdict.score)
    side.passed.append(-1 if verdict.score is None else int(verdict.passed))
    for name, score in outcome.scores.items():
        if score.error is not None:
            side.broken[name] = side.broken.get(name, 0) + 1
        column = side.metrics.get(name)
        if column is None:
            column = side.metrics[name] = array("d")
        _pad(column, row)
        column.append(nan if score.value is None else score.value)


def _pad(column: array[float], length: int) -> None:
    if len(column) < length:
        column.extend([nan] * (length - len(column)))


def _case_hash(case: Case) -> bytes:
    """What makes it the same measurement: the question and all that is known of a good answer."""
    relevant = sorted(case.relevant.items()) if case.relevant else ()
    known = (case.question, case.expected, case.expected_route, case.acceptable_routes, relevant)
    return _hash(repr((known, case.criteria, case.history)))


def _evidence_hash(response: Response) -> bytes:
    """What the bot gave besides the words: route, sources, passages, ranking."""
    passages = [(passage.id, passage.page, passage.text) for passage in response.passages]
    return _hash(repr((response.route, response.sources, response.retrieved, passages)))


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the cases in both, in A's order. An edited case has its id in both but is another measurement."""

    a: Side
    b: Side
    rows_a: NDArray[Any]
    rows_b: NDArray[Any]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    edited: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rows_a)

    def metrics(self) -> list[str]:
        """Names measured in both runs, in A's order."""
        return [name for name in self.a.metrics if name in self.b.metrics]

    def metric(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """The values of the cases that have one in both runs."""
        return self._both_present(self.a.metrics[name], self.b.metrics[name])

    def score(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The verdict's overall score of the cases that have one in both runs."""
        return self._both_present(self.a.score, self.b.score)

    def passed(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Pass (1) or fail (0) of the cases with a verdict in both runs."""
        import numpy as np

        a, b = np.asarray(self.a.passed)[self.rows_a], np.asarray(self.b.passed)[self.rows_b]
        known = (a >= 0) & (b >= 0)
        return a[known], b[known]

    def lost(self) -> list[str]:
        """Ids with a verdict in A and none in B: what B broke."""
        return [
            self.a.ids[i]
            for i, j in zip(self.rows_a.tolist(), self.rows_b.tolist(), strict=True)
            if self.a.passed[i] >= 0 and self.b.passed[j] < 0
        ]

    def _both_present(self, a: Any, b: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        import numpy as np

        left, right = np.asarray(a)[self.rows_a], np.asarray(b)[self.rows_b]
        present = ~(np.isnan(left) | np.isnan(right))
        return left[present], right[present]


def pair(a: Side, b: Side) -> Pairs:
    """Match by case id."""
    import numpy as np

    where = {case_id: row for row, case_id in enumerate(b.ids)}
    rows_a: list[int] = []
    rows_b: list[int] = []
    removed: list[str] = []
    edited: list[str] = []
    for row, case_id in enumerate(a.ids):
        other = where.pop(case_id, None)
        if other is None:
            removed.append(case_id)
        elif a.cases[row] != b.cases[other]:
            edited.append(case_id)
        else:
            rows_a.append(row)
            rows_b.append(other)
    index = np.array(rows_a, dtype=np.intp), np.array(rows_b, dtype=np.intp)
    return Pairs(a, b, *index, tuple(where), tuple(removed), tuple(edited))


@dataclass(frozen=True, slots=True)
class Noise:
    """From A and its repeats. `floor`: two runs of the same bot differ by less than this 19 times in 20.

    `low` and `high` are, for each pair, the range its score took; `flaky` are the cases that both passed and failed.
    """

    runs: int
    sd: float
    floor: float
    low: NDArray[Any]
    high: NDArray[Any]
    flaky: tuple[str, ...]

    def covers(self, row: int, score: float) -> bool:
        """Whether the score lies in the range that case takes anyway."""
        return bool(self.low[row] <= score <= self.high[row])


def estimate_noise(pairs: Pairs, repeats: Sequence[Side]) -> Noise | None:
    """None where no case was scored at least twice."""
    import numpy as np

    a = pairs.a
    columns = [np.asarray(a.score)[pairs.rows_a]]
    passes = [np.asarray(a.passed)[pairs.rows_a]]
    for repeat in repeats:
        _check_ruler(a, repeat)
        score, passed = _aligned(pairs, repeat)
        columns.append(score)
        passes.append(passed)
    scores, passed = np.stack(columns), np.stack(passes)
    counts = (~np.isnan(scores)).sum(axis=0)
    seen = counts >= 2
    if not seen.any():
        return None
    variance = float(np.nanvar(scores[:, seen], axis=0, ddof=1).mean())
    floor = 1.959963984540054 * math.sqrt(2 * variance / int(seen.sum()))
    low = np.where(np.isnan(scores), np.inf, scores).min(axis=0)
    high = np.where(np.isnan(scores), -np.inf, scores).max(axis=0)
    flips = (passed == 1).any(axis=0) & (passed == 0).any(axis=0)
    flaky = tuple(a.ids[i] for i in pairs.rows_a[flips].tolist())
    return Noise(len(columns), math.sqrt(variance), floor, low, high, flaky)


def _aligned(pairs: Pairs, repeat: Side) -> tuple[NDArray[Any], NDArray[Any]]:
    """The repeat's scores and passes in the order of the pairs; a case it lacks is missing."""
    import numpy as np

    where = {case_id: row for row, case_id in enumerate(repeat.ids)}
    rows = np.array([where.get(pairs.a.ids[i], -1) for i in pairs.rows_a.tolist()], dtype=np.intp)
    score = np.append(np.asarray(repeat.score), np.nan)[rows]
    passed = np.append(np.asarray(repeat.passed), -1)[rows]
    return score, passed


def _check_ruler(a: Side, repeat: Side) -> None:
    for part in SCORING:
        if a.fingerprint.get(part, "") != repeat.fingerprint.get(part, ""):
            raise InputError(
                f"{repeat.name} is no repeat of {a.name}: its {part} differs; "
                "score it with the same ruler first (`answerkey rescore`)"
            )

"""One of the two runs, reduced to what a comparison needs: numbers, and hashes of texts.

Outcomes are read once and let go: 100,000 cases with 10 metrics are some 40 MB.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from math import nan

from answerkey.text import words
from answerkey.types import Case, Outcome, Response

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

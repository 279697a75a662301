"""Cases on which two metrics contradict each other: the cases to read first."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from answerkey.runs.table import Flags, Numbers, RunTable

MOST_LISTED = 20
_JUDGED = ("judge.", "rubric.accuracy", "rubric.completeness")
# A faithful or safe answer need not be right, so these judges contradict no words.
_NOT_ABOUT_CORRECTNESS = ("judge.faithfulness", "judge.safety", "judge.robustness")
_SATISFIED = "the words differ but the judge is satisfied"
_NOT_SATISFIED = "the words match but the judge is not satisfied"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A case on which two metrics contradict each other, and their values."""

    id: str
    what: str
    values: dict[str, float]


class _Bound(NamedTuple):
    metric: str
    compare: Callable[[Numbers, float], Flags]
    limit: float


# Limits chosen so that a case is listed only where one of the two values is plainly high and the
# other plainly low.
_CONTRADICTIONS = (
    (_NOT_SATISFIED,
     _Bound("token_f1", operator.ge, 0.8), _Bound("rubric.accuracy", operator.le, 2)),
    ("the judge is satisfied but the answer does not agree",
     _Bound("rubric.accuracy", operator.ge, 4), _Bound("answer_agreement", operator.le, 0.3)),
    ("the answer agrees but the judge is not satisfied",
     _Bound("answer_agreement", operator.ge, 0.7), _Bound("rubric.accuracy", operator.le, 2)),
    ("the judge finds support in the passages but they do not support it",
     _Bound("judge.faithfulness", operator.ge, 0.8), _Bound("groundedness", operator.le, 0.2)),
    ("the meaning is near but a number is wrong",
     _Bound("answer_correctness", operator.ge, 0.7), _Bound("number_close", operator.eq, 0)),
    ("near to the question but the number is wrong",
     _Bound("semantic_relevance", operator.ge, 0.7), _Bound("factual_accuracy", operator.lt, 0.5)),
    ("the meaning is near but hardly a word is shared",
     _Bound("answer_correctness", operator.ge, 0.75), _Bound("token_f1", operator.le, 0.2)),
    ("the words are shared but the answer does not agree",
     _Bound("keyword_recall", operator.ge, 0.8), _Bound("answer_agreement", operator.le, 0.3)),
    ("near to the passages by cosine but not supported by them",
     _Bound("answer_hallucination", operator.le, 0.1), _Bound("groundedness", operator.le, 0.3)),
)  # fmt: skip
_HIGH = 0.8  # of a judge's scale: 4 of 5
_FEW_AND_MANY = {"exact_match": (0.0, 1.0), "keyword_recall": (0.2, 0.9)}


def list_disagreements(table: RunTable, most: int = MOST_LISTED) -> list[Disagreement]:
    """The first contradictions between metrics, in case order."""
    contradictions = [*_between_metrics(table), *_between_words_and_judge(table)]
    places = [(row, order) for order, each in enumerate(contradictions) for row in each.rows[:most]]
    # By row first, so that the cases are listed in the order of the file.
    return [contradictions[order].at(table, row) for row, order in sorted(places)[:most]]


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """The rows on which two metrics contradict each other, in order; `judges` may differ by row."""

    what: str
    metric: str
    other: str | dict[int, str]
    rows: list[int]

    def at(self, table: RunTable, row: int) -> Disagreement:
        if isinstance(self.other, str):
            other = self.other
        else:
            other = self.other[row]
        names = (self.metric, other)
        values = {name: float(table.metrics[name].values[row]) for name in names}
        return Disagreement(table.id[row], self.what, values)


def _between_metrics(table: RunTable) -> Iterator[_Contradiction]:
    for what, first, second in _CONTRADICTIONS:
        if first.metric not in table.metrics or second.metric not in table.metrics:
            continue
        both = np.ones(len(table), dtype=np.bool_)
        for bound in (first, second):
            # A case without a value is NaN, for which every comparison is false.
            both &= bound.compare(table.metrics[bound.metric].values, bound.limit)
        yield _Contradiction(what, first.metric, second.metric, np.flatnonzero(both).tolist())


def _between_words_and_judge(table: RunTable) -> Iterator[_Contradiction]:
    """Where exact match or keyword recall contradicts the judges.

    All judges of a case must be satisfied, so that a relevant answer that is wrong is not listed.
    """
    judged = [name for name in table.metrics if name.startswith(_JUDGED)]
    names = [name for name in judged if not name.startswith(_NOT_ABOUT_CORRECTNESS)]
    if not names or not len(table):
        return
    shares = np.vstack([_share_of_highest(table, name) for name in names])
    has_share = ~np.isnan(shares)
    # Infinity never is the lowest, so a judge without a value has no say.
    lowest = np.where(has_share, shares, np.inf)
    for words, (few, many) in _FEW_AND_MANY.items():
        if words not in table.metrics:
            continue
        values = table.metrics[words].values
        satisfied = (values <= few) & has_share.any(axis=0) & (lowest.min(axis=0) >= _HIGH)
        unsatisfied = (values >= many) & (lowest.min(axis=0) <= 0.4) & ~satisfied
        for what, rows, judge in (
            (_SATISFIED, satisfied, lowest.argmin(axis=0)),
            (_NOT_SATISFIED, unsatisfied, lowest.argmin(axis=0)),
        ):
            places = np.flatnonzero(rows).tolist()
            judges = {row: names[int(judge[row])] for row in places}
            yield _Contradiction(what, words, judges, places)


def _share_of_highest(table: RunTable, name: str) -> Numbers:
    """The values of a judged metric as shares of its scale: a rubric goes to 5, others to 1 or 5."""
    values = table.metrics[name].values
    if name.startswith("rubric.") or bool(np.any(values > 1)):
        return values / 5.0
    return values
